"""A real API server as a test holds it: asked at once, or through a door on a loop whose time jumps.

No time passes while an answer is under way or a watch has something to tell. What a server does by its own clock
happens by the test's: a bookmark every minute, and the end of a watch.
"""

import asyncio
import http.client
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from fleetqueue import clock
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.requests import JSON, MERGE_PATCH, Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.registry.list_options import list_options
from fleetqueue.apiserver.registry.resources import Resources
from fleetqueue.assembly.targets import target_of
from fleetqueue.client.door import Stream
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import HttpDoor
from fleetqueue.engine.cluster import Cluster
from fleetqueue.testing.deliveries import Deliveries, OpenWatch, Wanted
from fleetqueue.testing.virtual_time import VirtualTimeLoop

BOOKMARK_SECONDS: Final = 60.0
FOR_EVER: Final = 1e9
LAST_BOOKMARK_SECONDS: Final = 2.0
NAMESPACES: Final = Namespace.resource.path()
TLS_SECONDS: Final = 60.0
"""Until then a connection whose other end does not say goodbye is torn."""
MANY: Final = 20
COMPACTION: Final = "/v3/kv/compaction"


class RealServer:
    """One test's hold of a server that all tests share."""

    def __init__(
        self, cluster: Cluster, connection: "Connection", resources: Resources, namespaces: Sequence[str]
    ) -> None:
        self.namespaces = namespaces
        self.deliveries = Deliveries()
        self.door = RealDoor(cluster.kubeconfig, self.deliveries, resources)
        self._cluster = cluster
        self._connection = connection

    def ask(self, request: Request) -> Response:
        before = self.deliveries.newest
        response = self._connection.ask(request)
        self.deliveries.answered(request, response, before)
        return response

    def compact(self) -> None:
        """Let etcd forget; without a watch cache the API server then knows no more than etcd."""
        etcd = _UnixConnection(self._cluster.folder / "etcd.sock:0")
        revision = self.ask(Request("GET", NAMESPACES)).body["metadata"]["resourceVersion"]
        etcd.request("POST", COMPACTION, orjson.dumps({"revision": revision, "physical": True}))
        assert etcd.getresponse().status == 200
        etcd.close()

    def end(self) -> None:
        """Delete all that was made, and let no finalizer hold it."""
        made: dict[str, dict[str, Manifest]] = {}
        for (path, name), obj in self.deliveries.objects.items():
            made.setdefault(path, {})[name] = obj
        for path in sorted(made, key=lambda path: path == NAMESPACES):  # which are the last to go
            _remove(self._connection, path, made[path])
        self.deliveries.objects.clear()


class Connection:
    """A connection to an API server that waits for its answers, whatever a loop does meanwhile."""

    def __init__(self, cluster: Cluster) -> None:
        context = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
        context.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        host, _, port = cluster.server.removeprefix("https://").partition(":")
        self._http = http.client.HTTPSConnection(host, int(port), context=context, timeout=30)

    def ask(self, request: Request) -> Response:
        path = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        body = None if request.body is None else orjson.dumps(request.body)
        headers = {"Content-Type": request.content_type, "Accept": JSON}
        try:
            self._http.request(request.method, path, body, headers)
            response = self._http.getresponse()
        except (http.client.HTTPException, OSError):
            self._http.close()  # it was idle for too long
            self._http.request(request.method, path, body, headers)
            response = self._http.getresponse()
        return Response(response.status, _decoded(response.read()))

    def close(self) -> None:
        self._http.close()


