"""Defaults must themselves be right: they are stored as if a user had written them."""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.apiserver.kinds.causes import Cause
from fleetqueue.apiserver.kinds.schema import Schema
from fleetqueue.apiserver.validation import embedded_objects, faults, rules
from fleetqueue.apiserver.validation.broken_rules import broken_rules
from fleetqueue.apiserver.validation.pruning import pruned_value
from fleetqueue.apiserver.validation.reports import Reporter
from fleetqueue.apiserver.validation.rule_types import type_of
from fleetqueue.apiserver.validation.structural_schema import shape

Openapi = Mapping[str, Any]


def default_problems(openapi: Openapi, path: str) -> Iterator[Cause]:
    """Return what is wrong with the defaults of a structural schema."""
    if openapi.get("default") is not None:
        yield from _of_default(openapi, f"{path}.default")
    if isinstance(openapi.get("items"), dict):
        yield from default_problems(openapi["items"], f"{path}.items")
    for name, child in (openapi.get("properties") or {}).items():
        yield from default_problems(child, f"{path}.properties[{name}]")


def _of_default(openapi: Openapi, path: str) -> Iterator[Cause]:
    default, schema = openapi["default"], shape(openapi)
    if pruned_value(default, schema) is not default:
        yield faults.invalid(path, default, "must not have unknown fields")
    found = list(embedded_objects.faults_below(default, schema, path))
    found = found or list(Reporter(path).report(default, openapi, "").faults.values())
    yield from found
    if not found:
        yield from _of_rules(default, schema, path)


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
