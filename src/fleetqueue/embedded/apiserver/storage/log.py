"""What a storage needs of its log, and the log of a cluster that is forgotten when its process ends."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from fleetqueue.embedded.apiserver.storage.interface import StorageChange


class LogError(Exception):
    """The log cannot be opened."""


class Row(NamedTuple):
    """One change as a log keeps it."""

    revision: int
    key: str
    json: bytes | None
    """The object; None of a deleted one."""


class LogContent(NamedTuple):
    """What a log has kept."""

    rows: Sequence[Row] = ()
    """In the order of revisions: all behind the compacted one, and up to it at least the newest of each object."""
    compacted: int = 0


class LogObserver(Protocol):
    """Is informed which changes are committed or lost."""

    def committed(self, revision: int) -> None:
        """All changes up to this revision are safe."""
        ...

    def failed(self, error: BaseException) -> None:
        """All changes that were appended and not committed are lost."""
        ...


class StorageLog(Protocol):
    keeps: bool
    """Whether it needs the JSON of objects."""

    async def open(self, listener: LogObserver) -> LogContent: ...

    def append(self, change: StorageChange) -> None:
        """Take a change; the observer is informed of its commit, at once or later, in order."""
        ...

    async def compact(self, revision: int, unseen: Sequence[int]) -> None:
        """Remember what was compacted, and drop the rows of these revisions.

        Of one object older rows come before newer ones. They are dropped in this order, so that whatever interrupts
        it, the newest row of an object, or of its deletion, outlives the others.
        """
        ...

    async def close(self) -> None: ...


class MemoryLog:
    """Keeps nothing; a change is committed within the call that brings it, so virtual time works."""

    keeps = False

    async def open(self, listener: LogObserver) -> LogContent:
        self._committed: Callable[[int], None] = listener.committed
        return LogContent()

    def append(self, change: StorageChange) -> None:
        self._committed(change.revision)

    async def compact(self, revision: int, unseen: Sequence[int]) -> None:
        pass

    async def close(self) -> None:
        pass
