"""The objects of one kind, as last seen, with indexes."""

from collections.abc import Callable, Iterable
from typing import Final, Generic

import orjson

from fleetqueue.api.meta import O
from fleetqueue.api.packing import Packer, Pattern
from fleetqueue.api.scheme import Manifest

UNPACKED: Final = 200
"""Of how many objects, those that were read or changed last, a store has what came as it came. Others are packed: some
300 bytes instead of 10 kB, and 50 µs when one is asked for."""
MOST_UNPACKED: Final = 1024
"""How many wait to be packed at most. Then each that comes or is read packs another."""

Index = Callable[[O], Iterable[str]]
"""The values under which an object is found."""


Entry = tuple[Manifest | None, O]
"""What is kept of an object: the object as it came, trimmed, or None where the kind keeps only views; and the view.

A plain tuple, since garbage collection forgets those that hold nothing of interest to it."""


class Store(Generic[O]):
    """Stored objects are never changed: every change is a new entry."""

    def __init__(self, kind: type[O]) -> None:
        self.kind = kind
        self._views: dict[str, O] = {}
        self._raw: dict[str, Manifest] = {}
        """In the order of their use."""
        self._packed: dict[str, tuple[Pattern, bytes]] = {}
        self._packer = Packer()
        self._indexes: dict[str, Index[O]] = {}
        self._indexed: dict[str, dict[str, set[str]]] = {}

    def __len__(self) -> int:
        return len(self._views)

    def __contains__(self, key: str) -> bool:
        return key in self._views

    def add_index(self, name: str, values: Index[O]) -> None:
        """Keep objects findable by what a function says of them; adding the same index again changes nothing."""
        if name in self._indexes:
            return
        self._indexes[name] = values
        self._indexed[name] = {}
        for key, view in self._views.items():
            self._index(name, key, values(view))

    def get(self, key: str) -> O | None:
        return self._views.get(key)

    def raw(self, key: str) -> Manifest | None:
        if not self.kind.keeps_raw:
            raise TypeError(f"only views of {self.kind.__name__} are kept")
        packed = self._packed.pop(key, None) if self._packed else None
        if packed is not None:
            pattern, data = packed
            self._keep_raw(key, orjson.loads(pattern.unpack(data)))
        return self._raw.get(key)

    def keys(self) -> set[str]:
        return set(self._views)

    def all(self) -> list[O]:
        """Return everything, in the order of the keys."""
        return [self._views[key] for key in sorted(self._views)]

    def by_index(self, name: str, value: str) -> list[O]:
        """Return what an index holds under a value, in the order of the keys."""
        keys = self._indexed[name].get(value)
        return [self._views[key] for key in (keys if len(keys) < 2 else sorted(keys))] if keys else []

    def index_values(self, name: str) -> list[str]:
        """Return the values under which an index holds anything, in order."""
        return sorted(self._indexed[name])

    def read(self, raw: Manifest) -> Entry[O]:
        """Return what is to be kept of an object as it came from the API."""
        if not self.kind.keeps_raw:
            return None, self.kind.kept(raw)
        trimmed = self.kind.trim(raw)
        return trimmed, self.kind.view(trimmed)

    def put(self, raw: Manifest) -> tuple[O | None, O]:
        """Store an object as it came from the API; return what was there before and what is there now."""
        return self.put_entry(self.read(raw))

    def put_entry(self, entry: Entry[O]) -> tuple[O | None, O]:
        """Store an object that was read; return what was there before and what is there now."""
        raw, view = entry
        key = view.key
        old = self._views.get(key)
        self._views[key] = view
        if raw is not None:
            self._packed.pop(key, None)
            self._keep_raw(key, raw)
        for name, values in self._indexes.items():
            before, now = [] if old is None else [*values(old)], [*values(view)]
            if before != now:
                self._unindex(name, key, before)
                self._index(name, key, now)
        return old, view

    def remove(self, key: str) -> O | None:
        view = self._views.pop(key, None)
        if view is None:
            return None
        self._raw.pop(key, None)
        self._packed.pop(key, None)
        for name, values in self._indexes.items():
            self._unindex(name, key, values(view))
        return view

    def _keep_raw(self, key: str, raw: Manifest) -> None:
        self._raw.pop(key, None)
        self._raw[key] = raw
        if len(self._raw) > MOST_UNPACKED:
            self._pack_oldest()

    def _pack_oldest(self) -> None:
        oldest = next(iter(self._raw))
        self._packed[oldest] = self._packer.pack(orjson.dumps(self._raw.pop(oldest)))

    @property
    def is_packing_due(self) -> bool:
        """Whether more objects are kept as they came than were used of late."""
        return len(self._raw) > UNPACKED

    def pack(self, most: int) -> bool:
        """Pack some of those that are due; tell whether more are."""
        for _ in range(min(most, len(self._raw) - UNPACKED)):
            self._pack_oldest()
        return self.is_packing_due

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
