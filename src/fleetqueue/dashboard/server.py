"""Serve the page and the changes of what it shows, on a loopback address and to who has the token. It only reads."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Final

import orjson
from aiohttp import web

from fleetqueue.client import Client
from fleetqueue.dashboard.job_detail import job_detail
from fleetqueue.dashboard.kinds import DatedWorkload
from fleetqueue.dashboard.page_model import PageModel
from fleetqueue.dashboard.requests import HEADERS, is_authorized, is_loopback, new_token, preferred_language
from fleetqueue.dashboard.rows import Row
from fleetqueue.dashboard.watched_hub import WatchedHub

STATIC: Final = Path(__file__).parent / "static"
HOST: Final = "127.0.0.1"
CONTENT_TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
COALESCE_SECONDS: Final = 0.15
"""How long changes are gathered before they are sent: a burst becomes a few messages, and nobody sees the delay."""
LOOK_SECONDS: Final = 5.0
"""How often is looked again though nothing changed: what time alone changes is a lease that is not renewed."""
FIRST_LOOK_SECONDS: Final = 0.1
"""The same while not all is known: a kind without objects is known without a change."""
BEHIND: Final = 100
"""How many messages may wait for a browser. One that is further behind gets none, and begins with a new snapshot."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DashboardCannotListen(Exception):
    """The port is taken or not ours; the text says what to change."""


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    hub_url: str
    port: int = 0
    """0: any that is free."""
    namespace: str = ""
    """The namespace whose jobs are shown; empty means all."""
    kueue_namespace: str = "kueue-system"
    token: str = field(default_factory=new_token)
    listener: socket | None = None
    """One that listens already, in place of a port."""


class Dashboard:
    def __init__(self, client: Client, settings: DashboardSettings) -> None:
        self.settings = settings
        self.token = settings.token
        self.address = ""
        """Where it listens, once it does."""
        self.hub = WatchedHub(client, namespace=settings.namespace, kueue_namespace=settings.kueue_namespace)
        self.model = PageModel(self.hub, kueue_namespace=settings.kueue_namespace)
        self._browsers: set[asyncio.Queue[bytes | None]] = set()

    @property
    def link(self) -> str:
        """What a person opens; the token is in the part that browsers send to nobody."""
        return f"http://{self.address}/#token={self.token}"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Follow the hub and answer browsers while the block runs."""
        runner = web.AppRunner(self._app(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            self.address = await listen(runner, self.settings)
            async with asyncio.TaskGroup() as tasks:
                background = [tasks.create_task(self.hub.run()), tasks.create_task(self._send_changes())]
                yield
                for task in background:
                    task.cancel()
        finally:
            for browser in self._browsers:
                browser.put_nowait(None)
            await runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/static/{name}", self._file),
                web.get("/api/stream", self._stream),
                web.get("/api/jobs/{namespace}/{name}", self._job),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer only who asks this machine by its own name, and give data only to who has the token."""
        if not is_loopback(request.host):
            response: web.StreamResponse = web.Response(status=403, text="ask 127.0.0.1 or localhost\n")
        elif request.path.startswith("/api/") and not is_authorized(request.headers, self.token):
            response = web.Response(status=401, text="the token is missing or wrong\n")
        else:
            try:
                response = await handler(request)
            except web.HTTPException as answer:
                response = web.Response(status=answer.status, text=f"{answer.reason}\n")
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _page(self, request: web.Request) -> web.Response:
        language = preferred_language(request.headers.get("Accept-Language", ""))
        page = (STATIC / "index.html").read_text().replace('<html lang="en">', f'<html lang="{language}">')
        return web.Response(text=page, content_type="text/html")

    async def _file(self, request: web.Request) -> web.Response:
        path = STATIC / request.match_info["name"]
        if path.parent != STATIC or path.suffix not in CONTENT_TYPES or not path.is_file():
            raise web.HTTPNotFound
        return web.Response(body=path.read_bytes(), content_type=CONTENT_TYPES[path.suffix], charset="utf-8")

    async def _job(self, request: web.Request) -> web.Response:
        workload = self.hub.get(DatedWorkload, f"{request.match_info['namespace']}/{request.match_info['name']}")
        if workload is None:
            raise web.HTTPNotFound
        detail = job_detail(workload, self.hub.state())
        return web.Response(body=orjson.dumps(detail), content_type="application/json")

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Send everything once, and then what changes."""
        headers = {**HEADERS, "Content-Type": "text/event-stream; charset=utf-8"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        browser: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._browsers.add(browser)
        try:
            first = {**self.model.snapshot(), "hub": self.settings.hub_url}
            await response.write(message("snapshot", first))
            while (data := await browser.get()) is not None:
                await response.write(data)
        except ConnectionError:
            pass  # the browser has gone
        finally:
            self._browsers.discard(browser)
        return response

    async def _send_changes(self) -> None:
        while True:
            change = await self.model.refresh()
            if change is not None:
                self._send(message("change", change))
            try:
                async with asyncio.timeout(FIRST_LOOK_SECONDS if self.hub.loading else LOOK_SECONDS):
                    await self.hub.changed.wait()
            except TimeoutError:
                self._send(b": still here\n\n")
            self.hub.changed.clear()
            await asyncio.sleep(COALESCE_SECONDS)

    def _send(self, data: bytes) -> None:
        for browser in self._browsers:
            browser.put_nowait(data if browser.qsize() < BEHIND else None)


def message(event: str, data: Row) -> bytes:
    """Write a server-sent event."""
    return b"event: %s\ndata: %s\n\n" % (event.encode(), orjson.dumps(data))


async def listen(runner: web.AppRunner, settings: DashboardSettings) -> str:
    """Open the port, or take the socket that is open; return the address."""
    try:
        if settings.listener is not None:
            await web.SockSite(runner, settings.listener).start()
        else:
            await web.TCPSite(runner, HOST, settings.port).start()
    except OSError as error:
        raise DashboardCannotListen(
            f"cannot serve the dashboard on {HOST}:{settings.port}: {error.strerror}; choose another --port"
        ) from error
    return "{}:{}".format(*runner.addresses[0][:2])
