"""Random histories against a simple model: what is listed at each revision, and what watches hand out.

Watches are cut at random and go on from their bookmark. One machine decides when commits happen and whether they fail;
the other has a real file and restarts.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage

from .conftest import MAPS, HeldLog, config_map, key, started

NAMES = st.sampled_from([("one", "a"), ("one", "b"), ("one", "c"), ("one-2", "a"), ("two", "b")])
PREFIXES = st.sampled_from([MAPS, MAPS + "one/", MAPS + "two/", "/"])


class Event(NamedTuple):
    type: str
    key: str
    revision: int
    text: str


class Seen:
    """What one client knows: where it began, and all that it was told."""

    def __init__(self, watch, prefix, since):
        self.watch = watch
        self.prefix = prefix
        self.since = since
        self.events = []


class StorageMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.storage = self.run(self.open())
        self.events = []
        """All that is committed."""
        self.states = {self.storage.revision: {}}
        """The objects at each committed revision: key to (revision, text)."""
        self.seen = []
        self.texts = iter(range(10**6))

    def run(self, work):
        return self.loop.run_until_complete(work)

    def commit(self, event):
        """Let the model know that something is committed."""
        state = dict(self.states[max(self.states)])
        if event.type == "DELETED":
            del state[event.key]
        else:
            state[event.key] = (event.revision, event.text)
        self.states[event.revision] = state
        self.events.append(event)

    def wanted(self, prefix, since):
        return [event for event in self.events if event.key.startswith(prefix) and event.revision > since]

    @rule(prefix=PREFIXES, pick=st.integers(0, 100), limit=st.integers(0, 3))
    def list_pages(self, prefix, pick, limit):
        revisions = sorted(self.states)
        at = revisions[pick % len(revisions)]
        expected = sorted((k, *v) for k, v in self.states[at].items() if k.startswith(prefix))
        if at < self.storage.compacted:
            expect_gone(lambda: self.storage.list(prefix, at=at))
            return

        found, after, remaining = [], "", 1
        while remaining:
            page = self.storage.list(prefix, after=after, limit=limit, at=at)
            found += [(e.key, e.revision, e.object["data"]["text"]) for e in page.entries]
            remaining = page.remaining
            assert remaining == len(expected) - len(found)
            assert page.revision == at
            after = page.entries[-1].key if page.entries else ""
        assert found == expected

    @rule(prefix=PREFIXES, pick=st.integers(0, 100))
    def open_watch(self, prefix, pick):
        revisions = sorted(self.states)
        since = revisions[pick % len(revisions)]
        if since < self.storage.compacted:
            expect_gone(lambda: self.storage.watch(prefix, since=since))
        else:
            self.seen.append(Seen(self.storage.watch(prefix, since=since), prefix, since))

    @precondition(lambda self: self.seen)
    @rule(pick=st.integers(0, 100), limit=st.integers(1, 3))
    def read_watch(self, pick, limit):
        seen = self.seen[pick % len(self.seen)]
        try:
            changes = self.run(seen.watch.read(limit=limit, until=0))
        except errors.Gone:
            missed = [event for event in self.events if seen.watch.revision < event.revision <= self.storage.compacted]
            assert missed, "nothing was forgotten that this watch still wanted"
            self.seen.remove(seen)
            return
        seen.events += [Event(c.type, c.key, c.revision, c.entry.object["data"]["text"]) for c in changes]
        assert seen.events == self.wanted(seen.prefix, seen.since)[: len(seen.events)]
        for change in changes:
            assert (change.previous is None) == (change.type == "ADDED")
            assert change.entry.object["metadata"]["resourceVersion"] == str(change.revision)

    @precondition(lambda self: self.seen)
    @rule(pick=st.integers(0, 100))
    def cut_and_resume_a_watch(self, pick):
        seen = self.seen[pick % len(self.seen)]
        bookmark = seen.watch.revision
        assert seen.events == [e for e in self.wanted(seen.prefix, seen.since) if e.revision <= bookmark]
        if bookmark < self.storage.compacted:
            expect_gone(lambda: self.storage.watch(seen.prefix, since=bookmark))
            self.seen.remove(seen)
        else:
            seen.watch = self.storage.watch(seen.prefix, since=bookmark)

    @rule(pick=st.integers(0, 100))
    def compact(self, pick):
        revisions = sorted(self.states)
        self.run(self.storage.compact(revisions[pick % len(revisions)]))

    @invariant()
    def readers_see_the_committed_head(self):
        newest = max(self.states)
        assert self.storage.revision == newest
        assert {e.key: e.revision for e in self.storage.list("/").entries} == {
            k: revision for k, (revision, _) in self.states[newest].items()
        }

    def teardown(self):
        for seen in self.seen:
            while self.run(self.reading(seen)):
                pass
            assert seen.events == self.wanted(seen.prefix, seen.since)
        self.run(self.end())
        self.loop.close()

    async def reading(self, seen):
        try:
            changes = await seen.watch.read(until=0)
        except errors.Gone:
            seen.events = self.wanted(seen.prefix, seen.since)
            return False
        seen.events += [Event(c.type, c.key, c.revision, c.entry.object["data"]["text"]) for c in changes]
        return bool(changes)


class HeldMachine(StorageMachine):
    """Commits happen, or fail, at random times."""

    async def open(self):
        self.log = HeldLog()
        self.pending = []
        self.given = set()
        return await ClusterStorage.open(self.log)

    async def end(self):
        if self.pending:
            self.log.fail()
            await asyncio.wait([task for _, task in self.pending])
            assert all(task.exception() for _, task in self.pending)

    @rule(name=NAMES, deletes=st.booleans())
    def write(self, name, deletes):
        where, text = key(name[1], name[0]), str(next(self.texts))
        head = self.storage.head(where)
        manifest = config_map(name[1], name[0], text=text)
        if head is None:
            kind, work = "ADDED", self.storage.create(where, manifest)
        elif deletes:
            kind, work = "DELETED", self.storage.delete(where, expected=head.revision)
            text = head.object["data"]["text"]
        else:
            kind, work = "MODIFIED", self.storage.update(where, manifest, expected=head.revision)
        task = self.run(started(work))
        revision = self.log.held[-1].revision
        assert revision not in self.given
        assert revision > max(self.states)
        self.given.add(revision)
        self.pending.append((Event(kind, where, revision, text), task))

    @precondition(lambda self: self.pending)
    @rule(count=st.integers(1, 5))
    def commit_some(self, count):
        done, self.pending = self.pending[:count], self.pending[count:]
        self.run(decided(self.log.commit, count))
        for event, task in done:
            self.commit(event)
            assert self.run(task).revision == event.revision

    @precondition(lambda self: self.pending)
    @rule()
    def fail_all(self):
        self.run(decided(self.log.fail))
        self.run(asyncio.wait([task for _, task in self.pending]))
        assert all(isinstance(task.exception(), errors.ServerError) for _, task in self.pending)
        self.pending.clear()


class FileMachine(StorageMachine):
    """The storage is closed and opened again at random times."""

    async def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.writer = writer_thread()
        return await self.open_again()

    async def open_again(self):
        return await ClusterStorage.open(SqliteLog(Path(self.folder.name) / "cluster.db", self.writer))

    async def end(self):
        await self.storage.close()
        self.writer.shutdown()
        self.folder.cleanup()

    @rule(name=NAMES, deletes=st.booleans())
    def write(self, name, deletes):
        where, text = key(name[1], name[0]), str(next(self.texts))
        head = self.storage.head(where)
        manifest = config_map(name[1], name[0], text=text)
        if head is None:
            entry = self.run(self.storage.create(where, manifest))
            self.commit(Event("ADDED", where, entry.revision, text))
        elif deletes:
            entry = self.run(self.storage.delete(where, expected=head.revision))
            self.commit(Event("DELETED", where, entry.revision, head.object["data"]["text"]))
        else:
            entry = self.run(self.storage.update(where, manifest, expected=head.revision))
            self.commit(Event("MODIFIED", where, entry.revision, text))

    @rule()
    def restart(self):
        bookmarks = [seen.watch.revision for seen in self.seen]
        self.run(self.storage.close())
        self.storage = self.run(self.open_again())
        for seen, bookmark in list(zip(self.seen, bookmarks, strict=True)):
            if bookmark < self.storage.compacted:
                self.seen.remove(seen)
            else:
                seen.watch = self.storage.watch(seen.prefix, since=bookmark)


async def decided(decide, *args):
    """Call the log within the loop, as a real one is called back."""
    decide(*args)


def expect_gone(call):
    try:
        call()
    except errors.Gone:
        return
    raise AssertionError("this should have been forgotten")


TestRandomCommits = HeldMachine.TestCase
TestRandomCommits.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestRandomRestarts = FileMachine.TestCase
TestRandomRestarts.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
