"""Sets of fields, in the very form in which managedFields carries them.

A set is a trie of dicts from elements to tries. An empty trie is a member without anything inside; a member that also
has members inside it says so with `.`. So a stored set needs no decoding, and a new one no encoding. Sets are never
changed once made: every operation returns a new one that shares what it can with the old.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fleetqueue.embedded.apiserver.patching.elements import FIELD, ITSELF, rank

Fields = dict[str, Any]

LEAF: Final[Fields] = {}
"""A member with nothing inside; shared by all sets."""
NOTHING: Final[Fields] = {}
"""The set without members."""


def of_paths(*paths: Iterable[str]) -> Fields:
    """Return the set of these fields: `of_paths(("status",), ("metadata", "labels"))`."""
    fields: Fields = NOTHING
    for path in paths:
        node: Fields = LEAF
        for name in reversed([*path]):
            node = {FIELD + name: node}
        fields = union(fields, node)
    return fields


def is_member(node: Mapping[str, Any]) -> bool:
    """Tell whether a trie stands for a member, not only for what is inside it."""
    return not node or ITSELF in node


def _normal(node: Fields) -> Fields:
    return LEAF if len(node) == 1 and ITSELF in node else node


def union(one: Fields, other: Fields) -> Fields:
    """Return the members of either."""
    if one is other or not other:
        return one
    both = dict(one)
    for element, node in other.items():
        mine = both.get(element)
        both[element] = node if mine is None else _joined(mine, node)
    return both


def _joined(one: Fields, other: Fields) -> Fields:
    if one and other:
        return union(one, other)
    inside = one or other
    return inside if is_member(inside) else {ITSELF: LEAF, **inside}


def intersection(one: Fields, other: Fields) -> Fields:
    """Return the members of both."""
    if len(other) < len(one):
        one, other = other, one
    both = {}
    for element, node in one.items():
        theirs = other.get(element)
        if theirs is not None and (shared := _shared(node, theirs)) is not None:
            both[element] = shared
    return both


def _shared(one: Fields, other: Fields) -> Fields | None:
    if not one or not other:
        return LEAF if is_member(one) and is_member(other) else None
    inside = intersection(one, other)
    return _normal(inside) if inside else None


def difference(one: Fields, other: Fields) -> Fields:
    """Return the members of the first that are not in the second; what is inside a removed member stays."""
    if not other or not one:
        return one
    rest = {}
    for element, node in one.items():
        theirs = other.get(element)
        left = node if theirs is None else _left(node, theirs)
        if left is not None:
            rest[element] = left
    return rest


def _left(one: Fields, other: Fields) -> Fields | None:
    if not one:
        return None if is_member(other) else LEAF
    rest = difference(one, other or {ITSELF: LEAF})
    return _normal(rest) if rest else None


def without(one: Fields, other: Fields) -> Fields:
    """Return the members of the first that are neither in the second nor inside one of its members."""
    if not other or not one:
        return one
    rest = {}
    for element, node in one.items():
        theirs = other.get(element)
        if theirs is None:
            rest[element] = node
        elif not is_member(theirs):
            inside = without(node, theirs)
            if inside or not node:
                rest[element] = _normal(inside)
    return rest


def ordered(fields: Fields) -> Fields:
    """Return the same set with everything in the order in which the real server writes it."""
    if not fields:
        return LEAF
    elements = sorted(fields)
    if not elements[-1].startswith(FIELD):  # keys and values have an order that is not that of their texts
        elements.sort(key=rank)
    return {element: ordered(node) if (node := fields[element]) else LEAF for element in elements}


def paths(fields: Fields, parent: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Name every member: those of a level first, then those inside each."""
    elements = sorted((element for element in fields if element != ITSELF), key=rank)
    for element in elements:
        if is_member(fields[element]):
            yield (*parent, element)
    for element in elements:
        yield from paths(fields[element], (*parent, element))


def has(fields: Fields, path: Iterable[str]) -> bool:
    """Tell whether a path leads to a member."""
    node: Fields | None = fields
    for element in path:
        node = (node or {}).get(element)
        if node is None:
            return False
    return node is not None and is_member(node)
