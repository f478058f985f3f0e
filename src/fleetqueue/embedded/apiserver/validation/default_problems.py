"""Defaults must themselves be right: they are stored as if a user had written them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from fleetqueue.embedded.apiserver.kinds.causes import Cause, aggregate, invalid_value
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.validation import embedded_objects, rules
from fleetqueue.embedded.apiserver.validation.broken_rules import broken_rules
from fleetqueue.embedded.apiserver.validation.pruning import BadPart, check_embedded, pruned_value
from fleetqueue.embedded.apiserver.validation.reports import Reporter
from fleetqueue.embedded.apiserver.validation.rule_types import type_of
from fleetqueue.embedded.apiserver.validation.structural_schema import shape

Openapi = Mapping[str, Any]
_META: Final = ("apiVersion", "kind", "metadata")
_TYPE: Final = {"apiVersion": "validation/v1", "kind": "Validation"}


class Around(NamedTuple):
    """The whole object that a node of a schema is part of."""

    schema: Schema
    of: Callable[[Any], Any]
    """From a value of the node to the least object that has it."""
    is_meta: bool = False
    """Whether the node is inside what every object has."""

    def field(self, name: str, *, is_meta: bool) -> "Around":
        return Around(self.schema, lambda value: self.of({name: value}), is_meta)

    def item(self) -> "Around":
        return self._replace(of=lambda value: self.of([value]))


def default_problems(openapi: Openapi, path: str, around: Around | None = None) -> Iterator[Cause]:
    """Return what is wrong with the defaults of a structural schema; one that is in no other is that of an object."""
    is_object = around is None or bool(openapi.get("x-kubernetes-embedded-resource"))
    if around is None or is_object:
        around = Around(replace(shape(openapi), is_embedded=True), lambda value: {**_TYPE, **value})
    if openapi.get("default") is not None:
        yield from _of_default(openapi, f"{path}.default", around, is_object)
    if isinstance(openapi.get("items"), dict):
        yield from default_problems(openapi["items"], f"{path}.items", around.item())
    for name, child in (openapi.get("properties") or {}).items():
        is_meta = around.is_meta or (is_object and name in _META)
        yield from default_problems(child, f"{path}.properties[{name}]", around.field(name, is_meta=is_meta))


def _of_default(openapi: Openapi, path: str, around: Around, is_object: bool) -> Iterator[Cause]:
    default, schema = openapi["default"], replace(shape(openapi), is_embedded=is_object)
    if around.is_meta:
        problems = list(_of_metadata(default, path, around))
    else:
        if pruned_value(default, schema) is not default:
            yield invalid_value(path, default, "must not have unknown fields")
        problems = list(_of_objects(default, schema, path))
    problems = problems or list(Reporter(path).report(default, openapi, "").faults.values())
    yield from problems
    if not problems:
        yield from _of_rules(default, schema, path)


def _of_metadata(default: Any, path: str, around: Around) -> Iterator[Cause]:
    problems = list(_of_objects(around.of(default), around.schema, ""))
    if problems:
        yield invalid_value(path, default, f"must result in valid metadata: {aggregate(problems)}")


def _of_objects(default: Any, schema: Schema, path: str) -> Iterator[Cause]:
    try:
        check_embedded(default, schema, path)
    except BadPart as error:
        yield error.cause
    else:
        yield from embedded_objects.faults_below(default, schema, path)


def _of_rules(default: Any, schema: Schema, path: str) -> Iterator[Cause]:
    described = type_of(schema)
    if described is None or not rules.has_rules(schema):
        return
    try:
        node = rules.RuleNode(schema, described)
    except rules.BadRule:
        return  # the rule itself is refused, with its place
    broken = broken_rules(node, default, default, None, path)
    yield from broken or broken_rules(node, default, None, None, path)
