"""One cluster's API that a test arranges, breaks and looks at.

`Client(api)` talks to it over a way on which the test puts faults, and what it writes is recorded. What the test itself
arranges (`add`, `change`, `remove`, `apply_as`) goes past the faults and is not recorded. It is done at once, by an
administrator, and by the server's rules: what no server accepts cannot be arranged.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import O, Object
from fleetqueue.api.requests import APPLY_PATCH, JSON, MERGE_PATCH, Request, Response
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client.door import Door, Stream
from fleetqueue.embedded.apiserver.http.exchange import status_of
from fleetqueue.fleets.faults import FaultyDoor, Way
from fleetqueue.fleets.in_process import RefusedStream
from fleetqueue.fleets.targets import target_of
from fleetqueue.testing.frozen import thaw


class Server(Protocol):
    """One cluster's API as a test holds it, be it an embedded or a real one."""

    @property
    def door(self) -> Door:
        """The way in for whoever is tested."""
        ...

    @property
    def namespaces(self) -> Sequence[str]:
        """Those that were made for the test."""
        ...

    def ask(self, request: Request) -> Response:
        """Answer at once, whatever a loop does meanwhile."""
        ...

    def compact(self) -> None:
        """Forget the past: watches and lists from an older revision expire."""
        ...

    def end(self) -> None:
        """Be done with it; fail if something happened in the server that must not."""
        ...


Answer = Manifest | str | Callable[[Request], Any]
ADDRESS_REPAIR: Final = "ipallocator-repair-controller"
SOMEBODY: Final = "somebody"
SERVERS_OWN: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
"""What no client can choose."""
DELETE_OPTIONS: Final = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}


