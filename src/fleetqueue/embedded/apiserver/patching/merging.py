"""Lay an applied configuration over an object; parts that do not change are shared."""

from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import ANY, ATOMIC, Schema
from fleetqueue.embedded.apiserver.patching.comparison import ABSENT, child_of, is_equal
from fleetqueue.embedded.apiserver.patching.elements import of_item


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
