"""Put together what is known of one Workload, on the hub and on all workers; nothing is asked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_pods import COMPONENT_INDEX, OWNER_GVK, OWNER_NAME
from fleetqueue.api.meta import OwnerReference, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.adapters import Adapter
from fleetqueue.embedded.multikueue.remote import RemoteClient, RemoteClients
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.embedded.multikueue.workload_group import (
    RemoteCopy,
    Siblings,
    WorkloadGroup,
    is_larger,
    is_same_but_priority,
    is_same_spec,
)
from fleetqueue.runtime.cluster import Cluster

BY_JOB: Final = "multikueue job"

HasAll = Callable[[Sequence[Manifest]], bool]
"""Tells whether these are all objects of a job that a worker has to have."""


@dataclass(frozen=True, slots=True)
class NotDispatchable:
    """A Workload that cannot be sent anywhere."""

    check: kueue.CheckState
    message: str


class WorkloadGroups:
    def __init__(
        self, hub: Cluster, remotes: RemoteClients, adapters: Sequence[Adapter], settings: MultiKueueSettings
    ) -> None:
        self.hub = hub
        self.remotes = remotes
        self.adapters: Mapping[tuple[str, str], Adapter] = {
            (adapter.kind.resource.api_version, adapter.kind.resource.kind): adapter for adapter in adapters
        }
        self.settings = settings
        hub.informer(kueue.QueuedWorkload).store.add_index(BY_JOB, job_keys)

    def local(self, key: str) -> tuple[kueue.Workload, Manifest] | None:
        store = self.hub.cache(kueue.QueuedWorkload)
        view, raw = store.get(key), store.raw(key)
        return None if view is None or raw is None else (view, raw)

    def find(self, key: str) -> WorkloadGroup | NotDispatchable | None:
        """Return a Workload of MultiKueue's with all of its copies; None where it is not, or no longer, ours."""
        values = self.local(key)
        check = self.check(values[0]) if values is not None else None
        if values is None or check is None or check.state == kueue.REJECTED:
            return None
        local, raw = values
        owner = owner_of(local)
        adapter = self.adapters.get((owner.api_version, owner.kind)) if owner is not None else None
        if adapter is None or owner is None:
            return NotDispatchable(check, messages.no_adapter(owner))
        jobs = self.jobs(adapter, local)
        why_not = adapter.why_not_managed(jobs[0]) if jobs and local.is_live else ""
        if why_not:
            return NotDispatchable(check, why_not)
        listed = self.listed(check)
        created = local.metadata.creation_timestamp
        return WorkloadGroup(
            local,
            check,
            listed,
            {
                copy.cluster: copy
                for copy in self._copies(key, raw, local, listed or (), partial(_has_all, adapter, jobs, local.name))
            },
            adapter,
            jobs,
            self._siblings(adapter, local, jobs),
            now=clock.now(),
            lost_timeout=self.settings.worker_lost_timeout,
            is_older=created is None or created < self.remotes.started,
        )

    def check(self, workload: kueue.Workload) -> kueue.CheckState | None:
        """Return MultiKueue's entry among the checks of a Workload."""
        for state in workload.status.admission_checks:
            check = self.hub.get(kueue.AdmissionCheck, state.name)
            if check is not None and check.is_multikueue:
                return state
        return None

    def listed(self, check: kueue.CheckState) -> tuple[str, ...] | None:
        admission_check = self.hub.get(kueue.AdmissionCheck, check.name)
        config = (
            self.hub.get(kueue.MultiKueueConfig, admission_check.config_name) if admission_check is not None else None
        )
        return config.spec.clusters if config is not None else None

    def jobs(self, adapter: Adapter, local: kueue.Workload) -> tuple[Manifest, ...]:
        """Return the objects of the hub's job; others of the same name do not count."""
        store, resource = self.hub.informer(adapter.kind, labels=adapter.labels).store, adapter.kind.resource
        owners = [local.owner] if local.owner is not None else local.metadata.owner_references
        found = (store.raw(key_of(local.namespace, one.name)) for one in owners if one.kind == resource.kind)
        uids = {owner.uid for owner in owners}
        return tuple(raw for raw in found if raw is not None and raw["metadata"]["uid"] in uids)

    def siblings(self, local: kueue.Workload) -> Sequence[kueue.QueuedWorkload]:
        """Return all Workloads of a job that has several; none where it has one."""
        owner = owner_of(local) if COMPONENT_INDEX in local.metadata.annotations else None
        if owner is None:
            return ()
        return self.hub.by_index(kueue.QueuedWorkload, BY_JOB, f"{owner.kind}/{local.namespace}/{owner.name}")

    def _siblings(self, adapter: Adapter, local: kueue.Workload, jobs: Sequence[Manifest]) -> Siblings | None:
        found = sorted(self.siblings(local), key=_index)
        if not found:
            return None
        clusters = [view.status.cluster_name for view in found if view.name != local.name]
        expected = adapter.workload_count(jobs[0]) if jobs else 0
        is_first = found[0].name == local.name
        return Siblings(len(found) >= expected, is_first, next(filter(None, clusters), ""))

    def _copies(
        self, key: str, raw: Manifest, local: kueue.Workload, listed: Sequence[str], has_all: HasAll
    ) -> Iterable[RemoteCopy]:
        """Return what each worker has; one that has two names is known again by its address, or by what is there."""
        seen: set[object] = set()
        for name in self._names(key, local, listed):
            remote = self.remotes.get(name)
            if remote is None:
                lost_for = self.remotes.lost_for(name)
                yield RemoteCopy(name, is_connected=False, is_known=False, lost_for=lost_for)
                continue
            copy = _copy(remote, key, raw, has_all)
            marks = {mark for mark in (remote.address, *copy.uids) if mark}
            if seen.isdisjoint(marks):
                yield copy
            seen |= marks

    def _names(self, key: str, local: kueue.Workload, listed: Sequence[str]) -> Iterable[str]:
        """Return who is listed, and who else has anything or was never seen.

        Of one worker's names, that one comes first by which the Workload was sent there, or may be.
        """

        def rank(name: str) -> tuple[bool, bool]:
            remote = self.remotes.get(name)
            return name not in local.clusters, remote is None or not remote.is_connected

        others = [
            remote.name
            for remote in self.remotes
            if remote.name not in listed and (remote.has_anything(key) or not remote.is_known)
        ]
        yield from sorted(listed, key=rank)
        yield from sorted(others, key=rank)


