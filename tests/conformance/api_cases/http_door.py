"""The way into a server over HTTP: into ours, or into a real one."""

import asyncio
import contextlib
import re
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import orjson
import yaml
from yarl import URL

from tests.conformance.api_cases.asking import AGENT, Asked
from tests.conformance.api_cases.running import Answered

WARNING = re.compile(r'299 - "(.*)"')
Meanwhile = Callable[[], Awaitable[None]]


class OverHttp:
    """The door with sockets; the first session is the administrator's, the other one nobody's."""

    def __init__(
        self,
        url: str,
        admin: aiohttp.ClientSession,
        nobody: aiohttp.ClientSession,
        forget: Callable[[], Awaitable[None]],
        silence: float | None = None,
    ) -> None:
        """Watches are left after so many seconds of silence, or read to their end."""
        self.url = url
        self.silence = silence
        self.admin = admin
        self.nobody = nobody
        self._forget = forget

    async def ask(self, asked: Asked) -> Answered:
        async with self._request(asked) as response:
            return await _answered(response)

    async def watch(self, asked: Asked, meanwhile: Meanwhile) -> Answered:
        async with self._request(asked) as response:
            if response.status != 200:
                return await _answered(response)
            await meanwhile()
            events = await self._events(response)
            return Answered(200, events, response.headers["Content-Type"], _warnings(response))

    async def _events(self, response: aiohttp.ClientResponse) -> list[Any]:
        events: list[Any] = []
        with contextlib.suppress(TimeoutError):
            while line := await asyncio.wait_for(response.content.readline(), self.silence):
                events.append(orjson.loads(line))
        return events

    async def forget(self) -> None:
        await self._forget()

    def _request(self, asked: Asked) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        headers = [("Accept", asked.accept), ("User-Agent", AGENT), *asked.headers.items()]
        if asked.content is not None:
            headers.append(("Content-Type", asked.content_type))
        if asked.user is not None:
            headers.append(("Impersonate-User", asked.user))
            headers += [("Impersonate-Group", group) for group in asked.groups]
        if asked.token:
            headers.append(("Authorization", f"Bearer {asked.token}"))
        session = self.admin if asked.token is None else self.nobody
        found = [(name, value) for name, value in headers if value]
        return session.request(
            asked.method,
            URL(self.url + asked.target, encoded=True),
            data=asked.content,
            headers=found,
            skip_auto_headers=("Content-Type", "Accept"),
        )


def session_of(context: ssl.SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))


async def _answered(response: aiohttp.ClientResponse) -> Answered:
    content = await response.read()
    media_type = response.headers.get("Content-Type", "")
    if media_type.startswith(("application/json", "application/jwk-set+json")) and content:
        body = orjson.loads(content)
    elif media_type.startswith("application/yaml"):
        body = yaml.load(content, yaml.BaseLoader)  # which leaves every value a text, in whatever quotes it stood
    else:
        body = content.decode(errors="replace")
    retry_after = response.headers.get("Retry-After", "")
    return Answered(response.status, body, media_type, _warnings(response), retry_after)


def _warnings(response: aiohttp.ClientResponse) -> tuple[str, ...]:
    found = (WARNING.fullmatch(text) for text in response.headers.getall("Warning", ()))
    return tuple(re.sub(r"\\(.)", r"\1", match[1]) for match in found if match is not None)
