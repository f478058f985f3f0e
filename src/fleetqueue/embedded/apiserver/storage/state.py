"""The committed head of one cluster: all its objects, and the changes that are still remembered."""

import sys
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import orjson

from fleetqueue.api.packing import Packer
from fleetqueue.embedded.apiserver.storage import keys, refusals
from fleetqueue.embedded.apiserver.storage.history import History
from fleetqueue.embedded.apiserver.storage.interface import StorageChange, StorageEntry, StoragePage
from fleetqueue.embedded.apiserver.storage.log import Row

FIRST_REVISION: Final = 1
"""The revision of a cluster in which nothing has happened yet: 0 has another meaning in requests."""
UNPACKED: Final = 512
"""How many entries have their objects at hand. One whose turn has come too early is unpacked by the next who reads it,
in some 50 µs; each further one costs 2 to 10 kB in every cluster."""
MOST_UNPACKED: Final = 16_384
"""How many entries wait to be packed at most: what a burst of some hundred jobs writes. Then each write packs one."""


class UnpackedEntries:
    """The entries that were written or unpacked last; those before are packed, or due to be."""

    def __init__(self) -> None:
        self._entries: deque[StorageEntry] = deque()
        self._packers: defaultdict[str, Packer] = defaultdict(Packer)
        self._add = self.add  # one for all packed entries

    def add(self, entry: StorageEntry) -> None:
        self._entries.append(entry)
        if len(self._entries) > MOST_UNPACKED:
            self._pack_oldest()

    @property
    def are_due(self) -> bool:
        """Whether any are to be packed."""
        return len(self._entries) > UNPACKED

    def pack(self, most: int) -> bool:
        """Pack some of those that are due; tell whether more are."""
        for _ in range(min(most, len(self._entries) - UNPACKED)):
            self._pack_oldest()
        return self.are_due

    def _pack_oldest(self) -> None:
        oldest = self._entries.popleft()
        oldest.pack(self._packers[keys.collection_of(oldest.key)], self._add)


class Collection:
    """The committed objects of one kind in the order of their keys, now and at every remembered revision."""

    def __init__(self, entries: dict[str, StorageEntry]) -> None:
        """Take where the objects of all kinds are; no two have one key."""
        self.entries = entries
        self.history = History()
        self._keys: list[str] = []

    def put(self, entry: StorageEntry) -> None:
        if entry.key not in self.entries:
            insort(self._keys, entry.key)
        self.entries[entry.key] = entry

    def remove(self, key: str) -> None:
        if self.entries.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]

    def apply(self, change: StorageChange) -> None:
        if change.type == "DELETED":
            self.remove(change.entry.key)
        else:
            self.put(change.entry)
        self.history.append(change)

    def page(self, prefix: str, after: str, limit: int, at: int | None = None) -> tuple[Sequence[StorageEntry], int]:
        """Return the first entries behind a key, and how many more there are."""
        undone = self._undone(prefix, after, at) if at is not None else {}
        if undone:
            return self._page_then(undone, prefix, after, limit)
        first, end = self._range(prefix, after)
        chosen = self._keys[first : min(first + limit, end)]
        return [self.entries[key] for key in chosen], end - first - len(chosen)

    def _page_then(
        self, undone: Mapping[str, StorageEntry | None], prefix: str, after: str, limit: int
    ) -> tuple[Sequence[StorageEntry], int]:
        """Show what was there before some changes; no more keys are looked at than the page can need."""
        first, end = self._range(prefix, after)
        near = self._keys[first : min(first + limit + len(undone), end)]
        then = {key: self.entries[key] for key in near if key not in undone}
        then |= {key: entry for key, entry in undone.items() if entry is not None}
        chosen = sorted(then)[:limit]
        count = end - first + sum((previous is not None) - (key in self.entries) for key, previous in undone.items())
        return [then[key] for key in chosen], count - len(chosen)

    def _undone(self, prefix: str, after: str, revision: int) -> dict[str, StorageEntry | None]:
        """Return what objects were that have changed since; None if they were not there."""
        undone: dict[str, StorageEntry | None] = {}
        for change in self.history.since(revision):
            if change.key > after and change.key.startswith(prefix):
                undone.setdefault(change.key, change.previous)
        return undone

    def _range(self, prefix: str, after: str) -> tuple[int, int]:
        first = bisect_right(self._keys, after) if after > prefix else bisect_left(self._keys, prefix)
        behind = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return first, max(first, bisect_left(self._keys, behind, first))


