"""Faults on the way to a cluster: cut, silent, slow, and answers that a healthy server would not give.

They stand in the door, not in the server: what a request did before its answer was lost has really happened.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.door import Door, Stream
from fleetqueue.embedded.apiserver.http.exchange import status_of
from fleetqueue.fleets.in_process import RefusedStream
from fleetqueue.fleets.targets import words

CONNECT_SECONDS: Final = 10.0
"""For so long a stream waits for its connection, as one over HTTP does; only then is silence something else."""


@dataclass(slots=True)
class Failure:
    """An answer that some requests get instead of their own."""

    pattern: str
    """`apply workloads/*/status`, say: a request in words, with `*` for anything."""
    error: errors.ApiError | errors.Unreachable
    times: float = float("inf")
    happens: bool = False
    """Whether the request is carried out and only its answer is lost."""


class Way:
    """How the way to a cluster is now; all doors to it share one."""

    def __init__(self) -> None:
        self.slow = 0.0
        """Seconds that every request takes longer."""
        self.failures: list[Failure] = []
        self.arrived: Callable[[str], None] = _unnoted
        """Told of every request that arrives, in words."""
        self.answered: Callable[[Request, Response], None] = _unnoted
        """Told of what the server answered, even if the answer is then lost."""
        self._cut = ""
        self._streams: list[FaultyStream] = []

    @property
    def has_faults(self) -> bool:
        """Tell whether a request that is not cut off may fare otherwise than it should."""
        return self.slow > 0 or bool(self.failures)

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    def cut(self, *, silently: bool = False) -> None:
        """Let nothing through: refused, or swallowed without a word. What is open breaks likewise."""
        self._cut = "silent" if silently else "refused"
        if not silently:
            self.break_streams()
        for stream in self._leave_streams():
            stream.die()

    def fail_on(
        self, pattern: str, error: errors.ApiError | errors.Unreachable, *, times: float, happens: bool = False
    ) -> None:
        """Answer requests with an error; with `happens` they are carried out all the same."""
        self.failures.append(Failure(pattern, error, times, happens))

    def heal(self) -> None:
        """End every fault; streams that went silent stay so, as a half-open connection does."""
        self._cut, self.slow = "", 0.0
        self.failures.clear()

    def break_streams(self) -> None:
        """Break every open stream off."""
        for stream in self._leave_streams():
            stream.end(errors.Unreachable("connection reset"))

    def end_streams(self, error: errors.ApiError | None = None) -> None:
        """End every open stream: cleanly, or with an ERROR event."""
        for stream in self._leave_streams():
            if error is not None:
                stream.send({"type": "ERROR", "object": named_status(error)})
            stream.end()

    async def pass_through(self, request: Request, timeout: float) -> Failure | None:
        """Let a request go its way as far as it gets; return the failure that its answer becomes, if any."""
        what = words(request)
        if self._cut == "refused":
            raise errors.Unreachable(f"{what}: connection refused")
        if self._cut or self.slow > timeout:
            await asyncio.sleep(timeout)
            raise errors.Unreachable(f"{what}: timed out, no answer within {timeout:g} s")
        return await self.arrive(what)

    async def arrive(self, what: str) -> Failure | None:
        """Let a request in words arrive, as late as the way is slow; return the failure that its answer becomes."""
        if self.slow:
            await asyncio.sleep(self.slow)
        self.arrived(what)
        return self._failure(what)

    @asynccontextmanager
    async def carry(self, stream: Stream, silence: float) -> AsyncIterator["FaultyStream"]:
        """Hand on what a stream says, for as long as the way is whole."""
        carried = FaultyStream(silence)
        self._streams.append(carried)
        following = asyncio.create_task(carried.follow(stream))
        try:
            yield carried
        finally:
            following.cancel()
            await asyncio.wait({following})  # else the stream would be closed under its reader
            self._streams = [other for other in self._streams if other is not carried]

    def _failure(self, what: str) -> Failure | None:
        for failure in self.failures:
            if failure.times > 0 and fnmatchcase(what, failure.pattern):
                failure.times -= 1
                return failure
        return None

    def _leave_streams(self) -> list["FaultyStream"]:
        left, self._streams = self._streams, []
        return left


class FaultyDoor:
    """A door at the end of a way that may have faults."""

    def __init__(self, door: Door, way: Way) -> None:
        self.door = door
        self.way = way

    async def request(self, request: Request, *, timeout: float) -> Response:
        failure = await self.way.pass_through(request, timeout)
        if failure is not None and not failure.happens:
            return failed(failure)
        response = await self.door.request(request, timeout=timeout)
        self.way.answered(request, response)
        return response if failure is None or response.status >= 400 else failed(failure)

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator[Stream]:
        failure = await self.way.pass_through(request, min(silence, CONNECT_SECONDS))
        if failure is not None:
            answer = failed(failure)
            yield RefusedStream(answer.status, answer.body)
            return
        async with self.door.stream(request, silence=silence) as stream:
            if stream.status >= 400 or request.path.endswith("/log"):  # a log that is open is never cut
                yield stream
                return
            async with self.way.carry(stream, silence) as carried:
                yield carried

    async def close(self) -> None:
        await self.door.close()


class FaultyStream:
    """What comes over the way of an open watch: lines, and at last how it ended."""

    status = 200

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._coming: asyncio.Queue[Manifest | Exception | None] = asyncio.Queue()
        self._is_dead = False

    async def body(self) -> Any:
        return None

    async def text(self) -> AsyncIterator[str]:
        raise AssertionError("a watch has no text")
        yield ""

    async def lines(self) -> AsyncIterator[Manifest]:
        while True:
            line = await self._next() if self._coming.empty() else self._coming.get_nowait()
            if line is None:
                return
            if isinstance(line, Exception):
                raise line
            yield line

    async def _next(self) -> Manifest | Exception | None:
        """Wait for what comes, as long as such a stream may be silent."""
        try:
            async with asyncio.timeout(self._silence):
                return await self._coming.get()
        except TimeoutError:
            raise errors.Unreachable(f"no byte for {self._silence:g} s") from None

    async def follow(self, stream: Stream) -> None:
        """Take what a stream says until it ends."""
        try:
            async for line in stream.lines():
                self.send(line)
        except Exception as error:
            self.end(error)
        else:
            self.end()

    def send(self, line: Manifest) -> None:
        self._put(line)

    def end(self, error: Exception | None = None) -> None:
        """End cleanly, or as a broken connection does."""
        self._put(error)

    def die(self) -> None:
        """Fall silent for ever, as a connection does whose other end has gone without a word."""
        self._is_dead = True

    def _put(self, line: Manifest | Exception | None) -> None:
        if not self._is_dead:
            self._coming.put_nowait(line)


def failed(failure: Failure) -> Response:
    """Return the answer that a failure is; raises Unreachable where it is none."""
    if isinstance(failure.error, errors.Unreachable):
        raise failure.error
    return Response(failure.error.code, named_status(failure.error))


def named_status(error: errors.ApiError) -> Manifest:
    """Build the Status of an error, with a reason always."""
    return {**status_of(error), "reason": error.reason or type(error).__name__}


def _unnoted(*what: Any) -> None:
    pass
