"""How a pod reaches its own cluster, by its account, and another one, by a mounted kubeconfig; both are renewed."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fleetqueue.api.requests import Request, Response
from fleetqueue.client.door import Door, Stream
from fleetqueue.client.kubeconfig import Connection, KubeconfigError
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.nodes.programs import ProgramAccount, ProgramContext
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.fleets.pods.controllers import work_until
from fleetqueue.fleets.pods.options import Dial, mounted_kubeconfig
from fleetqueue.runtime.logs import Log


class AccountDoor:
    """A door to a server without sockets, for an account whose token is changed now and then."""

    def __init__(self, server: ApiServer, account: ProgramAccount, *, impersonate: str = "") -> None:
        """Open the door; `impersonate` names another user as whom everything is done."""
        self.server = server
        self.account = account
        self.impersonate = impersonate
        self._opened = self._open()

    async def request(self, request: Request, *, timeout: float) -> Response:
        return await self._door().request(request, timeout=timeout)

    def stream(self, request: Request, *, silence: float) -> AbstractAsyncContextManager[Stream]:
        return self._door().stream(request, silence=silence)

    async def close(self) -> None:
        """Nothing is open."""

    def _door(self) -> InProcessDoor:
        if self._opened.credentials.token != self.account.token:
            self._opened = self._open()
        return self._opened

    def _open(self) -> InProcessDoor:
        return InProcessDoor(self.server, RequestCredentials(token=self.account.token, impersonate=self.impersonate))


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
