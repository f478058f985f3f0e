"""Take out of an object what its applier named last time and nobody names now.

As in the real server this is done with sets of fields, in the version in which the applier spoke then; what others own
is put back in the version in which each of them speaks. It is the price of an apply that names less, and only of that;
where all speak in one version, only of the fields of the object in which the applier named something.
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import ANY, ATOMIC, Schema
from fleetqueue.embedded.apiserver.patching.applied_fields import all_fields
from fleetqueue.embedded.apiserver.patching.comparison import child_of
from fleetqueue.embedded.apiserver.patching.elements import FIELD, ITSELF, of_item
from fleetqueue.embedded.apiserver.patching.field_sets import (
    LEAF,
    NOTHING,
    Fields,
    difference,
    intersection,
    is_member,
    union,
)
from fleetqueue.embedded.apiserver.patching.owners import FieldOwner
from fleetqueue.embedded.apiserver.patching.versions import ObjectVersions, OtherVersion


def pruned(merged: Manifest, last: FieldOwner, owners: Iterable[FieldOwner], versions: ObjectVersions) -> Manifest:
    """Return the object without what only `last`, the applier as it was, owned; `owners` are all as they are now."""
    other, owners = versions.other(last.api_version), list(owners)
    if other is None:
        return merged
    if {last.api_version, versions.request, *(owner.api_version for owner in owners)} == {last.api_version}:
        concerned = {name: value for name, value in merged.items() if FIELD + name in last.fields}
        rest = _pruned(concerned, last, owners, other, versions)
        kept = {name: value for name, value in merged.items() if name not in concerned or name in rest}
        return merged if rest is concerned else kept | rest
    return _pruned(merged, last, owners, other, versions)


def _pruned(
    merged: Manifest, last: FieldOwner, owners: Iterable[FieldOwner], other: OtherVersion, versions: ObjectVersions
) -> Manifest:
    then = other.from_request(merged)
    wanted = _added_back(then, _without(then, other.schema, _named(last.fields, other.schema)), last, owners, versions)
    gone = difference(_fields_of(then, other.schema), _fields_of(wanted, other.schema))
    rest = _without(then, other.schema, intersection(gone, _named(last.fields, other.schema)))
    return merged if rest is then else other.to_request(rest)


def _added_back(
    whole: Manifest, rest: Manifest, last: FieldOwner, owners: Iterable[FieldOwner], versions: ObjectVersions
) -> Manifest:
    """Return what is left of an object with all that somebody owns; in the version of `last`, as they come."""
    owned: dict[str, Fields] = {last.api_version: NOTHING}
    for owner in owners:
        owned[owner.api_version] = union(owned.get(owner.api_version, NOTHING), owner.fields)
    here = versions.other(last.api_version)
    assert here is not None
    for version, fields in owned.items():
        there = versions.other(version)
        if there is None:
            continue
        if version != last.api_version:
            whole, rest = (there.from_request(here.to_request(obj)) for obj in (whole, rest))
        schema = there.schema
        kept = union(_fields_of(rest, schema), _named(fields, schema))
        rest = _without(whole, schema, difference(_fields_of(whole, schema), kept))
        if version != last.api_version:
            whole, rest = (here.from_request(there.to_request(obj)) for obj in (whole, rest))
    return rest


def _fields_of(obj: Manifest, schema: Schema) -> Fields:
    return _named(all_fields(obj, schema), schema)


def _named(fields: Fields, schema: Schema) -> Fields:
    """Return the set with every named field of the kind that has members inside it as a member itself."""
    named: Fields = {}
    for element, node in fields.items():
        if not node:
            named[element] = node
            continue
        inner = child_of(schema, element[2:]) if element.startswith(FIELD) else schema.items or ANY
        inside = _named(node, inner)
        if element.startswith(FIELD) and element[2:] in schema.properties:
            inside.setdefault(ITSELF, LEAF)
        named[element] = inside
    return named


def _without(value: Manifest, schema: Schema, fields: Fields) -> Manifest:
    return _map_without(value, schema, fields) if fields else value


def _map_without(value: Manifest, schema: Schema, fields: Fields) -> Manifest:
    rest = value
    for element, node in fields.items():
        name = element[2:]
        if name not in value or not element.startswith(FIELD):
            continue
        if is_member(node):
            rest = dict(value) if rest is value else rest
            del rest[name]
        elif (after := _value_without(value[name], child_of(schema, name), node)) is not value[name]:
            rest = dict(value) if rest is value else rest
            rest[name] = after
    return rest


def _value_without(value: Any, schema: Schema, fields: Fields) -> Any:
    """Return a value without some of what is inside it; None where nothing is left."""
    if isinstance(value, dict):
        return None if schema.is_atomic else _map_without(value, schema, fields) or None
    if isinstance(value, list):
        return None if schema.list_type == ATOMIC else _list_without(value, schema, fields) or None
    return value


def _list_without(items: list[Any], schema: Schema, fields: Fields) -> list[Any]:
    rest, inner = [], schema.items or ANY
    for item in items:
        node = fields.get(of_item(item, schema))
        if node is None:
            rest.append(item)
        elif not is_member(node):
            rest.append(_value_without(item, inner, node))
    return items if len(rest) == len(items) and all(a is b for a, b in zip(rest, items, strict=True)) else rest
