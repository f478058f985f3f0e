"""The way of a pod's account into its own cluster."""

from contextlib import AbstractAsyncContextManager

from fleetqueue.api.requests import Request, Response
from fleetqueue.client.door import Stream
from fleetqueue.embedded.apiserver.auth.authentication import Credentials
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.nodes.programs import Account
from fleetqueue.fleets.in_process import InProcessDoor


class AccountDoor:
    """A door to a server without sockets, for an account whose token is changed now and then."""

    def __init__(self, server: ApiServer, account: Account, *, impersonate: str = "") -> None:
        """Open the door; `impersonate` names another user as whom everything is done."""
        self.server = server
        self.account = account
        self.impersonate = impersonate

    async def request(self, request: Request, *, timeout: float) -> Response:
        return await self._door().request(request, timeout=timeout)

    def stream(self, request: Request, *, silence: float) -> AbstractAsyncContextManager[Stream]:
        return self._door().stream(request, silence=silence)

    async def close(self) -> None:
        """Nothing is open."""

    def _door(self) -> InProcessDoor:
        return InProcessDoor(self.server, Credentials(token=self.account.token, impersonate=self.impersonate))
