"""Get, list and watch: which versions of which objects a reader sees."""

from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.registry import continue_tokens
from fleetqueue.embedded.apiserver.registry.continue_tokens import Expired
from fleetqueue.embedded.apiserver.registry.list_options import EXACT, ListOptions, Wanted
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.storage.interface import Storage, StorageChange, StorageEntry, StoragePage

BOOKMARK_SECONDS: Final = 60.0
LAST_BOOKMARK_SECONDS: Final = 2.0
"""How long before the end of a watch its last bookmark comes."""
WATCH_SECONDS: Final = (1800.0, 3600.0)
"""How long a watch goes on that does not say."""


class Listed(NamedTuple):
    entries: Sequence[StorageEntry]
    revision: int
    token: str = ""
    remaining: int | None = None


class ServedEvent(NamedTuple):
    """One line of a watch; a bookmark has a revision and no entry."""

    type: str
    entry: StorageEntry | None = None
    revision: int = 0
    ends_initial_events: bool = False


class Reading:
    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    async def get(self, served: Served, namespace: str, name: str, revision: int | None = None) -> StorageEntry:
        if revision:
            await self.storage.reached(revision)
        try:
            return served.as_served(self.storage.get(served.key(namespace, name)))
        except errors.NotFound:
            raise served.not_found(name) from None

    async def list(self, served: Served, namespace: str, options: ListOptions) -> Listed:
        """Return one page; its token is for the next one, at the same revision."""
        prefix = served.prefix(namespace)
        if options.token:
            at, after = continue_tokens.read(options.token, prefix)
            if options.revision:
                why = "specifying resource version is not allowed when using continue"
                raise errors.BadRequest(why, reason="BadRequest")
            return self._page(served, prefix, options, after, at)
        at = None
        if options.revision:
            await self.storage.reached(options.revision)
            if options.match == EXACT or (not options.match and options.limit):
                at = options.revision
        if options.name and namespace and at is None:
            return self._only(served, served.key(namespace, options.name), options)
        return self._page(served, prefix, options, "", at)

    def _only(self, served: Served, key: str, options: ListOptions) -> Listed:
        try:
            entry = served.as_served(self.storage.get(key))
        except errors.NotFound:
            return Listed((), self.storage.revision)
        return Listed([entry] if _is_wanted(options.wants, entry) else [], self.storage.revision)

    def _page(self, served: Served, prefix: str, options: ListOptions, after: str, at: int | None) -> Listed:
        # Where any state will do, all of it is at hand, and a limit would only make more work.
        wants, limit = options.wants, 0 if options.revision == 0 else options.limit
        if wants is None:
            page = self._part(served, prefix, after, limit, at)
            remaining = page.remaining if page.remaining else None
            token = continue_tokens.write(page.entries[-1].key, prefix, page.revision) if remaining else ""
            return Listed(page.entries, page.revision, token, remaining)
        page = self._part(served, prefix, after, 0, at)
        entries = list(islice((entry for entry in page.entries if wants(entry.object)), limit or None))
        # A page that is full says that more may come, whether or not it will be wanted.
        if not limit or len(entries) < limit or entries[-1] is page.entries[-1]:
            return Listed(entries, page.revision)
        return Listed(entries, page.revision, continue_tokens.write(entries[-1].key, prefix, page.revision))

    def _part(self, served: Served, prefix: str, after: str, limit: int, at: int | None) -> StoragePage:
        try:
            return _shown(served, self.storage.list(prefix, after=after, limit=limit, at=at))
        except errors.Gone as error:
            if not after:
                raise
            raise Expired(after, prefix) from error

    async def watch(self, served: Served, namespace: str, options: ListOptions) -> AsyncIterator[ServedEvent]:
        """Yield events, from the requested revision on, until the time is over."""
        prefix = served.prefix(namespace)
        deadline = clock.monotonic() + (options.timeout or clock.between(*WATCH_SECONDS))
        since, initial = self._start(served, prefix, options)
        watch = self.storage.watch(prefix, since=since)
        for entry in initial:
            yield ServedEvent("ADDED", entry)
        if options.initial_events and options.bookmarks:
            yield ServedEvent("BOOKMARK", revision=since, ends_initial_events=True)
        next_bookmark = clock.monotonic() + BOOKMARK_SECONDS
        last_bookmark = deadline - LAST_BOOKMARK_SECONDS
        now = clock.monotonic()
        while now < deadline:
            due = min(next_bookmark, deadline) if options.bookmarks else deadline
            for change in await watch.read(until=due):
                shown = change if served.from_store is None else _turned(served, change)
                if (event := _event(shown, options.wants)) is not None:
                    yield event
            now = clock.monotonic()
            if options.bookmarks and now >= next_bookmark:
                yield ServedEvent("BOOKMARK", revision=watch.revision)
                next_bookmark = (
                    last_bookmark if now < last_bookmark <= now + BOOKMARK_SECONDS else now + BOOKMARK_SECONDS
                )

    def _start(self, served: Served, prefix: str, options: ListOptions) -> tuple[int, Sequence[StorageEntry]]:
        """Return the revision after which changes are sent, and what is sent as added before."""
        if not options.initial_events and (options.revision or options.initial_events is False):
            return options.revision or self.storage.revision, ()
        page = _shown(served, self.storage.list(prefix))
        return page.revision, [entry for entry in page.entries if _is_wanted(options.wants, entry)]


def _shown(served: Served, page: StoragePage) -> StoragePage:
    """Return a page with its entries in the version of a resource."""
    return page if served.from_store is None else page._replace(entries=[served.as_served(one) for one in page.entries])


def _turned(served: Served, change: StorageChange) -> StorageChange:
    """Return a change with its entries in the version of a resource."""
    previous = None if change.previous is None else served.as_served(change.previous)
    return change._replace(entry=served.as_served(change.entry), previous=previous)


def _event(change: StorageChange, wants: Wanted | None) -> ServedEvent | None:
    """Say what a change means to who selects only some: an object may come into sight, or go out of it."""
    if wants is None:
        return ServedEvent(change.type, change.entry)
    is_before = change.previous is not None and wants(change.previous.object)
    is_now = change.type != "DELETED" and wants(change.entry.object)
    if is_before and is_now:
        return ServedEvent("MODIFIED", change.entry)
    if is_now:
        return ServedEvent("ADDED", change.entry)
    if is_before:
        assert change.previous is not None
        gone = change.entry if change.type == "DELETED" else _at(change.previous, change.revision)
        return ServedEvent("DELETED", gone)
    return None


def _at(entry: StorageEntry, revision: int) -> StorageEntry:
    """Return the last version that was in sight, with the revision at which it went out of it."""
    return StorageEntry.of(entry.key, entry.object, revision)


def _is_wanted(wants: Wanted | None, entry: StorageEntry) -> bool:
    return wants is None or wants(entry.object)
