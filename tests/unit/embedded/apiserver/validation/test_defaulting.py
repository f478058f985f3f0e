"""Defaults are filled in where their parent is."""

import copy

import pytest

from fleetqueue.embedded.apiserver.validation.defaulting import with_defaults
from fleetqueue.embedded.apiserver.validation.structural_schema import shape

ONE = {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}}
SCHEMA = shape(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "plain": {"type": "string"},
                    "nullable": {"type": "string", "nullable": True},
                    "filled": {"type": "string", "default": "A", "nullable": False},
                    "one": ONE,
                    "deep": {**ONE, "default": {}},
                    "list": {"type": "array", "items": ONE},
                    "numbers": {"type": "array", "items": {"type": "integer", "default": 7}},
                    "map": {"type": "object", "additionalProperties": ONE},
                },
            }
        },
    }
)
ALWAYS = {"filled": "A", "deep": {"x": 1}}


@pytest.mark.parametrize(
    ("obj", "filled"),
    [
        pytest.param({}, {}, id="a missing parent is not made up"),
        pytest.param({"spec": {}}, {"spec": ALWAYS}, id="a default of a default is filled in, too"),
        pytest.param({"spec": {"one": {}}}, {"spec": {**ALWAYS, "one": {"x": 1}}}, id="inside an object that is there"),
        pytest.param(
            {"spec": {"list": [{}, {"x": 2}]}}, {"spec": {**ALWAYS, "list": [{"x": 1}, {"x": 2}]}}, id="in items"
        ),
        pytest.param(
            {"spec": {"map": {"k": {}}}}, {"spec": {**ALWAYS, "map": {"k": {"x": 1}}}}, id="in values of maps"
        ),
        pytest.param({"spec": {"filled": None}}, {"spec": ALWAYS}, id="a null becomes the default"),
        pytest.param({"spec": {"plain": None}}, {"spec": {**ALWAYS, "plain": None}}, id="one without default stays"),
        pytest.param(
            {"spec": {"nullable": None}}, {"spec": {**ALWAYS, "nullable": None}}, id="a null that is allowed stays"
        ),
        pytest.param({"spec": {"numbers": [None, 1]}}, {"spec": {**ALWAYS, "numbers": [7, 1]}}, id="a null item, too"),
        pytest.param({"spec": [{}]}, {"spec": [{}]}, id="what has the wrong type is left alone"),
    ],
)
def test_with_defaults(obj, filled):
    before = copy.deepcopy(obj)

    result = with_defaults(obj, SCHEMA)

    assert result == filled
    assert obj == before
    assert with_defaults(result, SCHEMA) is result
