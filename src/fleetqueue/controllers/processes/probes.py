"""Answer Kubernetes and Prometheus: is the process alive, is it ready, and its numbers."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from fleetqueue.controllers.processes.settings import ProbeSettings
from fleetqueue.runtime.logs import Log

log = Log("probes")


class ProbesCannotListen(Exception):
    """The address is taken or not ours; the text says what to change."""


class Probes:
    """`/healthz`, `/readyz` and `/metrics` while the block runs."""

    def __init__(
        self,
        settings: ProbeSettings,
        *,
        why_not_ready: Callable[[], str],
        registry: Callable[[], CollectorRegistry],
    ) -> None:
        self.settings = settings
        self._why_not_ready = why_not_ready
        self._registry = registry
        self._runner: web.AppRunner | None = None
        self.address = ""
        """Where it listens, once it does."""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes(
            [
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get("/metrics", self._metrics),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await self._listen(self._runner)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        host, port = self.settings.host, self.settings.port
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            await runner.cleanup()
            raise ProbesCannotListen(
                f"cannot serve health and metrics on {host}:{port}: {error.strerror}; "
                "choose another port with --set probes.port=0"
            ) from error
        self.address = "{}:{}".format(*runner.addresses[0][:2])
        log.info("probes listen", address=self.address)

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, request: web.Request) -> web.Response:
        why_not = self._why_not_ready()
        return web.Response(text=f"{why_not or 'ok'}\n", status=503 if why_not else 200)

    async def _metrics(self, request: web.Request) -> web.Response:
        # In a thread: with thousands of series it takes longer than a reconcile may wait.
        body = await asyncio.to_thread(generate_latest, self._registry())
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})
