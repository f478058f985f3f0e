"""The verbs of the Kubernetes API on plain JSON objects."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.meta import Object
from fleetqueue.api.requests import APPLY_PATCH, MERGE_PATCH, Request, WatchEvent
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client.door import Door

FIELD_MANAGER: Final = "fleetqueue"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
REQUEST_SECONDS: Final = 30.0
"""Longer than any healthy server takes. A leader that steps down cancels what is under way, without waiting for it."""

LOG_SILENCE: Final = 4 * 3600.0
"""How long a log that is followed may say nothing; a kubelet closes it after as long."""


@dataclass(frozen=True, slots=True)
class ListPage:
    items: list[Manifest]
    resource_version: str


class Client:
    """One cluster as one user; every failure is an error of `api.errors`."""

    def __init__(self, door: Door, *, timeout: float = REQUEST_SECONDS, manager: str = FIELD_MANAGER) -> None:
        self.door = door
        self.timeout = timeout
        self.manager = manager
        """As whom the server notes what is written."""
        self.observe: Callable[[Request, int], None] = _unobserved
        """Told of every request that was answered, with its status: for metrics."""
        self.patience = 0.0
        """How many seconds a read waits in all where the server asks for it later; who has a queue of its own waits
        there."""

    async def get(self, resource: Resource, name: str, namespace: str = "", subresource: str = "") -> Manifest:
        return await self._object("GET", resource.path(namespace, name, subresource))

    async def find(self, resource: Resource, name: str, namespace: str = "") -> Manifest | None:
        """Read an object; None where there is none, or where its kind is not served."""
        try:
            return await self.get(resource, name, namespace)
        except errors.NotFound:
            return None

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "", limit: int = 500
    ) -> ListPage:
        """Return everything; starts once more if it took longer than the server remembers."""
        items: list[Manifest] = []
        restarts = 0
        while True:
            try:
                async for page in self.pages(resource, namespace, labels=labels, fields=fields, limit=limit):
                    items += page.items
            except errors.Gone:
                if restarts or not items:
                    raise
                restarts, items = 1, []
            else:
                return ListPage(items, page.resource_version)

    async def pages(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "", limit: int = 500
    ) -> AsyncIterator[ListPage]:
        """Yield everything, page by page; raises Gone where that takes longer than the server remembers."""
        query = _given(labelSelector=labels, fieldSelector=fields, limit=str(limit))
        while True:
            page = await self._object("GET", resource.path(namespace), query)
            metadata = page.get("metadata") or {}
            yield ListPage(page.get("items") or [], str(metadata.get("resourceVersion", "")))
            if not metadata.get("continue"):
                return
            query["continue"] = metadata["continue"]

    async def create(
        self,
        resource: Resource,
        manifest: Manifest,
        subresource: str = "",
        *,
        dry_run: bool = False,
        strict: bool = False,
    ) -> Manifest:
        """Create an object, or a part of one that exists.

        A dry run asks what would come of it; with `strict`, fields that the kind does not have are refused.
        """
        metadata = manifest.get("metadata", {})
        name = metadata["name"] if subresource else ""
        path = resource.path(metadata.get("namespace", ""), name, subresource)
        query = self._writing(dry_run) | ({"fieldValidation": "Strict"} if strict else {})
        return await self._object("POST", path, query, manifest)

    async def update(
        self, resource: Resource, manifest: Manifest, subresource: str = "", *, dry_run: bool = False
    ) -> Manifest:
        """Replace an object, or a part of it; with a resourceVersion in it, a stale one is a Conflict."""
        metadata = manifest["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
        return await self._object("PUT", path, self._writing(dry_run), manifest)

    async def merge(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch: Manifest,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Manifest:
        """Send a JSON merge patch; with a uid or resourceVersion in it, a stale one is a Conflict."""
        path = resource.path(namespace, name, subresource)
        return await self._object("PATCH", path, self._writing(dry_run), patch, MERGE_PATCH)

    async def strategic_merge(
        self, resource: Resource, name: str, namespace: str, patch: Manifest, *, subresource: str = ""
    ) -> Manifest:
        """Send a patch that changes single elements of lists; custom kinds do not know it."""
        path = resource.path(namespace, name, subresource)
        return await self._object("PATCH", path, self._writing(False), patch, STRATEGIC_PATCH)

    async def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        subresource: str = "",
        manager: str | None = None,
        force: bool = True,
        dry_run: bool = False,
    ) -> Manifest:
        """Send a server-side apply; without force, a field that another manager owns is a Conflict."""
        metadata = manifest["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
        query = self._writing(dry_run, manager) | {"force": "true" if force else "false"}
        return await self._object("PATCH", path, query, manifest, APPLY_PATCH)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "Background",
        grace: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete; with a uid or version, only that very object. Raises NotFound where there is none.

        `grace` is how many seconds a pod has to stop, instead of what it asks for itself; 0 takes it away at once.
        """
        options = _delete_options(propagation, grace, uid=uid, resourceVersion=version)
        await self._object("DELETE", resource.path(namespace, name), _dry(dry_run), options)

    async def delete_seen(self, obj: Object) -> bool:
        """Delete the very object that was seen; False where it has gone already."""
        try:
            await self.delete(obj.resource, obj.name, obj.namespace, uid=obj.uid)
        except errors.NotFound:
            return False
        return True

    async def delete_collection(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        propagation: str = "Background",
        grace: int | None = None,
    ) -> None:
        """Delete all that is selected of a kind, in one request."""
        query = _given(labelSelector=labels, fieldSelector=fields)
        await self._object("DELETE", resource.path(namespace), query, _delete_options(propagation, grace))

    @asynccontextmanager
    async def watch(
        self, resource: Resource, namespace: str = "", *, query: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Open a watch; the block iterates its events. An ERROR event is raised as the error that it carries."""
        request = Request("GET", resource.path(namespace), {"watch": "true", **query})
        async with self.door.stream(request, silence=silence) as stream:
            self.observe(request, stream.status)
            if stream.status >= 400:
                raise errors.from_status(stream.status, await stream.body())
            yield _events(stream.lines())

    @asynccontextmanager
    async def log(
        self, resource: Resource, name: str, namespace: str, *, query: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[str]]:
        """Open the log of a pod; the block iterates its lines, of one that is followed until the container ends."""
        request = Request("GET", resource.path(namespace, name, "log"), query)
        async with self.door.stream(request, silence=LOG_SILENCE) as stream:
            self.observe(request, stream.status)
            if stream.status >= 400:
                raise errors.from_status(stream.status, await stream.body())
            yield stream.text()

    async def read(self, path: str) -> Any:
        """GET any path: discovery, health, version; the answer may be text."""
        return await self._send(Request("GET", path))

    async def served(self, api_version: str) -> dict[str, Manifest]:
        """Return what is served of a group and version, by plural names; nothing where it is not known."""
        try:
            document = await self.read(f"/{'apis' if '/' in api_version else 'api'}/{api_version}")
        except errors.NotFound:
            return {}
        return {str(entry.get("name")): entry for entry in document.get("resources") or ()}

    async def plural_of(self, api_version: str, kind: str) -> str:
        """Return under which name a kind is served; empty where it is not."""
        served = await self.served(api_version)
        return next((name for name, entry in served.items() if entry.get("kind") == kind and "/" not in name), "")

    async def serves(self, resource: Resource) -> bool:
        return resource.plural in await self.served(resource.api_version)

    async def post(self, path: str, body: Manifest) -> Manifest:
        """POST to any path: reviews, which are questions and store nothing."""
        return await self._object("POST", path, body=body)

    async def close(self) -> None:
        await self.door.close()

    def _writing(self, dry_run: bool, manager: str | None = None) -> dict[str, str]:
        return {"fieldManager": self.manager if manager is None else manager, **_dry(dry_run)}

    async def _object(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Manifest:
        request = Request(method, path, query or {}, body, content_type)
        answer = await self._send(request)
        if not isinstance(answer, dict):
            raise errors.ServerError(f"{request} answered no JSON object: {str(answer)[:80]!r}")
        return answer

    async def _send(self, request: Request) -> Any:
        patience = self.patience if request.method == "GET" else 0.0
        while True:
            response = await self.door.request(request, timeout=self.timeout)
            self.observe(request, response.status)
            if response.status < 400:
                return response.body
            error = errors.from_status(response.status, response.body)
            wait = error.retry_after or 0.0
            if not 0 < wait <= patience:
                raise error
            patience -= wait
            await asyncio.sleep(wait)


def _unobserved(request: Request, status: int) -> None:
    pass


async def _events(lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[WatchEvent]:
    async for line in lines:
        event = WatchEvent(line["type"], line["object"])
        if event.type == "ERROR":
            raise errors.from_status(int(event.object.get("code") or 500), event.object)
        yield event


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


def _delete_options(propagation: str, grace: int | None, **preconditions: str) -> Manifest:
    options: Manifest = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if wanted := _given(**preconditions):
        options["preconditions"] = wanted
    return options


def _given(**query: str) -> dict[str, str]:
    return {key: value for key, value in query.items() if value}
