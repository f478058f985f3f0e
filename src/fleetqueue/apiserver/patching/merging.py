"""Lay an applied configuration over an object, and take out of it what its applier no longer names.

Both return the object itself, and share every part, where nothing changes.
"""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.kinds.schema import ANY, ATOMIC, Schema
from fleetqueue.apiserver.patching.comparison import ABSENT, child_of, is_equal
from fleetqueue.apiserver.patching.elements import FIELD, of_item
from fleetqueue.apiserver.patching.field_sets import Fields, is_member


def merge(live: Manifest, applied: Manifest, schema: Schema) -> Manifest:
    """Return the object with everything that the configuration names; nothing is removed."""
    merged = live
    for name, value in applied.items():
        before = live.get(name, ABSENT)
        after = value if before is ABSENT else _merged(before, value, child_of(schema, name))
        if after is not before:
            if merged is live:
                merged = dict(live)
            merged[name] = after
    return merged


def _merged(before: Any, after: Any, schema: Schema) -> Any:
    if before is after or (not (type(before) is dict and before) and is_equal(before, after)):
        return before
    if isinstance(before, dict) and before and (after is None or isinstance(after, dict)) and not schema.is_atomic:
        return merge(before, after or {}, schema)
    if isinstance(before, list) and before and (after is None or isinstance(after, list)):
        return after if schema.list_type == ATOMIC else _merge_lists(before, after or [], schema)
    return after


def _merge_lists(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """Merge items with the same keys: in the applied order, the others where they stood between them."""
    ours = [of_item(item, schema) for item in live]
    theirs = [of_item(item, schema) for item in applied]
    items = _Items(live, ours, applied, theirs, schema.items or ANY)
    order = [element for element in theirs if element in items.live]
    merged: list[Any] = []
    done: set[str] = set()
    left = right = 0
    while left < len(ours) or right < len(theirs):
        wanted = order[0] if order else None
        mine = ours[left] if left < len(ours) else None
        if mine is not None and right < len(theirs):
            if mine == theirs[right]:
                left += 1
            elif mine in items.applied and wanted is not None and wanted != mine:
                left += 1  # it has, or gets, its place in the applied order
                continue
        if mine is not None and mine not in items.applied:
            merged.append(live[left])
            left += 1
            continue
        if mine in done and left < len(ours):
            left += 1
        if right < len(theirs):
            element = theirs[right]
            merged.append(items.merged(element))
            done.add(element)
            right += 1
            if element == wanted:
                order.pop(0)
    return live if len(merged) == len(live) and all(a is b for a, b in zip(merged, live, strict=True)) else merged


class _Items:
    """The items of both lists by their elements; those of the object whose keys are doubled are not merged."""

    def __init__(self, live: list[Any], ours: list[str], applied: list[Any], theirs: list[str], schema: Schema) -> None:
        self.schema = schema
        self.applied = dict(zip(theirs, applied, strict=True))
        self.live: dict[str, Any] = {}
        for element, item in zip(ours, live, strict=True):
            self.live[element] = None if element in self.live else item

    def merged(self, element: str) -> Any:
        """Return the applied item, laid over that of the object."""
        before = self.live.get(element)
        after = self.applied[element]
        return after if before is None else _merged(before, after, self.schema)


def prune(merged: Manifest, schema: Schema, last: Fields, owners: Sequence[Fields]) -> Manifest:
    """Remove what an applier named last time and nobody owns now, its new configuration included.

    Whoever stops naming an item of a list or a map takes away all of it, also the parts that others set: the others
    owned these parts, not the item.
    """
    return _prune_map(merged, schema, last, owners)


def _prune_map(value: Manifest, schema: Schema, last: Fields, owners: Sequence[Fields]) -> Manifest:
    rest = value
    for element, node in last.items():
        name = element[2:]
        if name not in value or not element.startswith(FIELD):
            continue
        before = value[name]
        named = name in schema.properties
        inner = child_of(schema, name)
        kept = [theirs for owner in owners if (theirs := owner.get(element)) is not None]
        if _is_dropped(node, kept, named) and not (named and _is_empty_list(before, inner)):
            rest = _without(rest, value, name)
        elif named and node and _is_hollow(before, inner, kept):
            rest = _without(rest, value, name)
        elif (after := _prune_value(before, inner, node, kept)) is not before:
            rest = dict(value) if rest is value else rest
            rest[name] = after
    return rest


def _without(rest: Manifest, value: Manifest, name: str) -> Manifest:
    rest = dict(value) if rest is value else rest
    del rest[name]
    return rest


def _is_dropped(node: Fields, kept: Sequence[Fields], named: bool) -> bool:
    """Tell whether a value was named and is no more; a field of a kind is named with anything inside it."""
    if named:
        return not kept
    return is_member(node) and not any(is_member(theirs) for theirs in kept)


def _is_empty_list(value: Any, schema: Schema) -> bool:
    return value == [] and schema.list_type != ATOMIC


def _is_hollow(value: Any, schema: Schema, kept: Sequence[Fields]) -> bool:
    """Tell whether nobody owns a part of a map but for empty lists: those are no fields, so nothing of it is left."""
    if not isinstance(value, dict) or schema.is_atomic:
        return False
    parts = [name for name, inner in value.items() if not _is_empty_list(inner, child_of(schema, name))]
    return 0 < len(parts) < len(value) and not any(FIELD + name in owner for owner in kept for name in parts)


def _prune_value(value: Any, schema: Schema, last: Fields, owners: Sequence[Fields]) -> Any:
    if not last or not value:
        return value
    if isinstance(value, dict) and not schema.is_atomic:
        return _prune_map(value, schema, last, owners) or None
    if isinstance(value, list) and schema.list_type != ATOMIC:
        return _prune_list(value, schema, last, owners) or None
    return value


def _prune_list(items: list[Any], schema: Schema, last: Fields, owners: Sequence[Fields]) -> list[Any]:
    rest = []
    inner = schema.items or ANY
    for item in items:
        element = of_item(item, schema)
        node = last.get(element)
        kept = [theirs for owner in owners if (theirs := owner.get(element)) is not None]
        if node is None:
            rest.append(item)
        elif not _is_dropped(node, kept, named=False):
            rest.append(_prune_value(item, inner, node, kept))
    return items if len(rest) == len(items) and all(a is b for a, b in zip(rest, items, strict=True)) else rest
