"""A cause has a code of the list and, unless there is nothing to do, a step."""

import ast
from pathlib import Path

import pytest

import fleetqueue.admin
from fleetqueue.admin.causes import CODES, NOTHING_TO_DO, Cause

ADMIN = Path(fleetqueue.admin.__file__).parent
TESTS = Path(__file__).parents[2]


def test_a_code_that_is_not_listed_is_refused():
    with pytest.raises(ValueError, match="Odd is no code of a cause"):
        Cause("Odd", "it is odd", "make it even")


@pytest.mark.parametrize("code", sorted(CODES.keys() - NOTHING_TO_DO))
def test_a_cause_says_what_to_do_about_it(code):
    with pytest.raises(ValueError, match=f"{code} needs a step"):
        Cause(code, "it waits")


@pytest.mark.parametrize("code", sorted(NOTHING_TO_DO))
def test_where_there_is_nothing_to_do_a_cause_needs_no_step(code):
    assert Cause(code, "it is well").step == ""


def test_every_code_is_one_that_something_says():
    files = [path for path in ADMIN.glob("*.py") if path.name != "causes.py"]

    assert CODES.keys() - texts(files) == set()


def test_every_code_is_one_that_a_test_expects():
    files = [*(TESTS / "unit/admin").glob("test_*.py"), *(TESTS / "system/causes").glob("test_*.py")]

    assert CODES.keys() - texts(path for path in files if path.name != Path(__file__).name) == set()


def test_no_step_sends_its_reader_to_the_table_of_clusters():
    """It says less than the sentence of the cause beside it."""
    others = ("joining.py",)  # what it prints is no cause
    files = [path for path in ADMIN.glob("*.py") if path.name not in others]

    assert [text for text in texts(files) if "fleetqueue get clusters" in text] == []


def texts(files):
    """Return all texts of Python files."""
    return {node.value for path in files for node in ast.walk(ast.parse(path.read_text())) if is_text(node)}


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
