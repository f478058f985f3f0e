"""A Kubernetes API in memory: a door for tests of controllers, with faults on demand.

It checks no schema, and refuses what every API server refuses: a stale resourceVersion, another object's uid, a name
that is taken, missing or malformed. What the test itself arranges (`add`, `change`, `remove`, `apply_as`) is neither
recorded in `writes` nor stopped by faults.

Simplified: namespaces need not exist; owners are not followed (nothing is garbage collected); one version per kind.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.meta import O, Object, key_of
from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.testing.memory_patches import apply, merge_patch
from fleetqueue.testing.memory_paths import Target, resource_of, target_of
from fleetqueue.testing.memory_store import Change, MemoryStore, copied
from fleetqueue.testing.memory_verbs import MemoryVerbs
from fleetqueue.testing.memory_watch import BOOKMARK_SECONDS, INITIAL_EVENTS_END, MemoryStream, Watcher

Answer = Manifest | str | Callable[[Request], Any]
SOMEBODY = "somebody"


@dataclass(slots=True)
class Fault:
    pattern: str
    error: Exception
    times: float
    applied: bool


class MemoryApi:
    """One cluster: `Client(api)` talks to it, the test arranges objects and faults and looks at `writes`."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.store.on_change = self._spread
        self.writes: list[str] = []
        """Accepted writes, as `create multikueueconfigs/gpu` or `apply workloads/team-a/w/status`."""
        self.requests: list[str] = []
        """All that arrived, refused or not: also `get leases/ns/name`, `list workloads`, `watch workloads`."""
        self.answers: dict[str, Answer] = {}
        """Answers to `POST /apis/…/tokenreviews`, `GET /version` and the like: JSON, text, or a function."""
        self.serves_watch_lists = True
        self.seconds_per_request = 0.0
        self._verbs = MemoryVerbs(self.store)
        self._watchers: list[Watcher] = []
        self._faults: list[Fault] = []
        self._cut = ""

    # What the test arranges and looks at

    def add(self, *manifests: Manifest) -> None:
        """Put new objects there as they are, status and all, as if somebody else had made them."""
        for manifest in manifests:
            self.store.create(str(resource_of(manifest)), copied(manifest))

    def change(self, kind: type[Object], name: str, namespace: str = "", **patch: Any) -> None:
        """Merge into an object as somebody else: `change(Placement, "p", "ns", spec={"clusterSets": ["a"]})`."""
        live = self.store.get(str(kind.resource), key_of(namespace, name))
        self._verbs.put(str(kind.resource), merge_patch(live, copied(patch)), SOMEBODY)

    def apply_as(self, manager: str, kind: type[Object], name: str, namespace: str = "", **fields: Any) -> None:
        """Apply fields to an object as another manager, the status as its own part."""
        live = self.store.get(str(kind.resource), key_of(namespace, name))
        for field, value in copied(fields).items():
            owner = f"{manager} apply {'status' if field == 'status' else ''}"
            live = apply(live, {field: value}, self._verbs.owners(live), owner, force=True)
        self.store.update(str(kind.resource), key_of(namespace, name), live)

    def remove(self, kind: type[Object], name: str, namespace: str = "") -> None:
        """Delete as somebody else; finalizers still hold the object."""
        self.store.delete(str(kind.resource), key_of(namespace, name), {})

    def get(self, kind: type[O], name: str, namespace: str = "") -> O | None:
        found = self.store.find(str(kind.resource), key_of(namespace, name))
        return None if found is None else kind.view(copied(found))

    def raw(self, kind: type[Object], name: str, namespace: str = "") -> Manifest:
        found: Manifest = copied(self.store.get(str(kind.resource), key_of(namespace, name)))
        return found

    def list(self, kind: type[O]) -> list[O]:
        return [kind.view(copied(obj)) for obj in self.store.all(str(kind.resource))]

    @property
    def open_watches(self) -> int:
        return len(self._watchers)

    # Faults

    def fail_on(self, what: str, error: Exception, *, times: float = float("inf"), applied: bool = False) -> None:
        """Answer requests like `delete multikueueconfigs/gpu` (`*` stands for anything) with an error.

        With `applied` the request is carried out and only its answer is lost.
        """
        self._faults.append(Fault(what, error, times, applied))

    def cut(self, *, silently: bool = False) -> None:
        """Break every connection and refuse new ones; silently, nothing is refused and nothing ever comes back."""
        self._cut = "silent" if silently else "refused"
        for watcher in self._watchers:
            if silently:
                watcher.stream.die()
            else:
                watcher.stream.end(errors.Unreachable("connection reset"))
        self._watchers.clear()

    def heal(self) -> None:
        """End the cut and all faults."""
        self._cut = ""
        self._faults.clear()

    def compact(self) -> None:
        """Forget the past: old watches and half-read lists expire."""
        self.store.compact()
        self._verbs.forget_pages()

    def end_watches(self, error: errors.ApiError | None = None) -> None:
        """End every open watch: cleanly, or with an ERROR event."""
        for watcher in self._watchers:
            if error is not None:
                watcher.stream.send("ERROR", status_of(error))
            watcher.stream.end()
        self._watchers.clear()

    def bookmark(self) -> None:
        """Send a bookmark to every open watch."""
        for watcher in self._watchers:
            watcher.bookmark(self.store.revision)

    # The door

    async def request(self, request: Request, *, timeout: float) -> Response:
        target = target_of(request)
        what = str(target or request)
        await self._arrive(what, timeout)
        fault = self._fault(what)
        try:
            if fault and not fault.applied:
                raise fault.error
            response = self._answer(request, target)
            if fault:
                raise fault.error
        except errors.ApiError as error:
            return Response(error.code, status_of(error))
        return response

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator[MemoryStream]:
        target = target_of(request)
        await self._arrive(str(target), silence)
        fault = self._fault(str(target))
        try:
            if fault or target is None:
                raise fault.error if fault else errors.NotFound(f"{request} is not found")
            watcher = self._watch(target, request.query, MemoryStream(silence))
        except errors.ApiError as error:
            yield MemoryStream(silence, error.code, status_of(error))
            return
        pace = asyncio.create_task(self._pace(watcher))
        try:
            yield watcher.stream
        finally:
            pace.cancel()
            self._watchers = [other for other in self._watchers if other is not watcher]

    async def close(self) -> None:
        """Do nothing: nothing is held open."""

    async def _arrive(self, what: str, timeout: float) -> None:
        if self._cut == "refused":
            raise errors.Unreachable(f"{what}: connection refused")
        if self._cut or self.seconds_per_request > timeout:
            await asyncio.sleep(timeout)
            raise errors.Unreachable(f"{what}: timed out")
        await asyncio.sleep(self.seconds_per_request)
        self.requests.append(what)

    def _fault(self, what: str) -> Fault | None:
        for fault in self._faults:
            if fault.times > 0 and fnmatchcase(what, fault.pattern):
                fault.times -= 1
                return fault
        return None

    def _answer(self, request: Request, target: Target | None) -> Response:
        fixed = self.answers.get(str(request))
        if fixed is not None:
            return Response(200, copied(fixed(request) if callable(fixed) else fixed))
        if target is None:
            raise errors.NotFound("the server could not find the requested resource")
        done = copied(self._verbs.do(target, request, copied(request.body)))
        if target.verb not in ("get", "list"):
            self.writes.append(str(target))
        return Response(201 if target.verb == "create" else 200, done)

    def _watch(self, target: Target, query: Mapping[str, str], stream: MemoryStream) -> Watcher:
        since, streams_list = query.get("resourceVersion", ""), query.get("sendInitialEvents") == "true"
        if streams_list and not (self.serves_watch_lists and query.get("resourceVersionMatch") == "NotOlderThan"):
            raise errors.Invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
        watcher = Watcher(target, query, stream)
        if since.isdigit() and 0 < int(since) < self.store.compacted:
            stream.send("ERROR", status_of(errors.Gone(f"too old resource version: {since}", reason="Expired")))
            stream.end()
            return watcher
        if streams_list or since in ("", "0"):
            for obj in filter(watcher.matches, self.store.all(target.collection)):
                stream.send("ADDED", obj)
            if streams_list:
                watcher.bookmark(self.store.revision, INITIAL_EVENTS_END)
        else:
            for change in self.store.changes:
                if change.revision > int(since):
                    watcher.tell(change)
        self._watchers.append(watcher)
        return watcher

    async def _pace(self, watcher: Watcher) -> None:
        """Send a bookmark every minute, and end the watch when its time is over."""
        while (left := watcher.seconds_left) > 0:
            await asyncio.sleep(min(left, BOOKMARK_SECONDS))
            watcher.bookmark(self.store.revision)
        watcher.stream.end()

    def _spread(self, change: Change) -> None:
        for watcher in self._watchers:
            watcher.tell(change)


def status_of(error: errors.ApiError) -> Manifest:
    """Write an error as the Status that a server sends."""
    reason = error.reason or type(error).__name__
    details = dict(error.details)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": error.message,
        "reason": reason,
        "code": error.code,
        "details": details,
    }
