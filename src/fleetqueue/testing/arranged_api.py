"""One cluster's API that a test arranges, breaks and looks at.

`Client(api)` talks to it over a way on which the test puts faults, and what it writes is recorded. What the test itself
arranges (`add`, `change`, `remove`, `apply_as`) goes past the faults and is not recorded. It is done at once, by an
administrator, and by the server's rules: what no server accepts cannot be arranged.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.door import Door, Stream
from fleetqueue.embedded.apiserver.http.exchange import status_of
from fleetqueue.fleets.faults import FaultyDoor, Way
from fleetqueue.fleets.in_process import RefusedStream
from fleetqueue.fleets.targets import target_of
from fleetqueue.testing.arranged_objects import ArrangedObjects


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


class ArrangedApi(ArrangedObjects):
    def __init__(self, server: Server, way: Way | None = None) -> None:
        super().__init__(server.ask, server.namespaces)
        self.server = server
        self.way = way or Way()
        self.writes: list[str] = []
        """Accepted writes, as `create multikueueconfigs/gpu` or `apply workloads/team-a/w/status`."""
        self.requests: list[str] = []
        """All that arrived, refused or not: also `get leases/ns/name`, `list workloads`, `watch workloads`."""
        self.answers: dict[str, Answer] = {}
        """What `POST /apis/…/tokenreviews`, `GET /version` and the like are answered instead of the server's own."""
        self.serves_watch_lists = True
        self.way.arrived = self.requests.append
        self.way.answered = self._answered
        self._door = FaultyDoor(_Inside(self), self.way)

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
