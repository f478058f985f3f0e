"""The committed objects of one kind in the order of their keys, now and at every remembered revision."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence

from fleetqueue.embedded.apiserver.storage.history import History
from fleetqueue.embedded.apiserver.storage.interface import Change, Entry


class Collection:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.history = History()
        self._keys: list[str] = []

    def put(self, entry: Entry) -> None:
        if entry.key not in self.entries:
            insort(self._keys, entry.key)
        self.entries[entry.key] = entry

    def remove(self, key: str) -> None:
        if self.entries.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]

    def apply(self, change: Change) -> None:
        if change.type == "DELETED":
            self.remove(change.key)
        else:
            self.put(change.entry)
        self.history.append(change)

    def page(self, prefix: str, after: str, limit: int, at: int | None = None) -> tuple[Sequence[Entry], int]:
        """Return the first entries behind a key, and how many more there are."""
        undone = self._undone(prefix, after, at) if at is not None else {}
        if undone:
            return self._page_then(undone, prefix, after, limit)
        first, end = self._range(prefix, after)
        chosen = self._keys[first : min(first + limit, end)]
        return [self.entries[key] for key in chosen], end - first - len(chosen)

    def _page_then(
        self, undone: Mapping[str, Entry | None], prefix: str, after: str, limit: int
    ) -> tuple[Sequence[Entry], int]:
        """Show what was there before some changes; no more keys are looked at than the page can need."""
        first, end = self._range(prefix, after)
        near = self._keys[first : min(first + limit + len(undone), end)]
        then = {key: self.entries[key] for key in near if key not in undone}
        then |= {key: entry for key, entry in undone.items() if entry is not None}
        chosen = sorted(then)[:limit]
        count = end - first + sum((was is not None) - (key in self.entries) for key, was in undone.items())
        return [then[key] for key in chosen], count - len(chosen)

    def _undone(self, prefix: str, after: str, revision: int) -> dict[str, Entry | None]:
        """Return what objects were that have changed since; None if they were not there."""
        undone: dict[str, Entry | None] = {}
        for change in self.history.since(revision):
            if change.key > after and change.key.startswith(prefix):
                undone.setdefault(change.key, change.previous)
        return undone

    def _range(self, prefix: str, after: str) -> tuple[int, int]:
        first = bisect_right(self._keys, after) if after > prefix else bisect_left(self._keys, prefix)
        behind = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return first, max(first, bisect_left(self._keys, behind, first))
