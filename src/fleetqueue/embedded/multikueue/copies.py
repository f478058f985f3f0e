"""Bring what one worker has of the hub's Workloads right: copies, jobs, evictions, and the removal of all that.

Reads:   what `groups` knows, the hub's Workload once more before a job is sent
Writes:  on the worker: Workload (create, delete, finalizer, priority, size; its status to evict it), jobs (the same)
Mirrors: Kueue pkg/controller/admissionchecks/multikueue, pkg/controller/jobframework/utils.go
"""

from contextlib import suppress
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.conditions import TRUE, find, timestamp
from fleetqueue.api.meta import Object, precondition_of, replacement, split_key
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.bound_copies import workloads_of
from fleetqueue.embedded.multikueue.decisions import Wanted, wanted_on_each
from fleetqueue.embedded.multikueue.group_lookup import NotDispatchable, WorkloadGroups, changed_copies, outdated_jobs
from fleetqueue.embedded.multikueue.metrics import MultiKueueMetrics
from fleetqueue.embedded.multikueue.names import DEACTIVATION_TARGET, EVICTED_ON_MANAGER, IN_USE, WORKLOAD_CONTROLLER
from fleetqueue.embedded.multikueue.remote import RemoteClient
from fleetqueue.embedded.multikueue.remote_objects import Sent
from fleetqueue.embedded.multikueue.workload_group import PRIORITY, RemoteCopy, WorkloadGroup
from fleetqueue.rules import workload_admission
from fleetqueue.rules.workload_slices import REPLACES
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import apply_admission

FOREIGN_SECONDS: Final = 10.0
"""Somebody else's job is in the way; nothing wakes us when it goes."""
LONGEST: Final = 32 * 1024
"""Bytes of a condition's message."""

log = Log("multikueue")


