"""Run JobSets: keep the Jobs that they ask for, suspend and resume them, restart them, and say how they ended.

Reads:   JobSet, Job, Service
Writes:  Job (create, delete, suspension, pod template; the start in its status), Service, JobSet status, Events
Mirrors: jobset pkg/controllers
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import NORMAL
from fleetqueue.api.jobset_v1alpha2 import JOBSET_CONTROLLER, JobSet
from fleetqueue.api.meta import Object, key_of, precondition_of, split_key
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.jobset.children import NAME, REPLICATED, labels, owned_by, parts, subdomain
from fleetqueue.embedded.jobset.plan import JobSetPlan, plan
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

BY_JOB_SET: Final = "job set"
FORWARDED: Final = ("nodeSelector", "tolerations", "schedulingGates")

log = Log("jobset")


class Service(Object):
    resource: ClassVar = Resource("", "v1", "Service", "services")


class JobSetController(Controller):
    name = "jobsets"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = SeriesRecorder(hub.client, "jobset")
        self.jobs = hub.informer(Job, labels=NAME).store
        """The Jobs that JobSets made; of a cluster's other Jobs nothing is heard."""
        self.jobs.add_index(BY_JOB_SET, _job_set_of)

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(JobSet, by_key), Watch(Job, _job_set_of, labels=NAME), Watch(Service, _job_set_of)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        view = self.hub.get(JobSet, name, namespace)
        raw = self.hub.informer(JobSet).store.raw(key)
        if view is None or raw is None or view.is_deleting or view.spec.managed_by not in ("", JOBSET_CONTROLLER):
            return
        result = plan(raw, self._jobs(key, view.uid), clock.now())
        await self._act(view, raw, result)
        await self._write_status(view, raw, result)
        if result.deletes_itself:
            await self.hub.client.delete(JobSet.resource, name, namespace, uid=view.uid)
        if result.again_in is not None:
            raise errors.RetryLater(result.again_in, "it is deleted then")

    async def _act(self, view: JobSet, raw: Manifest, result: JobSetPlan) -> None:
        client = self.hub.client
        for job in result.delete:
            if "deletionTimestamp" not in job["metadata"]:
                metadata = job["metadata"]
                where = metadata["name"], metadata["namespace"]
                await client.delete(Job.resource, *where, uid=metadata["uid"], propagation="Foreground")
        if result.needs_service and self.hub.get(Service, subdomain(raw), view.namespace) is None:
            await client.create(Service.resource, _service(raw))
        for manifest in result.create:
            await client.create(Job.resource, manifest)
            log.info("job created", jobset=view.key, job=manifest["metadata"]["name"])
        for job in result.suspend:
            await self._patch(job, {"spec": {"suspend": True}})
        templates = {part["name"]: part["template"]["spec"]["template"] for part in parts(raw)}
        for job in result.resume:
            await self._resume(job, templates.get(labels(job).get(REPLICATED, "")) or {})

    async def _resume(self, job: Manifest, template: Manifest) -> None:
        """Let a Job run with what its JobSet says of its pods now."""
        if "startTime" in (job.get("status") or {}):
            job = await self._patch(job, {"status": {"startTime": None}}, "status")
        live = job["spec"]["template"]
        given, spec = template.get("metadata") or {}, template.get("spec") or {}
        metadata = {field: given[field] for field in ("labels", "annotations") if given.get(field)}
        wanted: Manifest = {"nodeSelector": spec["nodeSelector"]} if spec.get("nodeSelector") else {}
        for field in FORWARDED[1:]:
            have = live["spec"].get(field) or []
            more = [item for item in spec.get(field) or () if item not in have]
            if more:
                wanted[field] = [*have, *more]
        await self._patch(job, {"spec": {"suspend": False, "template": {"metadata": metadata, "spec": wanted}}})

    async def _patch(self, job: Manifest, patch: Manifest, subresource: str = "") -> Manifest:
        metadata = job["metadata"]
        patch = {**patch, "metadata": precondition_of(metadata)}
        where = metadata["name"], metadata["namespace"]
        return await self.hub.client.merge(Job.resource, *where, patch, subresource=subresource)

    async def _write_status(self, view: JobSet, raw: Manifest, result: JobSetPlan) -> None:
        if result.status == {"restarts": 0, **(raw.get("status") or {})} and "status" in raw:
            return
        patch = {"metadata": view.precondition, "status": result.status}
        await self.hub.client.merge(view.resource, view.name, view.namespace, patch, subresource="status")
        for kind, reason, note in result.says:
            log.info("jobset changed", jobset=view.key, reason=reason)
            say = self.events.normal if kind == NORMAL else self.events.warning
            await say(view, reason, note, action="Reconciling")

    def _jobs(self, key: str, uid: str) -> list[Manifest]:
        jobs = [raw for view in self.jobs.by_index(BY_JOB_SET, key) if (raw := self.jobs.raw(view.key)) is not None]
        return [raw for raw in jobs if any(o["uid"] == uid for o in raw["metadata"].get("ownerReferences") or ())]


def _job_set_of(obj: Object) -> Iterable[str]:
    for owner in obj.metadata.owner_references:
        if owner.controller and (owner.api_version, owner.kind) == (JobSet.resource.api_version, JobSet.resource.kind):
            yield key_of(obj.namespace, owner.name)


def _service(job_set: Manifest) -> Manifest:
    network = job_set["spec"].get("network") or {}
    spec = {
        "clusterIP": "None",
        "selector": {NAME: job_set["metadata"]["name"]},
        "publishNotReadyAddresses": network.get("publishNotReadyAddresses", True),
    }
    made = Service.manifest(subdomain(job_set), job_set["metadata"]["namespace"], spec=spec)
    made["metadata"]["ownerReferences"] = [owned_by(job_set)]
    return made
