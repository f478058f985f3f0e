"""Objects as text: what Go's libraries write, in Python."""

import pytest

from fleetqueue.demo.own_kubectl.problems import KubectlProblem
from fleetqueue.demo.own_kubectl.templates import render
from fleetqueue.demo.own_kubectl.texts import as_json, as_yaml

ITEMS = {"items": [{"name": "a", "labels": {"y": 1, "x": "<z>"}, "n": [1, 2]}, {"name": "b", "n": []}], "at": 1.5}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("{.items[0].name}", "a", id="a field"),
        pytest.param("{.items[*].name}", "a b", id="of all"),
        pytest.param('{range .items[*]}{.name}={.n[0]}{"\\n"}{end}', "a=1\nb=\n", id="a range"),
        pytest.param("{range .items[*]}{range .n[*]}{@}{end};{end}", "12;;", id="a range in a range"),
        pytest.param("{range .nothing[*]}{.name}{end}!", "!", id="a range over nothing"),
        pytest.param("{.items[0].labels}", '{"x":"<z>","y":1}', id="a map"),
        pytest.param("{.items[0].n}", "[1,2]", id="a list"),
        pytest.param("{.nothing}", "", id="nothing"),
        pytest.param("{.at}", "1.5", id="a number"),
        pytest.param("name: {'x'} {.items[?(@.name==\"b\")].name}", "name: x b", id="text and a filter"),
    ],
)
def test_json_paths(template, text):
    assert render(template, ITEMS) == text


@pytest.mark.parametrize("template", ["{.a", "{range .items[*]}", "{end}", "{.a[}"])
def test_a_template_that_makes_no_sense_is_refused(template):
    with pytest.raises(KubectlProblem):
        render(template, ITEMS)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("yes", '"yes"', id="a truth"),
        pytest.param("1", '"1"', id="a number"),
        pytest.param("2026-01-01T00:00:00Z", '"2026-01-01T00:00:00Z"', id="a time"),
        pytest.param("", '""', id="nothing"),
        pytest.param("a: b", "'a: b'", id="a colon"),
        pytest.param("plain words", "plain words", id="plain"),
        pytest.param("two\nlines\n", "|\n  two\n  lines", id="lines"),
    ],
)
def test_yaml_quotes_what_would_be_read_otherwise(value, text):
    assert as_yaml({"b": value, "a": 1}) == f"a: 1\nb: {text}\n"


def test_json_is_ordered_and_safe_in_html():
    assert as_json({"b": "<&>", "a": {}}) == '{\n    "a": {},\n    "b": "\\u003c\\u0026\\u003e"\n}'
