"""The log of a cluster in a SQLite file: one row for each change, many rows in one commit.

Changes of one loop turn are committed together; those that come meanwhile gather for the next commit. A thread does the
writing, because an fsync takes longer than everything else; one thread may serve the files of several clusters.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar, TypeVarTuple

from fleetqueue.embedded.apiserver.storage.interface import StorageChange
from fleetqueue.embedded.apiserver.storage.log import LogContent, LogError, LogObserver, Row

FORMAT: Final = 1
"""The layout of the file, in its `user_version`; 0 is a new file."""

ROWS_AT_ONCE: Final = 500
"""How many rows a compaction deletes in one commit: writers wait behind it, here for about two milliseconds."""

SCHEMA: Final = f"""
BEGIN;
CREATE TABLE changes (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, object BLOB);
CREATE TABLE compaction (revision INTEGER NOT NULL);
INSERT INTO compaction VALUES (0);
PRAGMA user_version = {FORMAT};
COMMIT;
"""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def writer_thread() -> Executor:
    """Start the one thread that writes for a group of clusters; shut it down after their storages are closed."""
    return ThreadPoolExecutor(1, thread_name_prefix="storage")


class SqliteLog:
    keeps = True

    def __init__(self, path: Path, writer: Executor) -> None:
        self._path = path
        self._writer = writer
        self._rows: list[Row] = []
        self._is_committing = False
        self._unseen: deque[int] = deque()
        self._compacting = asyncio.Lock()

    async def open(self, listener: LogObserver) -> LogContent:
        self._listener = listener
        self._connection, kept = await self._in_thread(_open, self._path)
        return kept

    def append(self, change: StorageChange) -> None:
        json = None if change.type == "DELETED" else change.entry.json
        self._rows.append(Row(change.revision, change.key, json))
        if not self._is_committing:
            self._is_committing = True
            asyncio.get_running_loop().call_soon(self._commit)

    async def compact(self, revision: int, unseen: Sequence[int]) -> None:
        # What an earlier compaction could not delete stays in front: a row must not go before the older ones of its
        # object, or those would be there again at the next start.
        self._unseen.extend(unseen)
        async with self._compacting:
            await self._in_thread(self._execute, "UPDATE compaction SET revision = ?", [(revision,)])
            while rows := [(unseen,) for unseen in islice(self._unseen, ROWS_AT_ONCE)]:
                await self._in_thread(self._execute, "DELETE FROM changes WHERE revision = ?", rows)
                for _ in rows:
                    self._unseen.popleft()

    async def close(self) -> None:
        async with self._compacting:
            await self._in_thread(self._connection.close)

    def _commit(self) -> None:
        rows, self._rows = self._rows, []
        try:
            future = self._in_thread(self._execute, "INSERT INTO changes VALUES (?, ?, ?)", rows)
        except RuntimeError as error:  # the writer thread was shut down too early
            self._commit_failed(error)
        else:
            future.add_done_callback(lambda future: self._commit_ended(rows[-1].revision, future))

    def _commit_ended(self, revision: int, future: asyncio.Future[None]) -> None:
        error = RuntimeError("the writer was stopped") if future.cancelled() else future.exception()
        if error is not None:
            self._commit_failed(error)
            return
        self._listener.committed(revision)
        if self._rows:
            # Soon, not now: clients whose change was just committed often send the next one.
            asyncio.get_running_loop().call_soon(self._commit)
        else:
            self._is_committing = False

    def _commit_failed(self, error: BaseException) -> None:
        self._rows.clear()  # they were compared with what is lost
        self._is_committing = False
        self._listener.failed(error)

    def _execute(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with self._connection as connection:  # commits in the end, or rolls back
            connection.execute("BEGIN")
            connection.executemany(statement, rows)

    def _in_thread(self, work: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._writer, work, *args)


def _open(path: Path) -> tuple[sqlite3.Connection, LogContent]:
    try:
        connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise LogError(f"{path}: {error}; is its folder there and writable?") from error
    try:
        _prepare(connection)
        return connection, _read(connection)
    except sqlite3.Error as error:
        connection.close()
        hint = "does another process use it?" if "locked" in str(error) else "is it a file of this program?"
        raise LogError(f"{path}: {error}; {hint}") from error
    except LogError as error:
        connection.close()
        raise LogError(f"{path}: {error}") from error


def _prepare(connection: sqlite3.Connection) -> None:
    # Exclusive: two processes that wrote into one file would give each revision twice.
    for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {setting}")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        connection.executescript(SCHEMA)
    elif version != FORMAT:
        raise LogError(f"its format is {version}, this version of fleetqueue reads {FORMAT}")


def _read(connection: sqlite3.Connection) -> LogContent:
    (compacted,) = connection.execute("SELECT revision FROM compaction").fetchone()
    rows = connection.execute("SELECT revision, key, object FROM changes ORDER BY revision")
    return LogContent([Row(*row) for row in rows], compacted)