def owner_of(workload: kueue.Workload) -> OwnerReference | None:
    """Return the job that a Workload was made for; one for a group of pods says whose they are."""
    annotations = workload.metadata.annotations
    api_version, _, kind = annotations.get(OWNER_GVK, "").partition(", Kind=")
    if name := annotations.get(OWNER_NAME) if kind else "":
        return OwnerReference(api_version=api_version, kind=kind, name=name)
    return workload.owner or next(iter(workload.metadata.owner_references), None)


def outdated_jobs(adapter: Adapter, jobs: Sequence[Manifest], copies: Sequence[Manifest]) -> list[Manifest]:
    """Return the copies that have to be sent anew."""
    return [copy for job, copy in _with_copies(jobs, copies) if adapter.is_outdated(job, copy)]


def changed_copies(
    adapter: Adapter, jobs: Sequence[Manifest], copies: Sequence[Manifest], workload: str
) -> list[tuple[Manifest, Manifest]]:
    """Return the copies that take something over while they run, and what they are to be."""
    pairs = _with_copies(jobs, copies)
    return [(copy, wanted) for job, copy in pairs if (wanted := adapter.followed(job, copy, workload)) != copy]


def _with_copies(jobs: Sequence[Manifest], copies: Sequence[Manifest]) -> list[tuple[Manifest, Manifest]]:
    """Return each of the hub's objects that a worker has a copy of, and the copy."""
    by_name = {job["metadata"]["name"]: job for job in jobs}
    return [(by_name[name], copy) for copy in copies if (name := copy["metadata"]["name"]) in by_name]


def _has_all(adapter: Adapter, jobs: Sequence[Manifest], workload: str, copies: Sequence[Manifest]) -> bool:
    """Tell whether a worker has all objects of a job that it has to have."""
    if not copies:
        return False
    names = {copy["metadata"]["name"] for copy in copies}
    wanted = (job["metadata"]["name"] for job in jobs if adapter.is_to_run(job))
    is_current = not outdated_jobs(adapter, jobs, copies) and not changed_copies(adapter, jobs, copies, workload)
    return names.issuperset(wanted) and is_current


def job_keys(workload: kueue.QueuedWorkload) -> Iterable[str]:
    """Return by which objects a Workload is found: its job, or all pods of a group."""
    for owner in workload.metadata.owner_references:
        yield f"{owner.kind}/{workload.namespace}/{owner.name}"


def _index(workload: kueue.Workload) -> int:
    text = workload.metadata.annotations.get(COMPONENT_INDEX, "")
    return int(text) if text.isdecimal() else 0


def _copy(remote: RemoteClient, key: str, local: Manifest, has_all: HasAll) -> RemoteCopy:
    raw, jobs = remote.workload(key), tuple(job for _, job in remote.own_jobs_of(key))
    is_same = raw is None or is_same_spec(local, raw)
    return RemoteCopy(
        remote.name,
        view=remote.workloads.store.get(key),
        is_same=is_same,
        is_same_but_priority=not is_same and raw is not None and is_same_but_priority(local, raw),
        is_larger=not is_same and raw is not None and is_larger(local, raw),
        jobs=jobs,
        has_all=has_all(jobs),
        is_sending=key in remote.sent,
        is_connected=remote.is_connected,
        is_known=remote.is_known,
        lost_for=remote.lost_for,
    )
