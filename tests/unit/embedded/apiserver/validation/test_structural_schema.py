"""Schemas of custom kinds: equal ones are kept once, and the parts of one that repeats itself are read once."""

import orjson

from fleetqueue.embedded.apiserver.validation.structural_schema import build, build_of_parts, shape, shared

PART = {"type": "object", "properties": {"name": {"type": "string"}}}


def openapi(kind):
    parts = {"first": PART, "others": {"type": "array", "items": PART}}
    return {"type": "object", "description": kind, "properties": parts}


def copied(schema):
    return orjson.loads(orjson.dumps(schema))


def test_an_equal_schema_is_the_one_that_was_built_before():
    first = openapi("equal")

    built = build(first)

    assert build(copied(first)) is built
    assert shared(copied(first)) is first


def test_a_schema_that_was_never_built_stays_what_it_is():
    new = openapi("new")

    assert shared(new) is new


def test_parts_that_stand_in_two_places_have_one_shape():
    properties = build_of_parts(openapi("of parts")).schema.properties

    assert properties["first"] is properties["others"].items


def test_a_schema_of_parts_is_the_same_as_any_other():
    of_parts, any_other = build_of_parts(openapi("alike")).schema, shape(openapi("alike"))

    assert described(of_parts) == described(any_other)


def described(schema):
    """Everything that a shape says, as plain data."""
    below = {name: described(child) for name, child in schema.properties.items()}
    return schema.type, below, schema.items and described(schema.items), schema.rules