class ArrangedApi:
    def __init__(self, server: Server, way: Way | None = None) -> None:
        self.server = server
        self.way = way or Way()
        self.writes: list[str] = []
        """Accepted writes, as `create multikueueconfigs/gpu` or `apply workloads/team-a/w/status`."""
        self.requests: list[str] = []
        """All that arrived, refused or not: also `get leases/ns/name`, `list workloads`, `watch workloads`."""
        self.answers: dict[str, Answer] = {}
        """What `POST /apis/…/tokenreviews`, `GET /version` and the like are answered instead of the server's own."""
        self.serves_watch_lists = True
        self.changes = 0
        """How often anything was written, by whomever: another number means another state."""
        self.way.arrived = self.requests.append
        self.way.answered = self._answered
        self._door = FaultyDoor(_Inside(self), self.way)
        self._namespaces = set(server.namespaces)
        """Those of which we know that they are there."""

    # What the test arranges and looks at

    def add(self, *manifests: Manifest) -> None:
        """Create objects as somebody else, then their status; one with a deletionTimestamp is then deleted."""
        for manifest in manifests:
            self._add(manifest)

    def change(self, kind: type[Object], name: str, namespace: str = "", **patch: Any) -> None:
        """Merge into an object as somebody else: `change(Placement, "p", "ns", spec={"clusterSets": ["a"]})`."""
        self._patch(kind.resource, name, namespace, patch, MERGE_PATCH, SOMEBODY)

    def apply_as(self, manager: str, kind: type[Object], name: str, namespace: str = "", **fields: Any) -> None:
        """Apply fields to an object as another manager, the status as its own part."""
        self._patch(kind.resource, name, namespace, fields, APPLY_PATCH, manager)

    def remove(self, kind: type[Object], name: str, namespace: str = "") -> None:
        """Delete as somebody else; finalizers still hold the object."""
        self._ask("DELETE", kind.resource.path(namespace, name), DELETE_OPTIONS)

    def namespace(self, *names: str) -> None:
        """Make namespaces, unless they are there."""
        for name in names:
            if name not in self._namespaces:
                response = self.server.ask(Request("POST", Namespace.resource.path(), {}, Namespace.manifest(name)))
                assert response.status in (201, 409), response.body
                self._namespaces.add(name)

    def get(self, kind: type[O], name: str, namespace: str = "") -> O | None:
        try:
            return kind.view(self._ask("GET", kind.resource.path(namespace, name)))
        except errors.NotFound:
            return None

    def raw(self, kind: type[Object], name: str, namespace: str = "") -> Manifest:
        manifest: Manifest = thaw(self._ask("GET", kind.resource.path(namespace, name)))
        return manifest

    def list(self, kind: type[O]) -> list[O]:
        """Return all of a kind, but for Events by which a real API server tells of its own addresses."""
        items = self._ask("GET", kind.resource.path())["items"]
        return [kind.view(item) for item in items if item.get("reportingController") != ADDRESS_REPAIR]

    @property
    def revision(self) -> str:
        """The resourceVersion of the newest state."""
        return str(self._ask("GET", Namespace.resource.path())["metadata"]["resourceVersion"])

    @property
    def open_watches(self) -> int:
        return self.way.open_streams

    # Faults

    def fail_on(
        self,
        what: str,
        error: errors.ApiError | errors.Unreachable,
        *,
        times: float = float("inf"),
        applied: bool = False,
    ) -> None:
        """Answer requests like `delete multikueueconfigs/gpu` (`*` stands for anything) with an error.

        With `applied` the request is carried out and only its answer is lost.
        """
        self.way.fail_on(what, error, times=times, happens=applied)

    def cut(self, *, silently: bool = False) -> None:
        """Break every connection and refuse new ones; silently, nothing is refused and nothing ever comes back."""
        self.way.cut(silently=silently)

    def heal(self) -> None:
        """End every fault on the way."""
        self.way.heal()

    def compact(self) -> None:
        """Forget the past: watches and lists from an older revision expire."""
        self.server.compact()

    def end_watches(self, error: errors.ApiError | None = None) -> None:
        """End every open watch: cleanly, or with an ERROR event."""
        self.way.end_streams(error)

    @property
    def seconds_per_request(self) -> float:
        return self.way.slow

    @seconds_per_request.setter
    def seconds_per_request(self, seconds: float) -> None:
        self.way.slow = seconds

    # The door

    async def request(self, request: Request, *, timeout: float) -> Response:
        return await self._door.request(request, timeout=timeout)

    def stream(self, request: Request, *, silence: float) -> AbstractAsyncContextManager[Stream]:
        return self._door.stream(request, silence=silence)

    async def close(self) -> None:
        """Leave the server open: others may use it too."""

    def _answered(self, request: Request, response: Response) -> None:
        target = target_of(request)
        if target is not None and target.is_write and response.status < 400 and str(request) not in self.answers:
            self.writes.append(str(target))
            self.changes += 1

    # Arranging

    def _add(self, manifest: Manifest) -> None:
        resource, metadata = resource_of(manifest), dict(manifest["metadata"])
        chosen = [name for name in SERVERS_OWN if name in metadata]
        if chosen:
            raise ValueError(f"{resource.kind} {metadata.get('name')}: no client can choose its {', '.join(chosen)}")
        namespace = metadata.get("namespace", "")
        if namespace:
            self.namespace(namespace)
        is_deleted = metadata.pop("deletionTimestamp", None) is not None
        made = self._ask("POST", resource.path(namespace), {**manifest, "metadata": metadata}, manager=SOMEBODY)
        name, status = made["metadata"]["name"], manifest.get("status")
        if status and made.get("status") != status:  # else the kind has no status of its own
            patch = {"status": status}
            self._ask("PATCH", resource.path(namespace, name, "status"), patch, MERGE_PATCH, manager=SOMEBODY)
        if is_deleted:
            self._ask("DELETE", resource.path(namespace, name), DELETE_OPTIONS)

    def _patch(
        self, resource: Resource, name: str, namespace: str, patch: Manifest, content_type: str, manager: str
    ) -> None:
        rest = {field: value for field, value in patch.items() if field != "status"}
        parts = [("", rest)] if rest else []
        if "status" in patch:
            parts.append(("status", {"status": patch["status"]}))
        for subresource, body in parts:
            if content_type == APPLY_PATCH:
                body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
            self._ask("PATCH", resource.path(namespace, name, subresource), body, content_type, manager=manager)

    def _ask(
        self, method: str, path: str, body: Any = None, content_type: str = JSON, *, manager: str = ""
    ) -> Manifest:
        query = {"fieldManager": manager} if manager else {}
        if content_type == APPLY_PATCH:
            query["force"] = "true"
        response = self.server.ask(Request(method, path, query, body, content_type))
        if response.status >= 400:
            raise errors.from_status(response.status, response.body)
        self.changes += method != "GET"
        answer: Manifest = response.body
        return answer


class _Inside:
    """What is behind the faults: the server, and the test's own answers."""

    def __init__(self, api: ArrangedApi) -> None:
        self.api = api

    async def request(self, request: Request, *, timeout: float) -> Response:
        fixed = self.api.answers.get(str(request))
        if fixed is not None:
            return _fixed(fixed, request)
        return await self.api.server.door.request(request, timeout=timeout)

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator[Stream]:
        if request.query.get("sendInitialEvents") == "true" and not self.api.serves_watch_lists:
            error = errors.Invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
            yield RefusedStream(error.code, status_of(error))
            return
        async with self.api.server.door.stream(request, silence=silence) as stream:
            yield stream

    async def close(self) -> None:
        """Leave the server open."""


def _fixed(answer: Answer, request: Request) -> Response:
    """Return what the test answers; a function may raise what a server would answer with."""
    try:
        return Response(200, answer(request) if callable(answer) else answer)
    except errors.ApiError as error:
        return Response(error.code, status_of(error))


def resource_of(manifest: Manifest) -> Resource:
    """Find where the kind of an object lives, among all kinds that we model."""
    known = [Object]
    while known:
        kind = known.pop()
        known += kind.__subclasses__()
        resource = getattr(kind, "resource", None)
        if resource is not None and (resource.kind, resource.api_version) == (manifest["kind"], manifest["apiVersion"]):
            match: Resource = resource
            return match
    raise LookupError(f"no view models {manifest['kind']} of {manifest['apiVersion']}")
