"""Follow one kind on one cluster: a store that is right, and a call for every change.

The informer lists once and then watches. What it promises: handlers see every object that exists when they subscribe
or appears later, and every deletion, even one that happened while the watch was broken (a new list is compared with
the store). What it does not promise: every version in between.

Each rule has its bug in some other client:
- a stream that ends, cleanly or not, is opened again after a jittered, growing delay; the delay starts anew only
  after the watch gave an event;
- the next watch begins after the last event that was seen, not where the broken one began, which would turn the
  store back in time;
- 410, as an answer or inside a stream, means a new list, never a watch from a guessed version;
- what a list sends before its end counts only as a whole; each object is trimmed as it arrives, and one that the
  store has already is not kept twice, so that a list costs little more than what stays of it;
- whoever else lives in this loop has a turn after every few objects of a list, however long it is: a lease is renewed
  there too;
- bookmarks are always asked for, so that a quiet watch does not grow stale;
- silence longer than several bookmarks are apart means that the connection is dead;
- 401, 403 and 404 are not final: a role or a CRD may still come. The informer keeps asking and says that it is not
  synced.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Generic, NamedTuple

import msgspec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.meta import O, key_of
from fleetqueue.api.packing import PackingTimer
from fleetqueue.api.requests import WatchEvent
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.store import Entry, Store

WATCH_SECONDS: Final = (1800, 3600)
"""How long the server keeps a watch open; drawn anew for each, so that they do not all end at once. Every end costs a
request for each kind on each worker, also when nothing happens."""
SILENCE_SECONDS: Final = 300
"""Without a byte for so long, a stream counts as dead. API servers send a bookmark about every minute."""
FIRST_DELAY, LAST_DELAY = 0.5, 30.0
PAGE: Final = 100
"""How many objects a page of a list has, where the server cannot stream it. A page is decoded whole: 100 large objects
are 3 MB on the way and some 15 MB in memory."""
PIECE: Final = 50
"""After how many objects of a list others have a turn; each takes about a fifth of a millisecond."""
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

log = Log("informer")

Handler = Callable[[O | None, O | None], None]
"""Called with what was and what is; None where there was or is nothing."""
Facts = Callable[[O], Any]
"""What of an object is looked at."""
Listed = dict[str, Entry[O] | None]
"""A list as far as it has come; None stands for what the store has already, or for what cannot be read."""


class WatchScope(NamedTuple):
    """Which objects of a kind are followed; where nothing is said, all of them."""

    namespace: str = ""
    labels: str = ""
    """A label selector."""
    fields: str = ""
    """A field selector."""


EVERYTHING: Final = WatchScope()


class Informer(Generic[O]):
    def __init__(self, client: Client, kind: type[O], scope: WatchScope = EVERYTHING, *, cluster: str = "") -> None:
        self.kind = kind
        self.scope = scope
        self.store = Store(kind)
        self._packing = PackingTimer(self.store.pack)
        self.synced = asyncio.Event()
        self.problem = ""
        """Why the store may be out of date; empty while the watch is well."""
        self._client = client
        self._cluster = cluster
        self._handlers: list[tuple[Handler[O], Facts[O] | None]] = []
        self._streaming_lists = True
        self._delay = FIRST_DELAY
        self._version = ""
        """Up to where everything was seen; empty where a new list is needed."""

    def subscribe(self, handler: Handler[O], facts: Facts[O] | None = None) -> None:
        """Tell a handler of all there is, and then of every change, or of those that change these facts."""
        self._handlers.append((handler, facts))
        for view in self.store.all():
            handler(None, view)

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        while True:
            patience = 0.0
            try:
                await self._follow()
            except errors.Gone:
                self._version = ""
            except (errors.ApiError, errors.Unreachable) as error:
                patience = self._failed(error)
            await asyncio.sleep(max(clock.jitter(self._delay), patience))
            self._delay = min(self._delay * 2, LAST_DELAY)

    async def _follow(self) -> None:
        """Watch from the version up to which all was seen, or list first where there is none."""
        if not self._version and self._streaming_lists:
            try:
                return await self._watch_list()
            except (errors.BadRequest, errors.Invalid):
                self._streaming_lists = False  # an older server, or one with the feature off
        if not self._version:
            await self._list()
        await self._watch()

    async def _list(self) -> None:
        namespace, labels, fields = self.scope
        listed: Listed[O] = {}
        version = ""
        async for page in self._client.pages(self.kind.resource, namespace, labels=labels, fields=fields, limit=PAGE):
            for raw in page.items:
                await self._enter(listed, raw)
            version = page.resource_version
        await self._replace(listed)
        self._version = version

    async def _watch(self) -> None:
        async with self._open(resourceVersion=self._version) as events:
            self._well()
            async for event in events:
                self._take(event)

    async def _watch_list(self) -> None:
        """List and watch in one stream; the server sends what there is, then a bookmark, then what changes.

        What there is may change while it is sent, so that it counts only as a whole, when the bookmark has come.
        """
        initial: Listed[O] | None = {}
        async with self._open(sendInitialEvents="true", resourceVersionMatch="NotOlderThan") as events:
            async for event in events:
                if initial is None:
                    self._take(event)
                elif _ends_initial_events(event):
                    await self._replace(initial)
                    self._take(event)
                    self._well()
                    initial = None
                elif event.type in ("ADDED", "MODIFIED"):
                    await self._enter(initial, event.object)
                elif event.type == "DELETED":
                    initial.pop(_key(event.object), None)

    def _open(self, **query: str) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        namespace, labels, fields = self.scope
        seconds = clock.between(*WATCH_SECONDS)
        query |= {"allowWatchBookmarks": "true", "timeoutSeconds": str(int(seconds))}
        if labels:
            query["labelSelector"] = labels
        if fields:
            query["fieldSelector"] = fields
        return self._client.watch(self.kind.resource, namespace, query=query, silence=SILENCE_SECONDS)

    def _take(self, event: WatchEvent) -> None:
        self._delay = FIRST_DELAY
        if event.type in ("ADDED", "MODIFIED"):
            entry = self._read(event.object)
            if entry is not None:
                self._keep(entry)
        elif event.type == "DELETED":
            self._remove(_key(event.object))
        self._version = str(event.object["metadata"].get("resourceVersion") or self._version)

    async def _enter(self, listed: Listed[O], raw: Manifest) -> None:
        """Take an object of a list that has not ended."""
        key = _key(raw)
        known = self.store.get(key)
        is_known = known is not None and known.metadata.resource_version == raw["metadata"].get("resourceVersion")
        listed[key] = None if is_known else self._read(raw)
        if len(listed) % PIECE == 0:
            await asyncio.sleep(0)

    async def _replace(self, listed: Listed[O]) -> None:
        """Take a whole list: tell of everything new or changed, and of what has gone meanwhile."""
        for number, entry in enumerate(listed.values(), 1):
            if entry is not None:
                self._keep(entry)
            if number % PIECE == 0:
                await asyncio.sleep(0)
        for number, key in enumerate(sorted(self.store.keys() - listed.keys()), 1):
            self._remove(key)
            if number % PIECE == 0:
                await asyncio.sleep(0)

    def _read(self, raw: Manifest) -> Entry[O] | None:
        try:
            return self.store.read(raw)
        except msgspec.ValidationError as error:
            # One odd object, perhaps a worker's, must not blind us to all others; it stays as it was last seen.
            log.warning("object cannot be read", kind=self.kind.resource.kind, key=_key(raw), error=error)
            return None

    def _keep(self, entry: Entry[O]) -> None:
        self._tell(*self.store.put_entry(entry))
        if self.store.is_packing_due:
            self._packing.start()

    def _remove(self, key: str) -> None:
        old = self.store.remove(key)
        if old is not None:
            self._tell(old, None)

    def _tell(self, old: O | None, new: O | None) -> None:
        known: dict[Facts[O], bool] = {}  # many look at the same facts
        for handler, facts in self._handlers:
            if facts is None:
                handler(old, new)
                continue
            if facts not in known:
                known[facts] = is_news(facts, old, new)
            if known[facts]:
                handler(old, new)

    def _failed(self, error: errors.ApiError | errors.Unreachable) -> float:
        """Say what is wrong; return how many seconds the server asks to wait."""
        self._note(str(error))
        if isinstance(error, errors.Unreachable):
            return 0.0
        if error.code < 500 and error.code != 429:
            self._version = ""
        return error.retry_after or 0.0

    def _well(self) -> None:
        if self.problem:
            log.info("watch is well again", kind=self.kind.resource.kind, cluster=self._cluster)
        self.problem = ""
        self.synced.set()

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            log.warning("watch failed", kind=self.kind.resource.kind, cluster=self._cluster, error=problem)
        self.problem = problem


def is_news(facts: Facts[O], old: O | None, new: O | None) -> bool:
    """Tell whether an object came, went, or changed in what is looked at."""
    return old is None or new is None or old.metadata.uid != new.metadata.uid or facts(old) != facts(new)


def _key(raw: Manifest) -> str:
    metadata = raw["metadata"]
    return key_of(metadata.get("namespace", ""), metadata["name"])


def _ends_initial_events(event: WatchEvent) -> bool:
    annotations = event.object["metadata"].get("annotations") or {}
    return event.type == "BOOKMARK" and annotations.get(INITIAL_EVENTS_END) == "true"
