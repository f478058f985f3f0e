"""The table of versions holds what was run, and nothing else."""

import pytest

REPORT = """<testsuites><testsuite>
<testcase name="test_holds"><properties>
<property name="left out" value="RayService: since Kueue 0.17"/>
</properties></testcase>
<testcase name="test_fails[a b]"><failure message="no"/></testcase>
<testcase name="test_fails[a b]"><error message="nor can it clean up"/></testcase>
<testcase name="test_breaks"><error message="no"/></testcase>
<testcase name="test_waits"><skipped type="pytest.skip" message="Kueue has it since 0.18"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def versions(tool):
    return tool("run_versions")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_what_the_record_does(versions, pages, language):
    page = pages[f"docs/{language}/reference/versions.md"]

    assert len(versions.PLACE.findall(page)) == 1
    assert versions.render(page, language, versions.read_record()) == page


def test_a_report_is_counted(versions):
    found = versions.read(REPORT, versions.Result("2026-01-01", "abc"))

    assert found.passed == 1
    assert found.failed == ["test_breaks", "test_fails[a b]"]
    assert found.left_out == ["RayService: since Kueue 0.17", "test_waits: Kueue has it since 0.18"]


def test_a_row_says_what_failed_and_what_was_left_out(versions):
    whole = versions.Result("2026-01-01", "abc", 3)
    part = versions.Result("2026-01-02", "def", 2, ["test_one"], ["RayService: since Kueue 0.17"])

    lines = versions.table([versions.Run("0.16.6", "1.36.3", {"stories": whole, "kinds": part})], "en").splitlines()

    assert lines[2] == (
        "| 0.16.6 | 1.36.3 | 3 passed | - | 2 passed, **1 failed** (1) (2) | 2026-01-01, `abc`; 2026-01-02, `def` |"
    )
    assert lines[-2:] == ["1. `test_one`", "2. RayService: since Kueue 0.17"]


def test_a_result_takes_the_place_of_the_last_one_on_the_same_versions(versions, monkeypatch, tmp_path):
    monkeypatch.setattr(versions, "RECORD", tmp_path / "record.json")
    old, new = versions.EngineVersions(kueue="0.16.6"), versions.EngineVersions()

    for where, subject, date in (
        (new, "kinds", "2026-01-01"),
        (new, "stories", "2026-01-01"),
        (old, "kinds", "2026-01-02"),
        (new, "kinds", "2026-01-03"),
    ):
        versions.write_record(where, subject, versions.Result(date, "abc", 1, [], ["why"]))

    found = {
        each.kueue: {name: result.date for name, result in each.results.items()} for each in versions.read_record()
    }
    assert list(found.items()) == [
        ("0.16.6", {"kinds": "2026-01-02"}),
        ("0.19.2", {"kinds": "2026-01-03", "stories": "2026-01-01"}),
    ]


def test_what_there_is_not_is_answered_by_what_there_is(versions):
    combinations, subjects = versions.chosen(["0.18.4", "kinds"])
    assert ([each.kueue for each in combinations], subjects) == (["0.18.4"], ["kinds"])

    combinations, subjects = versions.chosen([])
    assert [versions.name_of(each) for each in combinations] == ["0.16.6", "0.18.4", "0.19.2", "1.34.3"]
    assert subjects == ["stories", "windows", "kinds"]

    with pytest.raises(SystemExit, match=r"there is no 0\.1; there are 0\.16\.6, .*, kinds"):
        versions.chosen(["0.1"])
