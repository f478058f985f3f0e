"""What is special about the log in a file: restarts, group commits, full disks, other processes."""

import asyncio
import sqlite3
import threading

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.storage import sqlite
from fleetqueue.embedded.apiserver.storage.log import LogError
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog
from fleetqueue.embedded.apiserver.storage.storage import Retention

from .conftest import MAPS, create, delete, key, names, told, update


def rows_in(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT revision, key FROM changes ORDER BY revision").fetchall()
    finally:
        connection.close()


@pytest.fixture
def commits(monkeypatch):
    """The rows of each statement that changed the file."""
    seen = []
    execute = SqliteLog._execute

    def watched(self, statement, rows):
        seen.append(list(rows))
        execute(self, statement, seen[-1])

    monkeypatch.setattr(SqliteLog, "_execute", watched)
    return seen


async def test_objects_and_revision_survive_a_restart(open_file):
    storage = await open_file()
    await create(storage, "a", color="red")
    await create(storage, "b")
    await update(storage, "a", color="blue")
    await delete(storage, "b")
    before = storage.list(MAPS)
    await storage.close()

    again = await open_file()

    assert again.revision == before.revision
    assert [entry.object for entry in again.list(MAPS).entries] == [entry.object for entry in before.entries]
    assert again.get(key("a")).json == before.entries[0].json


async def test_a_watch_goes_on_across_a_restart(open_file):
    storage = await open_file()
    seen = (await create(storage, "a", color="red")).revision
    await update(storage, "a", color="blue")
    last = await delete(storage, "a")
    await storage.close()

    again = await open_file()
    changes = await again.watch(MAPS, since=seen).read()

    assert told(changes) == [("MODIFIED", "a"), ("DELETED", "a")]
    assert changes[0].previous.object["data"] == {"color": "red"}
    assert changes[1].entry.object == last.object
    assert names(again.list(MAPS, at=seen)) == ["a"]


async def test_no_revision_comes_again_even_when_nothing_is_left(open_file):
    storage = await open_file()
    await create(storage, "a")
    last = (await delete(storage, "a")).revision
    await storage.compact(storage.revision)
    await storage.close()

    again = await open_file()

    assert again.revision == last
    assert (await create(again, "b")).revision == last + 1
    with pytest.raises(errors.Gone):
        again.watch(MAPS, since=last - 1)


async def test_a_compacted_file_keeps_one_row_for_each_object(open_file, tmp_path):
    storage = await open_file()
    for color in ("red", "green", "blue"):
        await create(storage, color)
        await update(storage, color, color=color)
    await delete(storage, "red")
    newest = {storage.get(key(name)).revision for name in ("green", "blue")}

    await storage.compact(storage.revision)
    await storage.close()

    assert {revision for revision, _ in rows_in(tmp_path / "cluster.db")} == newest


async def test_a_busy_cluster_compacts_its_file_by_itself(open_file, tmp_path):
    storage = await open_file(retention=Retention(events=10))
    await create(storage, "a")
    for number in range(50):
        await update(storage, "a", number=str(number))
    await storage.close()

    assert len(rows_in(tmp_path / "cluster.db")) <= 13


@pytest.mark.parametrize("done", range(5))
async def test_a_compaction_cut_short_does_no_harm(open_file, monkeypatch, tmp_path, done):
    monkeypatch.setattr(sqlite, "ROWS_AT_ONCE", 1)
    storage = await open_file()
    await create(storage, "gone")
    await update(storage, "gone", color="red")
    await delete(storage, "gone")
    await create(storage, "kept")
    calls = iter(range(done))
    execute = SqliteLog._execute

    def failing(self, statement, rows):
        if next(calls, None) is None:
            raise sqlite3.OperationalError("disk I/O error")
        execute(self, statement, rows)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteLog, "_execute", failing)
        if done < 4:
            with pytest.raises(sqlite3.OperationalError):
                await storage.compact(storage.revision)
        else:
            await storage.compact(storage.revision)
        await storage.close()
    again = await open_file()

    assert names(again.list(MAPS)) == ["kept"]
    assert again.revision == storage.revision
    await again.compact(again.revision)
    await again.close()
    assert [name for _, name in rows_in(tmp_path / "cluster.db")] == [key("kept")]


