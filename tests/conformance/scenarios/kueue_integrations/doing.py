"""Do what a scenario says, in the words of `form` and in those of `kueue_jobs`."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api.kueue_pods import COMPONENT_INDEX
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource

from ..kueue_jobs import doing  # noqa: TID252 - these scenarios are made of the same steps
from ..kueue_jobs import form as jobs  # noqa: TID252
from ..world import Described  # noqa: TID252
from .form import KINDS, RUNTIMES, plain


class Actor(doing.Actor):
    kinds: Mapping[str, type[Object]] = {**jobs.KINDS, **KINDS, **RUNTIMES}

    async def do(self, step: Described) -> None:
        await super().do(plain(step))

    async def _create(self, manifest: Manifest) -> None:
        owner = manifest["metadata"].get("ownerReferences")
        if isinstance(owner, str):
            manifest["metadata"]["ownerReferences"] = [await self._reference(owner)]
        await super()._create(manifest)

    async def _reference(self, target: str) -> Manifest:
        resource, name, where = await self._find(target)
        raw = await self.client.get(resource, name, where)
        found = {"apiVersion": resource.api_version, "kind": resource.kind, "name": name}
        return {**found, "uid": raw["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}

    async def _find(self, target: str) -> tuple[Resource, str, str]:
        """Find an object; `workload a/1` is that of the second group of LeaderWorkerSet a."""
        kind, _, name = target.partition(" ")
        owner, _, index = name.partition("/")
        if kind != "workload" or not index:
            return await super()._find(target)
        resource = self.kinds[kind].resource
        for raw in (await self.client.list(resource, self.namespace)).items:
            if _is_of(raw, owner) and raw["metadata"]["annotations"].get(COMPONENT_INDEX) == index:
                return resource, raw["metadata"]["name"], self.namespace
        raise LookupError(f"{self.said['name']}: no Workload of group {index} of {owner}")


def _is_of(raw: dict[str, Any], owner: str) -> bool:
    return owner in [each["name"] for each in raw["metadata"].get("ownerReferences") or ()]
