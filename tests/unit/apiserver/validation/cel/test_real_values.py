"""Expressions and their values, against the library that kube-apiserver 1.36.3 uses, with its functions."""

import json
from pathlib import Path

import pytest

from fleetqueue.apiserver.validation import cel
from fleetqueue.apiserver.validation.cel import numbers, times
from fleetqueue.apiserver.validation.cel.values import kind_of

CASES = json.loads(Path(__file__).with_name("real_values.json").read_text())
TYPE_NAMES = {"null": "null_type", "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}


def shown(value):
    """Write a value with its type, as the recorded answers have it."""
    match kind_of(value):
        case "double":
            return f"double:{numbers.shown(value)}"
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
            return f"timestamp:{times.shown_timestamp(value)}"
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


def outcome(expression):
    try:
        program = cel.compile_expression(expression, {})
    except cel.CompileError as error:
        return {"compile": "Syntax error" if "Syntax error" in str(error) else str(error)}
    try:
        return {"value": shown(program.evaluate()[0])}
    except cel.CelError as error:
        return {"error": str(error)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expression"])
def test_an_expression_has_the_value_that_the_real_server_finds(case):
    expected = {key: value for key, value in case.items() if key != "expression"}

    assert outcome(case["expression"]) == expected