class CopyController(Controller):
    name = "multikueue copies"
    concurrency = 8

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        *,
        remote: RemoteClient,
        groups: WorkloadGroups,
        multikueue_metrics: MultiKueueMetrics,
    ) -> None:
        super().__init__(hub, metrics)
        self.remote = remote
        self.groups = groups
        self.multikueue_metrics = multikueue_metrics
        self.events = Recorder(hub.client, WORKLOAD_CONTROLLER)

    async def reconcile(self, key: str) -> None:
        try:
            await self._bring(key)
        except (errors.Unreachable, errors.Unauthorized) as error:
            self.remote.doubt(error)
            raise

    async def _bring(self, key: str) -> None:
        if self.groups.local(key) is None:
            await self._remove(key)
            return
        group = self.groups.find(key)
        if group is None or isinstance(group, NotDispatchable):
            return
        copy = group.copies.get(self.remote.name)
        if copy is None:
            return
        match wanted_on_each(group)[copy.cluster]:
            case Wanted.NOTHING:
                await self._remove(key)
            case Wanted.WORKLOAD:
                await self._offer(key, group, copy)
            case Wanted.JOB:
                await self._give(key, group, copy)
            case Wanted.EVICTION:
                await self._evict(key, group.local)

    # What it brings

    async def _offer(self, key: str, group: WorkloadGroup, copy: RemoteCopy) -> None:
        local_entry = self.groups.local(key)
        if local_entry is None:
            return
        if copy.view is not None:
            await self._bring_spec(key, local_entry[1], copy)
            return
        await self.remote.client.create(kueue.Workload.resource, clone(local_entry[1], self.groups.settings.origin))
        admission = group.local.status.admission
        queue = admission.cluster_queue if admission is not None else ""
        self.multikueue_metrics.dispatched.labels(queue, self.remote.name, self.multikueue_metrics.role).inc()

    async def _give(self, key: str, group: WorkloadGroup, copy: RemoteCopy) -> None:
        local_entry = self.groups.local(key)
        if local_entry is None or copy.view is None:
            return
        await self._bring_spec(key, local_entry[1], copy)
        if await self._is_outdated(group, copy):
            return
        for job, wanted in changed_copies(group.adapter, group.jobs, copy.jobs, group.local.name):
            await self._change(group.adapter.kind.resource, job, wanted)
        missing = _missing(group, copy)
        if not missing or await self._has_arrived(key):
            return
        if await self._is_still_meant(group.local):
            for job in missing:
                if not await self._takes_over(group, job):
                    await self._send(key, group, job)

    async def _is_outdated(self, group: WorkloadGroup, copy: RemoteCopy) -> bool:
        """Take away what has to be sent anew; who sees that it has gone comes back here."""
        outdated = outdated_jobs(group.adapter, group.jobs, copy.jobs)
        for job in outdated:
            metadata = job["metadata"]
            if "deletionTimestamp" not in metadata:
                resource = group.adapter.kind.resource
                await self._delete(resource, metadata["name"], metadata["namespace"], metadata["uid"])
        return bool(outdated)

    async def _bring_spec(self, key: str, local: Manifest, copy: RemoteCopy) -> None:
        """Bring a copy to the priority of the hub's Workload; and to its size, where that has shrunk."""
        raw = self.remote.workload(key)
        if raw is None or copy.is_same or not copy.can_follow:
            return
        fields = (*PRIORITY, "podSets") if copy.is_larger else PRIORITY
        await self._update(raw, spec={name: local["spec"].get(name) for name in fields})

    async def _update(self, raw: Manifest, **changes: Manifest) -> None:
        """Replace the worker's Workload by one with some fields changed, as Kueue does: to patch it has no right."""
        metadata = raw["metadata"]
        live = await self.remote.client.find(kueue.Workload.resource, metadata["name"], metadata["namespace"])
        if live is not None and live["metadata"]["uid"] == metadata["uid"]:
            changed = {part: {**live[part], **fields} for part, fields in changes.items()}
            await self.remote.client.update(kueue.Workload.resource, {**live, **changed})

    async def _change(self, resource: Resource, job: Manifest, wanted: Manifest) -> None:
        """Make what is wanted of the very job that was seen."""
        metadata = job["metadata"]
        patch = replacement(job, wanted)
        patch["metadata"] = {**patch.get("metadata", {}), **precondition_of(metadata)}
        await self.remote.client.merge(resource, metadata["name"], metadata["namespace"], patch)

    async def _takes_over(self, group: WorkloadGroup, job: Manifest) -> bool:
        """Let a slice take over the job that the slice before it has there, if there is one."""
        resource, metadata = group.adapter.kind.resource, job["metadata"]
        if not group.is_elastic:
            return False
        found = await self.remote.client.find(resource, metadata["name"], metadata["namespace"])
        if found is None or not self._is_of_a_slice(group, group.adapter.kind.view(found)):
            return False
        wanted = group.adapter.followed(job, found, group.local.name)
        if wanted != found:
            await self._change(resource, found, wanted)
        return True

    def _is_of_a_slice(self, group: WorkloadGroup, job: Object) -> bool:
        """Tell whether a job there is ours, and bound to this slice or an earlier one of the same job."""
        if job.metadata.labels.get(kueue.ORIGIN_LABEL) != self.groups.settings.origin:
            return False
        of, local = workloads_of(job), group.local
        owners = [known[0].owner for known in map(self.groups.local, of) if known is not None]
        is_known = any(owner is not None and owner == local.owner for owner in owners)
        return is_known or local.metadata.annotations.get(REPLACES) in of

    async def _is_still_meant(self, local: kueue.Workload) -> bool:
        """Ask the hub itself: after what is only remembered, a job could be started a second time."""
        raw = await self.hub.client.get(kueue.Workload.resource, local.name, local.namespace)
        now = kueue.Workload.view(kueue.Workload.trim(raw))
        is_placed_here = now.status.cluster_name in ("", self.remote.name)
        return now.uid == local.uid and now.is_live and now.has_quota and is_placed_here

    async def _send(self, key: str, group: WorkloadGroup, job: Manifest) -> None:
        made = group.adapter.copy(job, group.local.name, self.groups.settings.origin)
        metadata, kind = made["metadata"], group.adapter.kind
        sent = Sent(kind, metadata["name"], metadata["namespace"])
        self.remote.note_sent(key, sent)
        try:
            await self.remote.client.create(kind.resource, made)
        except errors.AlreadyExists:
            await self._look_at_namesake(key, group.local, sent)
        except errors.ApiError as error:
            if error.code < 500:  # refused; anything else may have happened all the same
                self.remote.forget_sent(key, sent.name)
            raise
        else:
            log.info("job sent", workload=key, cluster=self.remote.name)

    async def _has_arrived(self, key: str) -> bool:
        """Find out whether anything that was sent is there, if it was not seen yet."""
        for sent in self.remote.sent.get(key, ()):
            if await self.remote.client.find(sent.kind.resource, sent.name, sent.namespace) is None:
                self.remote.forget_sent(key, sent.name)
        return key in self.remote.sent

    async def _look_at_namesake(self, key: str, local: kueue.Workload, sent: Sent) -> None:
        """Find out whose job it is that has the name already."""
        self.remote.forget_sent(key, sent.name)
        try:
            raw = await self.remote.client.get(sent.kind.resource, sent.name, sent.namespace)
        except errors.NotFound:
            raise errors.RetryLater(0, "it has just gone") from None
        view, origin = sent.kind.view(raw), self.groups.settings.origin
        of = workloads_of(view)
        if view.metadata.labels.get(kueue.ORIGIN_LABEL) != origin:
            why = (
                f'remote object is not owned by MultiKueue: expected "{kueue.ORIGIN_LABEL}"="{origin}" '
                f'on {sent.kind.resource.kind} "{sent.namespace}/{sent.name}" of {self.remote.name}'
            )
            await self.events.warning(local, "MultiKueue", why)
            raise errors.RetryLater(FOREIGN_SECONDS, why)
        if key in of:
            self.remote.note_sent(key, sent)  # ours, and about to be seen
        elif not any(map(self.groups.local, of)):
            await self.remote.client.delete(sent.kind.resource, sent.name, sent.namespace, uid=view.uid)
            raise errors.RetryLater(1.0, "the job of a Workload that is gone was in the way")
        else:
            raise errors.RetryLater(FOREIGN_SECONDS, f"the job of {', '.join(of)} is in the way")

    async def _evict(self, key: str, local: kueue.Workload) -> None:
        """Let the worker's Kueue stop the job, so that its last status comes back."""
        raw, evicted = self.remote.workload(key), find(local.status.conditions, kueue.EVICTED)
        if raw is None or evicted is None or is_true(raw, DEACTIVATION_TARGET) or raw["spec"].get("active") is False:
            return
        condition = {
            "type": DEACTIVATION_TARGET,
            "status": TRUE,
            "reason": EVICTED_ON_MANAGER,
            "message": messages.evicted_on_hub(evicted.message)[:LONGEST],
            "lastTransitionTime": timestamp(clock.now()),
            "observedGeneration": raw["metadata"].get("generation") or 0,
        }
        manifest = workload_admission.patch(raw, conditions=workload_admission.with_condition(raw, condition))
        await apply_admission(self.remote.client, manifest)

    # What it takes away

    async def _remove(self, key: str) -> None:
        """Take away the job first: without it, a Workload that is left does no harm."""
        await self._remove_sent(key)
        namespace, name = split_key(key)
        for kind, job in self.remote.jobs_of(key):
            metadata = job["metadata"]
            if "deletionTimestamp" not in metadata and not self._is_for_others(key, kind.view(job)):
                await self._delete(kind.resource, metadata["name"], namespace, metadata["uid"])
        raw = self.remote.workload(key)
        if raw is None:
            return
        metadata = raw["metadata"]
        if IN_USE in (metadata.get("finalizers") or ()):
            kept = [finalizer for finalizer in metadata["finalizers"] if finalizer != IN_USE]
            await self._update(raw, metadata={"finalizers": kept})
        if "deletionTimestamp" not in metadata:
            await self._delete(kueue.Workload.resource, name, namespace, metadata["uid"])
            log.info("copy removed", workload=key, cluster=self.remote.name)

    async def _remove_sent(self, key: str) -> None:
        for sent in self.remote.sent.get(key, ()):
            raw = await self.remote.client.find(sent.kind.resource, sent.name, sent.namespace)
            if raw is not None:
                view = sent.kind.view(raw)
                is_ours = view.metadata.labels.get(kueue.ORIGIN_LABEL) == self.groups.settings.origin
                if is_ours and not self._is_for_others(key, view):
                    await self._delete(sent.kind.resource, sent.name, sent.namespace, view.uid)
            self.remote.forget_sent(key, sent.name)

    def _is_for_others(self, key: str, job: Object) -> bool:
        """Tell whether other Workloads of the same job still run by an object here."""
        others = [self.groups.local(other) for other in workloads_of(job) if other != key]
        here = [local for local, _ in filter(None, others) if self.remote.name in local.clusters]
        return any(local.is_live and local.has_quota for local in here)

    async def _delete(self, resource: Resource, name: str, namespace: str, uid: str) -> None:
        with suppress(errors.NotFound):
            await self.remote.client.delete(resource, name, namespace, uid=uid)


def _missing(group: WorkloadGroup, copy: RemoteCopy) -> list[Manifest]:
    """Return what a worker still has to get of a job."""
    names = {job["metadata"]["name"] for job in copy.jobs}
    return [job for job in group.jobs if job["metadata"]["name"] not in names and group.adapter.is_to_run(job)]


def clone(raw: Manifest, origin: str) -> Manifest:
    """Return what a worker gets of a Workload: no owner, no finalizer, no status."""
    metadata = raw["metadata"]
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != kueue.JOB_UID_LABEL}
    return kueue.Workload.manifest(
        metadata["name"],
        metadata["namespace"],
        labels={**labels, kueue.ORIGIN_LABEL: origin},
        annotations=metadata.get("annotations"),
        spec=raw["spec"],
    )
