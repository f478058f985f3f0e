"""Which kind a word means: what a cluster says that it serves, asked once and again when a word is not known."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.problems import KubectlProblem

CORE: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class ServedKind:
    resource: Resource
    words: frozenset[str]
    """What a person may call it: plural, singular, short names."""
    verbs: Sequence[str] = ()

    @property
    def name(self) -> str:
        """How kubectl calls one of it: `job.batch`."""
        kind, group = self.resource.kind.lower(), self.resource.group
        return f"{kind}.{group}" if group else kind

    def has(self, word: str) -> bool:
        plain, _, rest = word.partition(".")
        group, version = self.resource.group, self.resource.version
        return plain in self.words and rest in ("", group, f"{version}.{group}")


class ServedKinds:
    """The kinds of one cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: list[ServedKind] = []

    async def called(self, word: str) -> ServedKind:
        """Return the kind that a word means; raises KubectlProblem."""
        named_kind = await self._find(lambda kind: kind.has(word.lower()))
        if named_kind is None:
            raise KubectlProblem(f'error: the server doesn\'t have a resource type "{word}"')
        return named_kind

    async def of(self, manifest: Manifest, source: str) -> ServedKind:
        """Return the kind of an object, in the very version that it is written in; raises KubectlProblem."""
        version, kind = str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))
        try:
            served = await self._read(f"/apis/{version}" if "/" in version else f"/api/{version}")
        except errors.NotFound:
            served = []
        for served_kind in served:
            if served_kind.resource.kind == kind:
                return served_kind
        metadata = manifest.get("metadata") or {}
        where = f'name: "{metadata.get("name", "")}" namespace: "{metadata.get("namespace", "")}" from "{source}"'
        raise KubectlProblem(
            f'error: resource mapping not found for {where}: no matches for kind "{kind}" in version "{version}"\n'
            "ensure CRDs are installed first"
        )

    async def all(self) -> list[ServedKind]:
        """Return everything that the cluster serves now, each in the preferred version if that has it."""
        self._served = [kind async for kind in self._discovered()]
        return self._served

    async def _find(self, means: Any) -> ServedKind | None:
        for known in (self._served, None):
            for kind in await self.all() if known is None else known:
                if means(kind):
                    return kind
        return None

    async def _discovered(self) -> AsyncIterator[ServedKind]:
        for kind in await self._read(CORE):
            yield kind
        for group in (await self._client.read("/apis"))["groups"]:
            seen: set[str] = set()
            for version in _versions(group):
                for kind in await self._read_if_served(f"/apis/{version['groupVersion']}"):
                    if kind.resource.plural not in seen:
                        seen.add(kind.resource.plural)
                        yield kind

    async def _read_if_served(self, path: str) -> list[ServedKind]:
        """Read what a version serves; nothing while the part that serves an aggregated API is away."""
        try:
            return await self._read(path)
        except errors.ServerError:
            return []

    async def _read(self, path: str) -> list[ServedKind]:
        answer = await self._client.read(path)
        group, _, version = answer["groupVersion"].rpartition("/")
        return [_kind(group, version, one) for one in answer["resources"] if "/" not in one["name"]]


def _versions(group: Manifest) -> list[Manifest]:
    """Return the versions of a group, the preferred one first."""
    preferred: Manifest = group["preferredVersion"]
    return [preferred, *(version for version in group["versions"] if version != preferred)]


def _kind(group: str, version: str, one: Manifest) -> ServedKind:
    resource = Resource(one.get("group") or group, one.get("version") or version, one["kind"], one["name"])
    if not one.get("namespaced"):
        resource = Resource(resource.group, resource.version, resource.kind, resource.plural, namespaced=False)
    words = {one["name"], one.get("singularName") or one["kind"].lower(), *(one.get("shortNames") or ())}
    return ServedKind(resource, frozenset(words), tuple(one.get("verbs") or ()))
