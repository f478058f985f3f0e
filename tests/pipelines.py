"""A kind of job that only somebody else's controller knows, as users bring one beside those that Kueue knows.

The hub's Kueue sends it once `multiKueue.externalFrameworks` has its name, and may read and write it there; all else is
left to the kind's own controller. On the hub that makes the Workload of a job, and gives back the quota of one that is
evicted. On a worker it runs the pods of a copy while the copy's Workload is admitted, and says how both have ended.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, ClassVar

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.job_kinds import JobKind
from fleetqueue.api.meta import Object, controller_reference, key_of, precondition_of, split_key
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.names import PRIORITY_CLASS
from fleetqueue.fleets.systems.parts import bound, rule
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import custom_kind
from fleetqueue.testing.virtual_time import running

from .job_kinds import PIPELINE

FRAMEWORK = "Pipeline.v1.example.com"
"""Its name in Kueue's configuration."""
DEFINITION = custom_kind(PIPELINE.resource)
LABEL = "example.com/pipeline"
ENDS = ("Succeeded", "Failed")
PRIORITY = ("priorityClassRef", "priority")
ROLE = "kueue-sends-pipelines"
ACCOUNT = "kueue-controller-manager"


class Pipeline(Object):
    resource: ClassVar = PIPELINE.resource


KIND = JobKind(FRAMEWORK, Pipeline, own_controller="")


def rights() -> Iterable[Manifest]:
    """Return what the hub's Kueue needs, to send the kind and to bring its status back."""
    resource = PIPELINE.resource
    rules = [
        rule(resource.group, resource.plural, "get list watch"),
        rule(resource.group, f"{resource.plural}/status", "get patch update"),
    ]
    return bound(ROLE, rules, ACCOUNT, KUEUE_NAMESPACE)


def with_pipelines(configuration: Manifest) -> Manifest:
    """Return Kueue's configuration with the kind among those that are sent."""
    multikueue = configuration.get("multiKueue") or {}
    return {**configuration, "multiKueue": {**multikueue, "externalFrameworks": [{"name": FRAMEWORK}]}}


@asynccontextmanager
async def run_on(clients: Mapping[str, Client]) -> AsyncIterator[None]:
    """Run the kind's own controller on each of some clusters."""
    async with AsyncExitStack() as stack:
        for name, client in clients.items():
            cluster = Cluster(name, client)
            manager = Manager(cluster, [PipelineController(cluster, Metrics())])
            await stack.enter_async_context(running(manager.run()))
        yield


