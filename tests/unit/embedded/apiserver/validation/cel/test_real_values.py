"""Expressions and their values, against the library that kube-apiserver 1.36.3 uses, with its functions."""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.validation import cel
from fleetqueue.embedded.apiserver.validation.cel import times, types
from fleetqueue.embedded.apiserver.validation.cel.values import Timestamp, Uint, kind_of

CASES = json.loads(Path(__file__).with_name("real_values.json").read_text())
FUNCTIONS = json.loads(Path(__file__).with_name("real_functions.json").read_text())
VARIABLES = {
    "i": (types.INT, 3),
    "j": (types.INT, -7),
    "u": (types.UINT, Uint(5)),
    "d": (types.DOUBLE, 2.5),
    "s": (types.STRING, "abc"),
    "r": (types.STRING, "a.b-c"),
    "b": (types.BOOL, True),
    "y": (types.BYTES, b"xyz"),
    "li": (types.list_of(types.INT), [3, 1, 2]),
    "ls": (types.list_of(types.STRING), ["b", "a", "c"]),
    "m": (types.map_of(types.STRING, types.INT), {"a": 1, "b": 2}),
    "t": (types.TIMESTAMP, times.parsed_timestamp("2026-01-02T03:04:05Z")),
    "n": (types.DURATION, times.parsed_duration("90s")),
    "x": (types.DYN, 4),
}
TYPE_NAMES = {"null": "null_type", "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}


def shown(value):
    """Write a value with its type, as the recorded answers have it."""
    match kind_of(value):
        case "double":
            return f"double:{go_text.number(value)}"
        case "int" | "uint" as kind:
            return f"{kind}:{int(value)}"
        case "string":
            return f"string:{value}"
        case "bytes":
            return f"bytes:{value.hex()}"
        case "bool" | "null":
            return value
        case "duration":
            return f"duration:{value.nanos}"
        case "timestamp":
            return f"timestamp:{times.shown_timestamp(Timestamp(value.nanos))}"
        case "optional_type":
            return {"optional": shown(value.content)} if value.is_present else "optional:none"
        case "type":
            return f"type:{TYPE_NAMES.get(value.kind, value.name or value.kind)}"
        case "list":
            return [shown(item) for item in value]
        case "map":
            return {str(shown(key)): shown(value[key]) for key in value}
        case other:
            return other


def outcome(expression, variables):
    try:
        program = cel.compile_expression(expression, {name: kind for name, (kind, _) in variables.items()})
    except cel.CompileError as error:
        return {"compile": str(error)}
    try:
        return {"value": shown(program.evaluate(*(value for _, value in variables.values()))[0])}
    except cel.CelError as error:
        return {"error": str(error)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expression"])
def test_an_expression_has_the_value_that_the_real_server_finds(case):
    expected = {key: value for key, value in case.items() if key != "expression"}

    assert outcome(case["expression"], {}) == expected


@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda case: case["expression"])
def test_a_function_does_what_it_does_on_the_real_server(case):
    expected = {key: value for key, value in case.items() if key != "expression"}

    assert outcome(case["expression"], VARIABLES) == expected
