"""The committed head of one cluster: all its objects, and the changes that are still remembered."""

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from fleetqueue.embedded.apiserver.storage import keys, refusals
from fleetqueue.embedded.apiserver.storage.collection import Collection
from fleetqueue.embedded.apiserver.storage.history import History
from fleetqueue.embedded.apiserver.storage.interface import Change, Entry, Page
from fleetqueue.embedded.apiserver.storage.log import Row

FIRST_REVISION: Final = 1
"""The revision of a cluster in which nothing has happened yet: 0 has another meaning in requests."""


class State:
    def __init__(self) -> None:
        self.revision = FIRST_REVISION
        self.compacted = 0
        self.history = History()
        """The changes of all kinds."""
        self._collections: defaultdict[str, Collection] = defaultdict(Collection)

    def find(self, key: str) -> Entry | None:
        collection = self._collections.get(keys.collection_of(key))
        return collection.entries.get(key) if collection is not None else None

    def page(self, prefix: str, after: str, limit: int, at: int | None) -> Page:
        revision = self.revision if at is None else at
        if revision > self.revision:
            raise refusals.not_reached(revision, self.revision)
        if revision < self.compacted:
            raise refusals.list_too_old()
        entries: list[Entry] = []
        remaining = 0
        for collection in self._selected(prefix):
            left = limit - len(entries) if limit else sys.maxsize
            found, more = collection.page(prefix, after, left, at)
            entries += found
            remaining += more
        return Page(entries, revision, remaining)

    def history_of(self, prefix: str) -> History:
        """Return the smallest history that has everything with this prefix."""
        if (known := self._collections.get(prefix)) is not None:
            return known.history
        collection = keys.collection_of(prefix)
        return self._collections[collection].history if collection else self.history

    def apply(self, change: Change) -> None:
        if change.previous is not None:
            change.previous.forget_encoded()  # it is remembered for minutes, and its JSON takes as much again
        self._collections[keys.collection_of(change.key)].apply(change)
        self.history.append(change)
        self.revision = change.revision

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
            collection.put(_entry(row, row.json))

    def _selected(self, prefix: str) -> Iterable[Collection]:
        name = keys.collection_of(prefix)
        if name:
            return [self._collections[name]] if name in self._collections else []
        return [self._collections[name] for name in sorted(self._collections) if name.startswith(prefix)]


def _change(row: Row, live: Entry | None) -> Change:
    if row.json is not None:
        return Change("ADDED" if live is None else "MODIFIED", _entry(row, row.json), live)
    if live is None:
        raise ValueError(f"the log deletes {row.key} at revision {row.revision}, but it was not there")
    return Change("DELETED", Entry.of(row.key, live.object, row.revision), live)


def _entry(row: Row, json: bytes) -> Entry:
    return Entry(row.key, orjson.loads(json), row.revision, json)
