"""Stored objects that cannot be changed: who tries hears of it.

A server's objects are shared by its storage, its watches and every cache of the process, so that whoever changes one
changes what all others see. Production trusts that nobody does; tests do not. A client is handed frozen objects. The
server itself works on plain ones, as in production, and is checked afterwards.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final, NoReturn

import orjson

from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.door import Stream
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.fleets.in_process import InProcessDoor

MOST_KNOWN: Final = 10_000


def _refuse(self: Any, *args: Any, **named: Any) -> NoReturn:
    raise TypeError("this object is stored, and shared by all who read it: copy it before you change it")


class FrozenDict(dict[str, Any]):
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return {key: thaw(value) for key, value in self.items()}


class FrozenList(list[Any]):
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return [thaw(value) for value in self]


def freeze(value: Any) -> Any:
    """Return the same value that cannot be changed, at any depth; what is frozen already is shared."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, dict):
        return FrozenDict({key: freeze(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return FrozenList([freeze(inner) for inner in value])
    return value


def thaw(value: Any) -> Any:
    """Return a copy that is its holder's own."""
    if isinstance(value, dict):
        return {key: thaw(inner) for key, inner in value.items()}
    return [thaw(inner) for inner in value] if isinstance(value, list) else value


class FreezingDoor(InProcessDoor):
    """Hands out objects that cannot be changed; each is frozen once, however often it is read."""

    def __init__(self, server: ApiServer, credentials: RequestCredentials) -> None:
        super().__init__(server, credentials)
        self._known: dict[int, tuple[Any, Any]] = {}

    async def answer(self, request: Request) -> Response:
        response = await super().answer(request)
        body = response.body
        if isinstance(body, dict) and "items" in body:
            body = {**body, "items": [self.frozen(item) for item in body["items"]]}
        return Response(response.status, self.frozen(body))

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator[Stream]:
        async with super().stream(request, silence=silence) as stream:
            yield FreezingStream(stream, self)

    def frozen(self, obj: Any) -> Any:
        entry = self._known.get(id(obj))
        if entry is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            entry = self._known[id(obj)] = (obj, freeze(obj))  # as long as we hold it, its id is its own
        return entry[1]


class FreezingStream:
    def __init__(self, stream: Stream, door: FreezingDoor) -> None:
        self.status = stream.status
        self.body = stream.body
        self.text = stream.text
        self._stream = stream
        self._door = door

    async def lines(self) -> AsyncIterator[Manifest]:
        async for line in self._stream.lines():
            yield {**line, "object": self._door.frozen(line["object"])}


class WatchedStorage(ClusterStorage):
    """Notices when somebody inside the server changes an object that is stored already."""

    def _next(self, key: str, manifest: Manifest) -> StorageEntry:
        entry = super()._next(key, manifest)
        _ = entry.json  # what it is now, to compare with
        return entry

    def check(self, *, since: int = 0) -> None:
        """Fail if an object that was stored after a revision is not what it was then."""
        changed = [entry for entry in self._stored(since) if orjson.dumps(entry.object) != entry.json]
        assert not changed, f"stored objects were changed in place: {changed}"

    def _stored(self, since: int) -> Iterator[StorageEntry]:
        for change in self._state.history.since(since):
            yield change.entry