class ClusterState:
    def __init__(self) -> None:
        self.revision = FIRST_REVISION
        self.compacted = 0
        self.history = History()
        """The changes of all kinds."""
        self.unpacked = UnpackedEntries()
        self._entries: dict[str, StorageEntry] = {}
        self._collections: defaultdict[str, Collection] = defaultdict(lambda: Collection(self._entries))

    def find(self, key: str) -> StorageEntry | None:
        return self._entries.get(key)

    def page(self, prefix: str, after: str, limit: int, at: int | None) -> StoragePage:
        revision = self.revision if at is None else at
        if revision > self.revision:
            raise refusals.not_reached(revision, self.revision)
        if revision < self.compacted:
            raise refusals.list_too_old()
        entries: list[StorageEntry] = []
        remaining = 0
        for collection in self._selected(prefix):
            left = limit - len(entries) if limit else sys.maxsize
            page_entries, more = collection.page(prefix, after, left, at)
            entries += page_entries
            remaining += more
        return StoragePage(entries, revision, remaining)

    def history_of(self, prefix: str) -> History:
        """Return the smallest history that has everything with this prefix."""
        if (known := self._collections.get(prefix)) is not None:
            return known.history
        collection = keys.collection_of(prefix)
        return self._collections[collection].history if collection else self.history

    def apply(self, change: StorageChange) -> None:
        entry = change.entry
        if change.previous is not None:
            change.previous.forget_encoded()  # it is remembered for minutes, and its JSON takes as much again
        self._collections[keys.collection_of(entry.key)].apply(change)
        self.history.append(change)
        self.unpacked.add(entry)
        self.revision = entry.revision

    def forget(self, revision: int) -> Sequence[int]:
        """Forget the changes up to a revision; return the revisions of versions that nobody can see any more.

        Of one object older revisions stand before newer ones, as the log demands.
        """
        self.compacted = max(self.compacted, min(revision, self.revision))
        for collection in self._collections.values():
            collection.history.forget(self.compacted)
        unseen: list[int] = []
        for change in self.history.forget(self.compacted):
            if change.previous is not None:
                unseen.append(change.previous.revision)
            if change.type == "DELETED":
                unseen.append(change.revision)
        return unseen

    def restore(self, rows: Iterable[Row], compacted: int) -> Sequence[int]:
        """Build all up again from a log; return the revisions of rows that it need not keep."""
        self.compacted = compacted
        self.revision = max(FIRST_REVISION, compacted)
        needless: list[int] = []
        for row in rows:
            live = self.find(row.key)
            if row.revision > compacted:
                self.apply(_change(row, live))
                continue
            if live is not None:
                needless.append(live.revision)
            self._put_back(row, needless)
        return needless

    def _put_back(self, row: Row, needless: list[int]) -> None:
        collection = self._collections[keys.collection_of(row.key)]
        if row.json is None:
            collection.remove(row.key)
            needless.append(row.revision)
        else:
            entry = _entry(row, row.json)
            collection.put(entry)
            self.unpacked.add(entry)

    def _selected(self, prefix: str) -> Iterable[Collection]:
        name = keys.collection_of(prefix)
        if name:
            return [self._collections[name]] if name in self._collections else []
        return [self._collections[name] for name in sorted(self._collections) if name.startswith(prefix)]


def _change(row: Row, live: StorageEntry | None) -> StorageChange:
    if row.json is not None:
        return StorageChange("ADDED" if live is None else "MODIFIED", _entry(row, row.json), live)
    if live is None:
        raise ValueError(f"the log deletes {row.key} at revision {row.revision}, but it was not there")
    return StorageChange("DELETED", StorageEntry.of(row.key, live.object, row.revision), live)


def _entry(row: Row, json: bytes) -> StorageEntry:
    return StorageEntry(row.key, orjson.loads(json), row.revision, json)
