"""The way into a real API server on a loop whose time jumps.

No time passes while an answer is under way or a watch has something to tell. What a server does by its own clock
happens by the test's: a bookmark every minute, and the end of a watch.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.door import Stream
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import HttpDoor
from fleetqueue.embedded.apiserver.registry.list_options import list_options
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.fleets.targets import target_of
from fleetqueue.testing.deliveries import Deliveries, OpenWatch, Wanted
from fleetqueue.testing.virtual_time import VirtualTimeLoop

BOOKMARK_SECONDS: Final = 60.0
LAST_BOOKMARK_SECONDS: Final = 2.0
"""How long before the end of a watch its last bookmark comes."""
FOR_EVER: Final = 1e9
TLS_SECONDS: Final = 60.0
"""Until then a connection whose other end does not say goodbye is torn."""


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
            if stream.status >= 400 or request.path.endswith("/log"):
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

    async def text(self) -> AsyncIterator[str]:
        raise AssertionError("a watch has no text")
        yield ""

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


def _anything(obj: Manifest) -> bool:
    return True
