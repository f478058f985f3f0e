"""The map of the code and CONTRIBUTING's picture show the tree as it is."""

import re

import pytest

from .tables import rows

SIZE_MAY_DIFFER_BY = 0.25


@pytest.fixture(params=["en", "zh"])
def page(pages, request):
    return pages[f"docs/{request.param}/design/map.md"]


def lines_of(folder):
    return sum(len(path.read_text().splitlines()) for path in folder.rglob("*.py"))


def test_every_folder_is_on_the_map_with_its_size(page, root):
    package = root / "src" / "fleetqueue"
    shown = {row[0].strip("`"): int(row[1]) for row in rows(page) if len(row) == 3 and row[1].isdigit()}
    whole = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}

    assert {name for name in shown if "/" not in name} == whole
    wrong = {name: (size, actual) for name, size in shown.items() if is_wrong(size, actual := lines_of(package / name))}
    assert wrong == {}


def is_wrong(size, actual):
    return abs(size - actual) > max(100, actual * SIZE_MAY_DIFFER_BY)


def test_every_test_folder_is_on_the_map(page, root):
    shown = {row[0].strip("`") for row in rows(page) if row[0].startswith("`tests/")}

    assert shown == {f"tests/{path.name}" for path in (root / "tests").iterdir() if any(path.glob("**/*.py"))}


def test_what_the_map_names_is_there(page, root):
    package = root / "src" / "fleetqueue"
    named = set(re.findall(r"\b[\w/]+/\w+\.py\b", page))

    assert named
    assert [path for path in sorted(named) if not (package / path).exists()] == []


def test_the_picture_of_contributing_has_every_folder(root):
    picture = re.search(r"```text\n(.*?)```", (root / "CONTRIBUTING.md").read_text(), re.DOTALL).group(1)
    package = root / "src" / "fleetqueue"

    for path in package.iterdir():
        if (path / "__init__.py").exists():
            assert re.search(rf"\b{path.name}\b", picture), path.name
