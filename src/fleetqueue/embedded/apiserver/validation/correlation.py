"""Find what a part of an object was before an update, so that faults that were there already do not block it."""

from typing import Any

import orjson

from fleetqueue.embedded.apiserver.kinds.schema import MAP, Schema


class Correlation:
    """A part of the new object beside the same part of the old one."""

    __slots__ = ("_by_key", "_children", "_is_equal", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Schema) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._children: dict[str | int, Correlation | None] = {}
        self._by_key: dict[Any, Any] | None = None
        self._is_equal: bool | None = None

    def key(self, name: str) -> "Correlation | None":
        """Return the field of this name; None if it was not there before, or is not described."""
        if name not in self._children:
            self._children[name] = self._field(name)
        return self._children[name]

    def _field(self, name: str) -> "Correlation | None":
        if not isinstance(self.old, dict) or not isinstance(self.new, dict):
            return None
        child = self.schema.child(name)
        if child is None or not is_described(child) or name not in self.old or name not in self.new:
            return None
        return Correlation(self.new[name], self.old[name], child)

    def index(self, position: int) -> "Correlation | None":
        """Return the item at a position of the new list; None unless its list is a map and had it before."""
        if position not in self._children:
            self._children[position] = self._item(position)
        return self._children[position]

    def _item(self, position: int) -> "Correlation | None":
        if not isinstance(self.old, list) or not isinstance(self.new, list) or self.schema.items is None:
            return None
        old = self.old_item(self.new[position])
        return None if old is None else Correlation(self.new[position], old, self.schema.items)

    def old_item(self, item: Any) -> Any:
        """Return the item of the old list with the same keys; None if there is none."""
        if self.schema.list_type != MAP:
            return None
        if self._by_key is None:
            self._by_key = keyed(self.old, self.schema)
        key = key_of(item, self.schema)
        return None if key is None else self._by_key.get(key)

    @property
    def is_equal(self) -> bool:
        """Whether nothing has changed here; the order of a list that is a map does not count.

        As in the real server, what the schema does not describe counts as changed.
        """
        if self._is_equal is None:
            self._is_equal = self._compare()
        return self._is_equal

    def _compare(self) -> bool:
        old, new = self.old, self.new
        if isinstance(new, list) and isinstance(old, list):
            if len(old) != len(new):
                return False
            if self.schema.list_type != MAP:
                return _same_json(old, new)
            return all((child := self.index(position)) is not None and child.is_equal for position in range(len(new)))
        if isinstance(new, dict) and isinstance(old, dict):
            if len(old) != len(new):
                return False
            return all((child := self.key(name)) is not None and child.is_equal for name in new)
        return _same_json(old, new)


def is_described(schema: Schema) -> bool:
    """Tell a schema from the place of one: `additionalProperties: true` says nothing about its values."""
    return bool(schema.type) or schema.keeps_unknown or schema.is_int_or_string


def _same_json(old: Any, new: Any) -> bool:
    # Python takes 1, 1.0 and True for equal, JSON does not.
    return bool(old == new) and orjson.dumps(old, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        new, option=orjson.OPT_SORT_KEYS
    )


def key_of(item: Any, schema: Schema) -> Any:
    """Return what an item of a keyed list is found by; None if it lacks a key."""
    if not isinstance(item, dict):
        return None
    values = [item.get(name) for name in schema.list_keys]
    if not values or any(value is None or isinstance(value, (dict, list)) for value in values):
        return None
    return tuple((type(value), value) for value in values)


def keyed(items: Any, schema: Schema) -> dict[Any, Any]:
    """Return the items of a keyed list by their keys; of equal ones the first."""
    by_key: dict[Any, Any] = {}
    for item in items if isinstance(items, list) else ():
        key = key_of(item, schema)
        if key is not None:
            by_key.setdefault(key, item)
    return by_key
