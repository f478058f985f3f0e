"""Which resource a kind is on a worker, asked of the worker when it is first needed."""

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client


class Kinds:
    """Remembers every kind that it was told of; one that it does not know may have come meanwhile, and is asked for."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str], Resource] = {}

    async def find(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource of a kind, None where the worker does not serve it."""
        if (api_version, kind) not in self._known:
            await self._learn(api_version)
        return self._known.get((api_version, kind))

    async def _learn(self, api_version: str) -> None:
        group, _, version = api_version.rpartition("/")
        try:
            document = await self._client.read(f"/apis/{api_version}" if group else f"/api/{version}")
        except errors.NotFound:
            return
        for entry in document.get("resources") or ():
            if "/" not in entry["name"]:
                resource = Resource(group, version, entry["kind"], entry["name"], bool(entry["namespaced"]))
                self._known[api_version, entry["kind"]] = resource