class RealDoor:
    """The way in for whoever is tested; it is opened anew for each test, and closed with its loop."""

    def __init__(self, kubeconfig: Path, deliveries: Deliveries, resources: Resources) -> None:
        self._http = HttpDoor(load(kubeconfig))
        self._deliveries = deliveries
        self._resources = resources
        self._is_open = False

    async def request(self, request: Request, *, timeout: float) -> Response:
        self._close_with_the_loop()
        before = self._deliveries.newest
        with _under_way(request):
            response = await self._http.request(request, timeout=timeout)
            self._deliveries.answered(request, response, before)
            return response

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator[Stream]:
        self._close_with_the_loop()
        opening = self._http.stream(request, silence=FOR_EVER)
        with _under_way(request):
            stream = await opening.__aenter__()
        try:
            if stream.status >= 400:
                yield stream
                return
            watch = self._deliveries.open(request, self._wanted(request), _Debt(request))
            try:
                yield RealStream(stream, watch, request, self._deliveries)
            finally:
                watch.end()
        finally:
            await opening.__aexit__(None, None, None)

    async def close(self) -> None:
        await self._http.close()

    def _close_with_the_loop(self) -> None:
        if not self._is_open:
            self._is_open = True
            _loop().at_close(self._close_for_good)

    async def _close_for_good(self) -> None:
        await self._http.close()
        await asyncio.sleep(TLS_SECONDS)

    def _wanted(self, request: Request) -> Wanted:
        target = target_of(request)
        assert target is not None
        served = self._resources.find(target.group, target.version, target.plural)
        return list_options(served, request.query, watch=True).wants or _anything


class RealStream:
    """A watch that marks the minutes and ends by the loop's clock."""

    status = 200

    def __init__(self, stream: Stream, watch: OpenWatch, request: Request, deliveries: Deliveries) -> None:
        self._stream = stream
        self._watch = watch
        self._deliveries = deliveries
        self._marks = request.query.get("allowWatchBookmarks") == "true"
        self._end = clock.monotonic() + float(request.query.get("timeoutSeconds") or FOR_EVER)

    async def body(self) -> Any:
        return None

    async def lines(self) -> AsyncIterator[Manifest]:
        lines = aiter(self._stream.lines())
        coming = asyncio.ensure_future(anext(lines, None))
        mark = self._next_mark()
        try:
            while (now := clock.monotonic()) < self._end:
                await asyncio.wait({coming}, timeout=min(mark, self._end) - now)
                if not coming.done():
                    if self._marks and clock.monotonic() >= mark:
                        mark = self._next_mark()
                        yield self._bookmark()
                    continue
                line = coming.result()
                if line is None:
                    return
                coming = asyncio.ensure_future(anext(lines, None))
                self._watch.tell(line)
                yield line
        finally:
            coming.cancel()
            await asyncio.wait({coming})

    def _next_mark(self) -> float:
        """Return when the next bookmark comes: every minute, and shortly before the end."""
        now, last = clock.monotonic(), self._end - LAST_BOOKMARK_SECONDS
        return last if now < last < now + BOOKMARK_SECONDS else now + BOOKMARK_SECONDS

    def _bookmark(self) -> Manifest:
        # Time has passed, so all that was written has been told.
        return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self._deliveries.newest)}}}


class _Debt:
    """Keeps the loop from jumping while a watch owes something."""

    def __init__(self, request: Request) -> None:
        self._what = f"events of {request.path}"
        self._loop = _loop()

    def __call__(self, watch: OpenWatch) -> None:
        if watch.is_quiet:
            self._loop.arrived(watch)
        else:
            self._loop.expect(watch, f"{self._what} {sorted(watch.owed) or 'that are there'}")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


@contextmanager
def _under_way(request: Request) -> Iterator[None]:
    """Let no time pass while a request is under way."""
    loop, what = _loop(), object()
    loop.expect(what, str(request))
    try:
        yield
    finally:
        loop.arrived(what)


def _loop() -> VirtualTimeLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    return loop


def _remove(connection: Connection, path: str, objects: Mapping[str, Manifest]) -> None:
    """Delete objects of one collection: one by one, or many at a time where none is anybody else's."""
    for name, obj in objects.items():
        if obj["metadata"].get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            connection.ask(Request("PATCH", f"{path}/{name}", {}, patch, MERGE_PATCH))
    is_ours_alone = "/namespaces/" in path and "/namespaces/kube-" not in path
    at_once = [path] if is_ours_alone and len(objects) > MANY else [f"{path}/{name}" for name in objects]
    for target in at_once:
        connection.ask(Request("DELETE", target, {}, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}))
    for name in objects if path == NAMESPACES else ():
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}}
        response = connection.ask(Request("PUT", f"{path}/{name}/finalize", {}, body))
        assert response.status < 400, response.body


def _decoded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")


def _anything(obj: Manifest) -> bool:
    return True
