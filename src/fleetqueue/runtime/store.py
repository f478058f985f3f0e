"""The objects of one kind, as last seen, with indexes."""

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple

from fleetqueue.api.meta import O, key_of
from fleetqueue.api.scheme import Manifest

Index = Callable[[O], Iterable[str]]
"""The values under which an object is found."""


class Entry(NamedTuple, Generic[O]):
    raw: Manifest
    view: O


class Store(Generic[O]):
    """Stored objects are never changed: every change is a new entry."""

    def __init__(self, kind: type[O]) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[O]] = {}
        self._indexes: dict[str, Index[O]] = {}
        self._indexed: dict[str, dict[str, set[str]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def add_index(self, name: str, values: Index[O]) -> None:
        """Keep objects findable by what a function says of them; adding the same index again changes nothing."""
        if name in self._indexes:
            return
        self._indexes[name] = values
        self._indexed[name] = {}
        for key, entry in self._entries.items():
            self._index(name, key, values(entry.view))

    def get(self, key: str) -> O | None:
        entry = self._entries.get(key)
        return entry.view if entry else None

    def raw(self, key: str) -> Manifest | None:
        entry = self._entries.get(key)
        return entry.raw if entry else None

    def keys(self) -> set[str]:
        return set(self._entries)

    def all(self) -> list[O]:
        """Return everything, in the order of the keys."""
        return [self._entries[key].view for key in sorted(self._entries)]

    def by_index(self, name: str, value: str) -> list[O]:
        """Return what an index holds under a value, in the order of the keys."""
        keys = self._indexed[name].get(value, ())
        return [self._entries[key].view for key in (keys if len(keys) < 2 else sorted(keys))]

    def put(self, raw: Manifest) -> tuple[O | None, O]:
        """Store an object as it came from the API; return what was there before and what is there now."""
        metadata = raw["metadata"]
        key = key_of(metadata.get("namespace", ""), metadata["name"])
        trimmed = self.kind.trim(raw)
        entry = Entry(trimmed, self.kind.view(trimmed))
        old = self.get(key)
        self._entries[key] = entry
        for name, values in self._indexes.items():
            was, now = [] if old is None else [*values(old)], [*values(entry.view)]
            if was != now:
                self._unindex(name, key, was)
                self._index(name, key, now)
        return old, entry.view

    def remove(self, key: str) -> O | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        for name, values in self._indexes.items():
            self._unindex(name, key, values(entry.view))
        return entry.view

    def _index(self, name: str, key: str, values: Iterable[str]) -> None:
        for value in values:
            self._indexed[name].setdefault(value, set()).add(key)

    def _unindex(self, name: str, key: str, values: Iterable[str]) -> None:
        indexed = self._indexed[name]
        for value in values:
            keys = indexed.get(value, set())
            keys.discard(key)
            if not keys:
                indexed.pop(value, None)  # values come and go for ever: empty ones must not pile up