class PipelineController(Controller):
    name = "pipelines"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.client = hub.client
        self.writes = WorkloadWrites(hub, hub.events)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Pipeline, by_key)
        yield Watch(kueue.QueuedWorkload, _job_of)
        yield Watch(Pod, _job_of, labels=LABEL)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        job = await self.client.find(Pipeline.resource, name, namespace)
        if job is None or "deletionTimestamp" in job["metadata"]:
            return
        if job["spec"].get("managedBy"):
            await self._queue(job)
        else:
            await self._run(job)

    # On the hub

    async def _queue(self, job: Manifest) -> None:
        wanted = await self._workload_for(job)
        workload = await self._workload(job, wanted["metadata"]["name"])
        if workload is None:
            await self.client.create(kueue.Workload.resource, wanted)
            return
        view = kueue.Workload.view(workload)
        if view.is_leaving:
            await self._release(workload)
        elif view.is_live and workload["spec"].get("priority") != wanted["spec"].get("priority"):
            await self._change(workload, spec={name: wanted["spec"].get(name) for name in PRIORITY})

    async def _workload_for(self, job: Manifest) -> Manifest:
        metadata, spec = job["metadata"], job["spec"]
        pods = {"name": "main", "count": spec["pods"], "template": spec["template"]}
        made = kueue.Workload.manifest(
            f"pipeline-{metadata['name']}-{metadata['uid'][:5]}",
            metadata["namespace"],
            spec={"queueName": metadata["labels"][kueue.QUEUE_LABEL], "podSets": [pods], **await self._priority(job)},
        )
        return owned(job, made)

    async def _priority(self, job: Manifest) -> Manifest:
        name, kind = job["metadata"]["labels"].get(PRIORITY_CLASS), WorkloadPriorityClass.resource
        if not name:
            return {}
        reference = {"group": kind.group, "kind": kind.kind, "name": name}
        return {"priorityClassRef": reference, "priority": (await self.client.get(kind, name))["value"]}

    # On a worker

    async def _run(self, job: Manifest) -> None:
        marks = {**(job["metadata"].get("labels") or {}), **(job["metadata"].get("annotations") or {})}
        workload = await self._workload(job, marks[kueue.PREBUILT_WORKLOAD])
        if workload is None:
            return  # it is about to go with its copy
        view, phase = kueue.Workload.view(workload), (job.get("status") or {}).get("phase")
        if view.controller is None:
            await self._change(workload, metadata={"ownerReferences": [reference_to(job)]})
        elif not view.is_true(kueue.ADMITTED) or view.is_leaving:
            await self._stop(job, workload)
        elif phase in ENDS and view.is_live:
            await self.writes.finish(None, workload, phase, "as its job says")
        elif view.is_live:
            await self._go_on(job)

    async def _stop(self, job: Manifest, workload: Manifest) -> None:
        pods = await self._pods(job)
        for pod in pods:
            await self.client.delete(Pod.resource, pod["metadata"]["name"], pod["metadata"]["namespace"])
        if not pods and kueue.Workload.view(workload).is_leaving:
            await self._release(workload)

    async def _go_on(self, job: Manifest) -> None:
        pods = await self._pods(job)
        there = {pod["metadata"]["name"] for pod in pods}
        for manifest in pods_for(job):
            if manifest["metadata"]["name"] not in there:
                await self.client.create(Pod.resource, manifest)
        metadata, phase = job["metadata"], phase_of(pods)
        if phase != (job.get("status") or {}).get("phase"):
            patch = {"metadata": precondition_of(metadata), "status": {"phase": phase}}
            resource, name = Pipeline.resource, metadata["name"]
            await self.client.merge(resource, name, metadata["namespace"], patch, subresource="status")

    async def _pods(self, job: Manifest) -> list[Manifest]:
        """Return the pods of this very job: those of an earlier one by its name are about to go."""
        metadata = job["metadata"]
        page = await self.client.list(Pod.resource, metadata["namespace"], labels=f"{LABEL}={metadata['name']}")
        return [pod for pod in page.items if pod["metadata"]["ownerReferences"][0]["uid"] == metadata["uid"]]

    # On either

    async def _workload(self, job: Manifest, name: str) -> Manifest | None:
        return await self.client.find(kueue.Workload.resource, name, job["metadata"]["namespace"])

    async def _change(self, workload: Manifest, *, metadata: Manifest | None = None, **fields: Manifest) -> None:
        seen = workload["metadata"]
        patch = {"metadata": {**precondition_of(seen), **(metadata or {})}, **fields}
        await self.client.merge(kueue.Workload.resource, seen["name"], seen["namespace"], patch)

    async def _release(self, workload: Manifest) -> None:
        evicted = find(kueue.Workload.view(workload).status.conditions, kueue.EVICTED)
        assert evicted is not None
        await self.writes.release(workload, evicted)


def owned(job: Manifest, made: Manifest) -> Manifest:
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [reference_to(job)]}}


def reference_to(job: Manifest) -> Manifest:
    return controller_reference(Pipeline.resource, job["metadata"]["name"], job["metadata"]["uid"])


def pods_for(job: Manifest) -> list[Manifest]:
    metadata, spec = job["metadata"], job["spec"]
    template = spec["template"]
    return [
        owned(
            job,
            Pod.manifest(
                f"{metadata['name']}-{number}",
                metadata["namespace"],
                labels={LABEL: metadata["name"]},
                annotations=template["metadata"].get("annotations"),
                spec=template["spec"],
            ),
        )
        for number in range(spec["pods"])
    ]


def phase_of(pods: Sequence[Manifest]) -> str:
    """Return what a job says of itself while its pods say what they do."""
    phases = {pod.get("status", {}).get("phase", "Pending") for pod in pods}
    if "Failed" in phases:
        return "Failed"
    if phases == {"Succeeded"}:
        return "Succeeded"
    return "Running" if "Running" in phases else "Pending"


def _job_of(made: Object) -> Iterable[str]:
    owner = made.controller
    return (key_of(made.namespace, owner.name),) if owner is not None and owner.kind == PIPELINE.resource.kind else ()
