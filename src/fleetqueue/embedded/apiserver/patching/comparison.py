"""Find the fields in which two objects of a kind differ.

What is equal is not walked: Python compares shared and equal parts fast, so the cost is that of the differences.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson
from msgspec import UNSET

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import ANY, ATOMIC, Schema
from fleetqueue.embedded.apiserver.patching.elements import FIELD, ITSELF, of_item
from fleetqueue.embedded.apiserver.patching.field_sets import LEAF, Fields
from fleetqueue.embedded.apiserver.patching.reset_fields import Reset

ABSENT: Final = UNSET
_SORTED: Final = orjson.OPT_SORT_KEYS


class Comparison(NamedTuple):
    """Three sets without a common member."""

    added: Fields
    modified: Fields
    removed: Fields

    @property
    def is_same(self) -> bool:
        """Tell that nothing differs."""
        return not (self.added or self.modified or self.removed)

    def beside(self, reset: Reset) -> "Comparison":
        """Return the differences in fields that are not reset."""
        return Comparison(*map(reset.left, self))


def compare(old: Manifest, new: Manifest, schema: Schema) -> Comparison:
    """Compare two objects; raises ItemError where items of a list cannot be told apart."""
    changes = Comparison({}, {}, {})
    _compare_maps(old, new, schema, changes)
    return changes


def is_equal(before: Any, after: Any) -> bool:
    """Tell whether two values are surely the same: to Python true is 1, also deep inside; to JSON it is not."""
    if before != after:
        return False
    if isinstance(after, (dict, list)):
        return orjson.dumps(before, option=_SORTED) == orjson.dumps(after, option=_SORTED)
    return isinstance(before, bool) is isinstance(after, bool)


def child_of(schema: Schema, name: str) -> Schema:
    """Return the schema of a field; what nobody describes is a map of such or one value."""
    return schema.properties.get(name) or schema.values or ANY


def whole(value: Any, schema: Schema) -> Fields:
    """Return the trie of everything in a value that has come, or gone, altogether."""
    if not value:
        return LEAF
    if isinstance(value, dict):
        if schema.is_atomic:
            return LEAF
        node: Fields = {ITSELF: LEAF}
        for name, inner in value.items():
            node[FIELD + name] = whole(inner, child_of(schema, name)) if isinstance(inner, (dict, list)) else LEAF
        return node
    if isinstance(value, list) and schema.list_type != ATOMIC:
        return _whole_list(value, schema)
    return LEAF


def _whole_list(items: list[Any], schema: Schema) -> Fields:
    node: Fields = {ITSELF: LEAF}
    inner = schema.items or ANY
    for item in items:
        element = of_item(item, schema)
        # of items with the same keys only that they are there is known
        node[element] = LEAF if element in node else whole(item, inner)
    return node


def _compare_maps(old: Manifest, new: Manifest, schema: Schema, changes: Comparison) -> None:
    for name, after in new.items():
        before = old.get(name, ABSENT)
        if before is after or is_equal(before, after):
            continue
        inner = child_of(schema, name)
        if before is ABSENT:
            changes.added[FIELD + name] = whole(after, inner)
        else:
            _compare_values(FIELD + name, before, after, inner, changes)
    for name, before in old.items():
        if name not in new:
            changes.removed[FIELD + name] = whole(before, child_of(schema, name))


def _compare_values(element: str, before: Any, after: Any, schema: Schema, changes: Comparison) -> None:
    """Compare two values, both there, that are not surely equal."""
    if not before and not after and before != after:
        changes.modified[element] = LEAF  # null is not the same as empty
    elif _both(dict, before, after) and not schema.is_atomic:
        inside = Comparison({}, {}, {})
        _compare_maps(before or {}, after or {}, schema, inside)
        _put(element, inside, changes)
    elif _both(list, before, after) and schema.list_type != ATOMIC:
        inside = Comparison({}, {}, {})
        _compare_lists(before or [], after or [], schema, inside)
        _put(element, inside, changes)
    elif isinstance(before, (dict, list)) or isinstance(after, (dict, list)) or not is_equal(before, after):
        changes.modified[element] = LEAF
        if type(before) is not type(after):
            _put(element, Comparison(_inside(after, schema), {}, _inside(before, schema)), changes)


def _both(kind: type, before: Any, after: Any) -> bool:
    return (isinstance(before, kind) or before is None) and (isinstance(after, kind) or after is None)


def _put(element: str, inside: Comparison, changes: Comparison) -> None:
    for fields, children in zip(changes, inside, strict=True):
        if children:
            fields[element] = children


def _inside(value: Any, schema: Schema) -> Fields:
    return {element: node for element, node in whole(value, schema).items() if element != ITSELF}


def _compare_lists(old: list[Any], new: list[Any], schema: Schema, changes: Comparison) -> None:
    before, after = grouped(old, schema), grouped(new, schema)
    inner = schema.items or ANY
    for element, now in after.items():
        then = before.get(element, [])
        if is_equal(then, now):
            continue
        if not then or len(now) > 1 or len(then) > 1:
            _compare_groups(element, then, now, inner, changes)
        else:
            _compare_values(element, then[0], now[0], inner, changes)
    for element, then in before.items():
        if element not in after:
            _compare_groups(element, then, [], inner, changes)


def _compare_groups(element: str, then: list[Any], now: list[Any], schema: Schema, changes: Comparison) -> None:
    """Compare items that have come, have gone, or share their keys with others: of those only one mark is kept."""
    if len(then) > 1 and len(now) > 1:
        changes.modified[element] = LEAF
        return
    if now:
        changes.added[element] = whole(now[0], schema) if len(now) == 1 else LEAF
    if then:
        changes.removed[element] = whole(then[0], schema) if len(then) == 1 else LEAF


def grouped(items: Iterable[Any], schema: Schema) -> dict[str, list[Any]]:
    """Sort the items of a list by the element that leads to them; more than one only if keys are doubled."""
    groups: dict[str, list[Any]] = {}
    for item in items:
        groups.setdefault(of_item(item, schema), []).append(item)
    return groups
