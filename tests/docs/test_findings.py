"""The page of findings has every code of `fleetqueue doctor`, with its severity and, in English, its very words."""

import pytest

from fleetqueue.admin.checkups.findings import AILMENTS
from fleetqueue.admin.checkups.installation import TESTED
from fleetqueue.cli.exit_codes import Code

from .tables import rows


def findings(page: str) -> dict[str, list[str]]:
    return {row[0].strip("`"): row[1:] for row in rows(page) if len(row) == 5 and row[0].startswith("`")}


def test_the_page_says_what_the_code_does(pages):
    wanted = {
        code: [ailment.severity.value, *(f"{text}." for text in (ailment.wrong, ailment.consequence, ailment.remedy))]
        for code, ailment in AILMENTS.items()
    }

    assert findings(pages["docs/en/reference/findings.md"]) == wanted


def test_the_chinese_page_has_the_same_codes(pages):
    shown = findings(pages["docs/zh/reference/findings.md"])

    assert {code: row[0] for code, row in shown.items()} == {code: one.severity.value for code, one in AILMENTS.items()}
    assert list(shown) == list(AILMENTS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_exit_codes_are_on_the_page(pages, language):
    table = [row[0] for row in rows(pages[f"docs/{language}/reference/findings.md"]) if len(row) == 2]

    assert {str(int(code)) for code in (Code.DONE, Code.ERRORS_FOUND, Code.WARNINGS_FOUND)} <= set(table)


def test_versions_that_count_as_tested_are_those_of_the_page(pages):
    page = pages["docs/en/reference/versions.md"]
    tested = {"Kueue": set(), "Kubernetes": set(), "Open Cluster Management": set()}
    for row in rows(page):
        if row[0] in tested and row[1][:1].isdigit():
            tested[row[0]].add(minor(row[1]))
        elif len(row) == 6 and row[0][:1].isdigit():
            tested["Kueue"].add(minor(row[0]))
            tested["Kubernetes"].add(minor(row[1]))

    assert {what: (min(found), max(found)) for what, found in tested.items()} == {
        what: (minor(oldest), minor(newest)) for what, (oldest, newest) in TESTED.items()
    }


def minor(version: str) -> tuple[int, int]:
    major, minor_version = version.split(".")[:2]
    return int(major), int(minor_version)
