"""Tests stand on their own: what two of them need is in a conftest or in a module beside them."""

import ast


def test_no_test_is_imported(root):
    folder = root / "tests"

    found = {
        path.relative_to(folder).as_posix(): names
        for path in sorted(folder.rglob("*.py"))
        if (names := [name for name in imported(path) if name.rpartition(".")[2].startswith("test_")])
    }

    assert found == {}


def imported(path):
    """Yield every module that a file names in an import, and every name that it takes from a package of tests."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.level or (node.module or "").startswith("tests"):
                yield from (alias.name for alias in node.names)
