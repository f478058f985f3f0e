"""From the schema that a CRD carries to the shared description of shapes, and to the checks made of it."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import orjson
from msgspec import UNSET

from fleetqueue.embedded.apiserver.kinds.schema import ATOMIC, Schema
from fleetqueue.embedded.apiserver.validation import checks
from fleetqueue.embedded.apiserver.validation.checks import Check
from fleetqueue.embedded.apiserver.validation.known_parts import KnownParts
from fleetqueue.embedded.apiserver.validation.rules import RuleNode, compiled_rules

_STRUCTURE = frozenset({
    "type", "format", "properties", "items", "additionalProperties", "default", "nullable", "required", "description",
    "title", "example", "externalDocs", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
})  # fmt: skip
"""The keywords of a schema that `Schema` has fields for, or that mean nothing to a server; all others are its rules."""

Translate = Callable[[Mapping[str, Any]], Schema]

NOTHING = Schema()
"""The schema of a map's values where the CRD says only that there may be some: their own fields are not known."""


class CustomSchema:
    """The schema of one version of a custom kind: its shape and, built when first needed, its checks."""

    def __init__(self, openapi: Mapping[str, Any], schema: Schema | None = None) -> None:
        self.openapi = openapi
        self.schema = schema or shape(openapi)
        # Fields of objects that need no second look:
        self.pruned = KnownParts()
        self.defaulted = KnownParts()
        self.unique = KnownParts()
        self.fitting = KnownParts()

    @cached_property
    def check(self) -> Check:
        """Whether an object fits, as far as the schema without its rules goes."""
        return checks.compiled(self.openapi)

    @cached_property
    def status_check(self) -> Check:
        return checks.compiled(self.openapi["properties"]["status"])

    @cached_property
    def rules(self) -> RuleNode | None:
        """The validation rules, compiled; None if there are none."""
        return compiled_rules(self.schema)


def build(openapi: Mapping[str, Any]) -> CustomSchema:
    """Return the schema for an `openAPIV3Schema`; equal ones, of whatever cluster, share one."""
    return _built(openapi, shape)


def build_of_parts(openapi: Mapping[str, Any]) -> CustomSchema:
    """Do the same for one that never changes and in which the same nodes stand in many places: each is read once."""
    return _built(openapi, _shape_of_part)


def shared(openapi: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the equal `openAPIV3Schema` of which a schema was built, if one was."""
    known = _known.get(orjson.dumps(openapi))
    return openapi if known is None else known.openapi


def _built(openapi: Mapping[str, Any], translate: Translate) -> CustomSchema:
    key = orjson.dumps(openapi)
    schema = _known.get(key)
    if schema is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        schema = _known[key] = CustomSchema(openapi, translate(openapi))
    return schema


_MOST_KNOWN = 500
"""A fleet has some fifty CRDs; beyond, they are built anew."""
_known: dict[bytes, CustomSchema] = {}
_parts: dict[int, tuple[Mapping[str, Any], Schema]] = {}
"""The shapes of parts by the identity of what they were made of, which is kept, so that nothing else gets it."""


def _shape_of_part(openapi: Mapping[str, Any]) -> Schema:
    made = _parts.get(id(openapi))
    if made is None:
        made = _parts[id(openapi)] = openapi, _shape(openapi, _shape_of_part)
    return made[1]


def shape(openapi: Mapping[str, Any]) -> Schema:
    """Translate one node and all below it."""
    return _shape(openapi, shape)


def _shape(openapi: Mapping[str, Any], below: Translate) -> Schema:
    properties = openapi.get("properties")
    items = openapi.get("items")
    return Schema(
        type=openapi.get("type") or "",
        format=openapi.get("format") or "",
        properties={name: below(child) for name, child in properties.items()} if properties else {},
        values=_values(openapi.get("additionalProperties"), below),
        items=below(items) if isinstance(items, dict) else None,
        list_type=openapi.get("x-kubernetes-list-type") or ATOMIC,
        list_keys=tuple(openapi.get("x-kubernetes-list-map-keys") or ()),
        is_atomic=openapi.get("x-kubernetes-map-type") == "atomic",
        keeps_unknown=bool(openapi.get("x-kubernetes-preserve-unknown-fields")),
        is_embedded=bool(openapi.get("x-kubernetes-embedded-resource")),
        is_int_or_string=bool(openapi.get("x-kubernetes-int-or-string")),
        is_nullable=bool(openapi.get("nullable")),
        default=openapi.get("default") if openapi.get("default") is not None else UNSET,
        required=tuple(openapi.get("required") or ()),
        rules={name: value for name, value in openapi.items() if name not in _STRUCTURE},
    )


def _values(additional: Any, below: Translate) -> Schema | None:
    if isinstance(additional, dict):
        return below(additional)
    return NOTHING if additional is not None else None