async def test_what_one_compaction_could_not_delete_the_next_one_deletes_first(open_file, monkeypatch, commits):
    storage = await open_file()
    await create(storage, "a")
    await update(storage, "a")
    failing = iter([True, False])
    watched = SqliteLog._execute

    def execute(self, statement, rows):
        if statement.startswith("DELETE") and next(failing, False):
            raise sqlite3.OperationalError("disk I/O error")
        watched(self, statement, rows)

    monkeypatch.setattr(SqliteLog, "_execute", execute)
    with pytest.raises(sqlite3.OperationalError):
        await storage.compact(storage.revision)
    await delete(storage, "a")
    first = storage.revision - 2

    await storage.compact(storage.revision)

    assert commits[-1] == [(first,), (first + 1,), (first + 2,)]


async def test_writers_of_one_turn_share_a_commit(open_file, commits):
    storage = await open_file()
    commits.clear()

    await asyncio.gather(*(create(storage, f"a{number}") for number in range(16)))

    assert [len(rows) for rows in commits] == [16]


async def test_writers_that_come_during_a_commit_share_the_next(open_file, commits):
    storage = await open_file()
    commits.clear()

    async def write(writer):
        for number in range(5):
            await create(storage, f"{writer}-{number}")

    await asyncio.gather(*(write(writer) for writer in range(16)))

    assert sum(len(rows) for rows in commits) == 80
    assert len(commits) <= 10


async def test_a_full_disk_fails_the_write_and_a_later_one_succeeds(open_file):
    storage = await open_file()
    await create(storage, "before")
    connection = storage._log._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(errors.ServerError, match="the change could not be stored: database or disk is full"):
        await create(storage, "big", text="x" * 100_000)
    assert names(storage.list(MAPS)) == ["before"]

    connection.execute("PRAGMA max_page_count = 1000000")
    await create(storage, "after", text="x" * 100_000)
    await storage.close()
    assert names((await open_file()).list(MAPS)) == ["after", "before"]


async def test_what_was_gathered_behind_a_failed_commit_is_never_written(open_file, monkeypatch):
    storage = await open_file()
    begun, gathered = threading.Event(), threading.Event()

    def failing(self, statement, rows):
        begun.set()
        gathered.wait(10)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(SqliteLog, "_execute", failing)
        first = asyncio.create_task(create(storage, "a"))
        await asyncio.to_thread(begun.wait, 10)
        second = asyncio.create_task(update(storage, "a", color="red"))
        await asyncio.sleep(0)
        gathered.set()
        results = await asyncio.gather(first, second, return_exceptions=True)
    await create(storage, "b")
    await storage.close()

    assert [type(result) for result in results] == [errors.ServerError] * 2
    assert names((await open_file()).list("/")) == ["b"]


async def test_a_writer_that_was_stopped_fails_writes_instead_of_hanging(open_file, writer):
    storage = await open_file()
    writer.shutdown()

    with pytest.raises(errors.ServerError, match="shutdown"):
        await create(storage, "a")

    storage._log._connection.close()
    storage._log.close = lambda: asyncio.sleep(0)  # the fixture closes it once more


async def test_one_thread_serves_several_files(open_file):
    first, second = await open_file("one.db"), await open_file("two.db")

    await asyncio.gather(create(first, "a"), create(second, "b"))

    assert names(first.list(MAPS)) == ["a"]
    assert names(second.list(MAPS)) == ["b"]


async def test_a_file_belongs_to_one_owner(open_file):
    await open_file()

    with pytest.raises(LogError, match=r"cluster\.db: database is locked; does another process use it\?"):
        await open_file()


async def test_a_file_of_something_else_is_refused(open_file, tmp_path):
    (tmp_path / "cluster.db").write_text("this is no database, but long enough to be taken for one" * 100)

    with pytest.raises(LogError, match="file is not a database"):
        await open_file()


async def test_a_file_of_a_later_version_is_refused(open_file, tmp_path):
    connection = sqlite3.connect(tmp_path / "cluster.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(LogError, match=r"cluster\.db: its format is 99"):
        await open_file()


async def test_a_folder_that_is_missing_is_named(open_file):
    with pytest.raises(LogError, match="is its folder there"):
        await open_file("missing/cluster.db")


async def test_every_commit_waits_for_the_disk(open_file):
    storage = await open_file()
    connection = storage._log._connection

    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
