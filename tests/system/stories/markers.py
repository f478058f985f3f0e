"""Which tests carry an id of the checklist, read from their sources: also those that no run here would collect."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[2]
ON_REAL_CLUSTERS = ("real",)
"""Folders whose tests all need the real engine."""


@dataclass(frozen=True)
class Marked:
    id: str
    folder: str
    """That below `tests`."""
    is_real: bool
    """Whether it runs on the real engine."""


@cache
def marked() -> frozenset[Marked]:
    return frozenset(one for file in sorted(TESTS.rglob("test_*.py")) for one in _marked_in(file))


def _marked_in(file: Path) -> Iterator[Marked]:
    text = file.read_text()
    if "mark.checklist" not in text:
        return
    module, folder = ast.parse(text), file.relative_to(TESTS).parts[0]
    is_real = folder in ON_REAL_CLUSTERS or any(_is_real_mark(node) for node in module.body)
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                for one in _ids(decorator):
                    yield Marked(one, folder, is_real)


def _is_real_mark(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "pytestmark"
        and "mark.real" in ast.unparse(node)
    )


def _ids(decorator: ast.expr) -> list[str]:
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "pytest.mark.checklist":
        return []
    return [word.value for word in decorator.args if isinstance(word, ast.Constant)]
