"""A cluster whose API is our own server, with a door that remembers what was written through it, and can fail."""

from fleetqueue.api import errors
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.requests import Request, Response
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

ADMIN = RequestCredentials(token="admin")


class WatchedDoor(InProcessDoor):
    def __init__(self, server, credentials):
        super().__init__(server, credentials)
        self.writes: list[str] = []
        self.failing = ""
        self.refusing = ""

    async def request(self, request: Request, *, timeout: float) -> Response:
        if request.method == "GET":
            return await super().request(request, timeout=timeout)
        line = f"{request.method} {request.path}"
        if self.failing and self.failing in line:
            self.failing = ""
            raise errors.Unreachable(f"{line}: cut")
        if self.refusing and self.refusing in line:
            return Response(403, {"kind": "Status", "reason": "Forbidden", "message": "exceeded quota", "code": 403})
        if "/events" not in line:
            self.writes.append(line)
        return await self.write(request, timeout)

    async def write(self, request: Request, timeout: float) -> Response:
        return await super().request(request, timeout=timeout)


class WatchedCluster:
    """What controllers see of a cluster through that door, and what a test does past it."""

    def __init__(self, server: ApiServer, door: type[WatchedDoor] = WatchedDoor) -> None:
        self.server = server
        self.client = Client(InProcessDoor(server, ADMIN))
        self.door = door(server, ADMIN)
        self.cluster = Cluster("c1", Client(self.door))
        self.metrics = Metrics()

    @property
    def writes(self) -> list[str]:
        return self.door.writes

    def fail_once(self, what: str) -> None:
        """Cut the next write whose method and path contain this."""
        self.door.failing = what

    def refuse(self, what: str) -> None:
        """Forbid all writes whose method and path contain this, from now on."""
        self.door.refusing = what

    async def get(self, kind, name, namespace="default"):
        """Return an object as plain JSON; None where there is none."""
        try:
            return await self.client.get(kind.resource, name, namespace if kind.resource.namespaced else "")
        except errors.NotFound:
            return None

    async def events(self, reason=""):
        found = await self.client.list(Event.resource)
        return [event["note"] for event in found.items if not reason or event["reason"] == reason]


async def watched_server() -> ApiServer:
    return await new_server(Secrets(tokens={ADMIN.token: User("admin", (MASTERS,))}))
