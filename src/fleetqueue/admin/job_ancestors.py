"""To which job an object belongs: who made it, and who made that; a pod also by the name of its group."""

from collections.abc import Collection, Sequence
from typing import Final

from fleetqueue.admin.job_names import job_name
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_pods import group_name
from fleetqueue.api.meta import Object, OwnerReference
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

HIGHEST: Final = 5
"""How many objects may stand between a pod and its job."""


class Ancestors:
    """The objects above others, each as `Kind/name`; what may not be read ends the way up."""

    def __init__(self, cluster: Client, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._above: dict[tuple[str, str, str], OwnerReference | None] = {}
        self._plurals: dict[tuple[str, str], str] = {}

    async def of(self, kind: str, part: Manifest) -> Sequence[str]:
        """Name an object, a pod by its group where it has one, and then who made it, up to the highest."""
        view = Object.view(part)
        group = group_name(part["metadata"]) if kind == Pod.resource.kind else ""
        found, owner = [f"{kind}/{group or view.name}"], view.controller
        for _ in range(HIGHEST):
            if owner is None:
                break
            found.append(f"{owner.kind}/{owner.name}")
            owner = await self._owner_of(owner)
        return found

    async def _owner_of(self, owner: OwnerReference) -> OwnerReference | None:
        key = owner.api_version, owner.kind, owner.name
        if key not in self._above:
            self._above[key] = await self._read(owner)
        return self._above[key]

    async def _read(self, owner: OwnerReference) -> OwnerReference | None:
        kind = owner.api_version, owner.kind
        try:
            if kind not in self._plurals:
                self._plurals[kind] = await self._cluster.plural_of(*kind)
            group, _, version = owner.api_version.rpartition("/")
            resource = Resource(group, version, owner.kind, self._plurals[kind])
            return Object.view(await self._metadata(resource, owner.name)).controller
        except (errors.Forbidden, errors.NotFound):
            return None

    async def _metadata(self, resource: Resource, name: str) -> Manifest:
        raw = await self._cluster.get(resource, name, self._namespace)
        return {"metadata": raw["metadata"]}


def of_part(part: Manifest, above: Collection[str], workloads: Collection[kueue.Workload]) -> Sequence[kueue.Workload]:
    """Return the Workloads for an object and others: that of its group, else those of the jobs above it."""
    group = group_name(part["metadata"])
    return [one for one in workloads if group == one.name] or [one for one in workloads if job_name(one) in above]
