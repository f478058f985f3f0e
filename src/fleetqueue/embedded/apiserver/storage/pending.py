"""Changes that have a revision but are not in the log yet, and those who wait for them."""

import asyncio
from collections import deque
from collections.abc import Sequence

from fleetqueue.embedded.apiserver.storage import refusals
from fleetqueue.embedded.apiserver.storage.interface import StorageChange


class PendingChanges:
    def __init__(self) -> None:
        self._changes: deque[StorageChange] = deque()
        self._newest: dict[str, StorageChange] = {}
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def last(self) -> int:
        """The revision of the last of them; 0 if there is none."""
        return self._changes[-1].revision if self._changes else 0

    def newest(self, key: str) -> StorageChange | None:
        """Return the last change of an object that is not committed."""
        return self._newest.get(key)

    def add(self, change: StorageChange) -> None:
        self._changes.append(change)
        self._newest[change.key] = change

    def take(self, revision: int) -> Sequence[StorageChange]:
        """Remove and return what is committed now."""
        taken = []
        while self._changes and self._changes[0].revision <= revision:
            change = self._changes.popleft()
            taken.append(change)
            if self._newest[change.key] is change:
                del self._newest[change.key]
        return taken

    def drop(self) -> None:
        """Forget all, since the log could not take it."""
        self._changes.clear()
        self._newest.clear()

    async def wait(self, revision: int) -> None:
        """Wait until a revision is committed, or raise why it is not.

        Each caller waits for a future of its own: cancelling it does nothing to the commit.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((revision, waiter))
        await waiter

    def wake(self, revision: int) -> None:
        """Tell those who wait for a revision up to this one that it is committed."""
        for waiter in self._ready(revision):
            waiter.set_result(None)

    def fail(self, revision: int, why: BaseException) -> None:
        """Tell those who wait for a revision up to this one that it will never be."""
        for waiter in self._ready(revision):
            error = refusals.not_stored(why)
            error.__cause__ = why
            waiter.set_exception(error)

    def _ready(self, revision: int) -> Sequence[asyncio.Future[None]]:
        waiting = [(wanted, waiter) for wanted, waiter in self._waiters if not waiter.done()]
        self._waiters = [(wanted, waiter) for wanted, waiter in waiting if wanted > revision]
        return [waiter for wanted, waiter in waiting if wanted <= revision]
