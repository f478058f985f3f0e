"""Do what a scenario says, and what its nodes' kubelets would do."""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import RUNNING, SUCCEEDED, Pod
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from ..kueue_jobs import doing  # noqa: TID252 - these scenarios are made of the same steps
from ..multikueue.form import job_set  # noqa: TID252
from ..running import changes, merged, write  # noqa: TID252
from ..world import Described  # noqa: TID252
from .form import topology_and_nodes, whole

OF_KUBELETS = ("ContainersReady", "Ready")


class Actor(doing.Actor):
    kinds: Mapping[str, type[Object]] = {**doing.Actor.kinds, "pod": Pod}

    def __init__(self, client: Client, said: Described, prefix: str) -> None:
        super().__init__(client, whole(said, prefix), prefix)
        self.objects = topology_and_nodes(self.said, prefix)

    async def arrange(self) -> None:
        for change in changes({}, self.objects):
            await write(self.client, change)
        await super().arrange()

    async def do(self, step: Described) -> None:
        if "nodes" in step:
            await self._change_nodes(step["nodes"])
        if step.get("run"):
            await self._tell([pod for pod in await self._pods() if _is_new(pod)], RUNNING)
        await self._tell(await self._pods_on(step.get("succeed", ())), SUCCEEDED)
        for pod in await self._pods_on(step.get("stop", ())):
            await self._delete(pod)
        for pod in await self._pods_on(step.get("remove", ())):
            await self._delete(pod, grace=0)
        for name, said in step.get("job_set", {}).items():
            await self._try(self.client.create(JobSet.resource, job_set(name, said, self.prefix)))
        await super().do(step)

    async def _change_nodes(self, said: Described) -> None:
        self.said = {**self.said, "nodes": merged(self.said["nodes"], said)}
        before, self.objects = self.objects, topology_and_nodes(self.said, self.prefix)
        for change in changes(before, self.objects):
            await write(self.client, change)

    async def _tell(self, pods: Iterable[Manifest], phase: str) -> None:
        """Say of pods what a kubelet says when they have begun, or have ended."""
        for pod in pods:
            status = pod.get("status") or {}
            now = timestamp(clock.now())
            other = [each for each in status.get("conditions") or () if each["type"] not in OF_KUBELETS]
            is_ready = str(phase == RUNNING)
            own = [{"type": kind, "status": is_ready, "lastTransitionTime": now} for kind in OF_KUBELETS]
            patch = {"phase": phase, "startTime": status.get("startTime", now), "conditions": [*other, *own]}
            metadata = pod["metadata"]
            await self.client.merge(
                Pod.resource, metadata["name"], self.namespace, {"status": patch}, subresource="status"
            )

    async def _delete(self, pod: Manifest, **how: Any) -> None:
        await self.client.delete(Pod.resource, pod["metadata"]["name"], self.namespace, **how)

    async def _pods_on(self, nodes: Iterable[str]) -> list[Manifest]:
        names = {self.prefix + node for node in nodes}
        return [pod for pod in await self._pods() if pod["spec"].get("nodeName") in names] if names else []

    async def _pods(self) -> list[Manifest]:
        return (await self.client.list(Pod.resource, self.namespace)).items


def _is_new(pod: Manifest) -> bool:
    return "nodeName" in pod["spec"] and pod["status"]["phase"] == "Pending" and not _is_deleted(pod)


def _is_deleted(pod: Manifest) -> bool:
    return "deletionTimestamp" in pod["metadata"]
