"""The way of a pod into another cluster, by a mounted kubeconfig whose certificate is renewed now and then."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from fleetqueue.api.requests import Request, Response
from fleetqueue.client.door import Door, Stream
from fleetqueue.client.kubeconfig import Connection, KubeconfigError
from fleetqueue.embedded.nodes.programs import ProgramContext
from fleetqueue.fleets.pods.controllers import work_until
from fleetqueue.fleets.pods.options import Dial, mounted_kubeconfig
from fleetqueue.runtime.logs import Log

log = Log("programs")


class MountedDoor:
    """A door that is opened anew when the certificate beside its kubeconfig is another one.

    What was open over HTTP then breaks off and is asked for anew. A certificate that cannot be read changes nothing.

    Mirrors: client-go transport/cert_rotation.go
    """

    def __init__(self, context: ProgramContext, path: str, dial: Dial) -> None:
        self.context = context
        self.path = path
        self.dial = dial
        self.connection = mounted_kubeconfig(context, path)
        self._seen = context.files
        self._door = dial(self.connection).door

    async def request(self, request: Request, *, timeout: float) -> Response:
        return await (await self._current()).request(request, timeout=timeout)

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator[Stream]:
        async with (await self._current()).stream(request, silence=silence) as stream:
            yield stream

    async def close(self) -> None:
        await self._door.close()

    async def _current(self) -> Door:
        files = self.context.files
        if self._seen is not files:
            connection = self._mounted()
            if connection != self.connection:
                old, self._door = self._door, self.dial(connection).door
                self.connection = connection
                await old.close()
            self._seen = files
        return self._door

    def _mounted(self) -> Connection:
        try:
            return mounted_kubeconfig(self.context, self.path)
        except (KubeconfigError, OSError, LookupError) as error:
            log.warning("mounted kubeconfig not read", pod=f"{self.context.namespace}/{self.context.pod}", error=error)
            return self.connection


async def while_same(context: ProgramContext, path: str, work: Awaitable[None]) -> None:
    """Work until a mounted kubeconfig is another one; then end, and so be started anew, as agents of OCM do."""
    await work_until(context.until_changed(path), work)
