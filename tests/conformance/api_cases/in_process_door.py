"""The way into our server without sockets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, SERVICE_ACCOUNT_PREFIX, User, service_account
from fleetqueue.embedded.apiserver.http.exchange import Listing, ServerResponse, WatchStream, status_of
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry
from tests.conformance.api_cases.asking import AGENT, Asked
from tests.conformance.api_cases.running import Answered

ADMIN = User(
    "kubernetes-admin",
    (MASTERS,),
    extra={"authentication.kubernetes.io/credential-id": (f"X509SHA256={'0' * 64}",)},
)
Meanwhile = Callable[[], Awaitable[None]]


class InProcess:
    """The door without sockets."""

    def __init__(self, server: ApiServer, tokens: dict[str, User]) -> None:
        self.server = server
        self.tokens = tokens
        tokens["admin"] = ADMIN

    async def ask(self, asked: Asked) -> Answered:
        warnings: list[str] = []
        try:
            answer = await self._answer(asked, warnings)
        except errors.ApiError as error:
            return refused(error, warnings)
        assert isinstance(answer, ServerResponse)
        media_type = "text/plain; charset=utf-8" if isinstance(answer.body, str) else "application/json"
        return Answered(answer.status, _body(answer), media_type, tuple(answer.warnings))

    async def watch(self, asked: Asked, meanwhile: Meanwhile) -> Answered:
        warnings: list[str] = []
        try:
            answer = await self._answer(asked, warnings)
        except errors.ApiError as error:
            return refused(error, warnings)
        assert isinstance(answer, WatchStream)
        reading = asyncio.create_task(self._events(answer))
        await asyncio.sleep(0)  # the watch begins
        await meanwhile()
        return Answered(200, await reading, warnings=tuple(answer.warnings))

    async def forget(self) -> None:
        await self.server.storage.compact(self.server.storage.revision)

    async def _events(self, stream: WatchStream) -> list[dict[str, Any]]:
        return [
            {"type": kind, "object": obj.object if isinstance(obj, StorageEntry) else obj}
            async for kind, obj in stream.events
        ]

    async def _answer(self, asked: Asked, warnings: list[str]) -> ServerResponse | WatchStream:
        body = orjson.loads(orjson.dumps(asked.body))
        query = dict(reversed(parse_qsl(asked.query, keep_blank_values=True)))
        return await self.server.answer(
            asked.method,
            unquote(asked.path),
            query,
            credentials=RequestCredentials(token=self._token(asked)),
            body=body,
            content_type=asked.content_type,
            agent=AGENT,
            warnings=warnings,
        )

    def _token(self, asked: Asked) -> str:
        """Return a token for who asks; as whom an administrator asks is known here without headers."""
        if asked.user is None:
            return "admin" if asked.token is None else asked.token
        self.tokens[asked.user] = _user(asked)
        return asked.user


def _body(answer: ServerResponse) -> Any:
    """Return the body as a client over HTTP would see it."""
    if isinstance(answer.body, Listing):
        # Items are the stored objects themselves, so they also say their kind.
        return orjson.loads(answer.body.json)
    return orjson.loads(orjson.dumps(answer.manifest))


def _user(asked: Asked) -> User:
    assert asked.user is not None
    namespace, _, account = asked.user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if asked.user.startswith(SERVICE_ACCOUNT_PREFIX) and not asked.groups:
        return User(asked.user, service_account(namespace, account).groups[:-1])
    return User(asked.user, tuple(asked.groups))


def refused(error: errors.ApiError, warnings: list[str]) -> Answered:
    retry_after = str(int(error.retry_after)) if error.retry_after else ""
    return Answered(error.code, status_of(error), warnings=tuple(warnings), retry_after=retry_after)
