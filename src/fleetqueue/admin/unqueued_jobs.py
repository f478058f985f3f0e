"""Jobs that name a queue and have no Workload: Kueue does not manage their kind, or has not made one, or it is gone.

Reads: every kind that Kueue knows, as far as it is served and may be listed; Kueue's configuration, where it may be
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.dispatcher import NoKueueConfig, find
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.kueue_configuration import Configuration, read
from fleetqueue.api.kueue_pods import GROUP_TOTAL_COUNT, OWNER_GVK, OWNER_NAME, SUSPENDING_PARENT, group_name
from fleetqueue.api.meta import ObjectMeta
from fleetqueue.api.queued_kinds import QUEUED_KINDS, framework_of, is_managed
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

NOT_QUEUED: Final = "NotQueued"
"""The state of a job that has no Workload and has not ended."""
ENDED: Final = ("Complete", "Completed", "Failed", "Succeeded", "Finished")
"""Conditions, or phases, by which kinds say that they have ended."""
NO_WORKLOAD: Final = "Kueue has made no Workload for it"
"""How each reason begins where nothing better is known."""
SEE_KUEUE: Final = "look at the Events of the job, at integrations.frameworks of Kueue's configuration, and at its log"
ENDED_WITHOUT: Final = "it has ended, and its Workload is gone"


async def kueue_configuration(hub: Client, namespace: str = KUEUE_NAMESPACE) -> Configuration | None:
    """Read Kueue's configuration; None for those who may not, and where it is not found."""
    try:
        return read((await find(hub, namespace)).text)
    except (errors.Forbidden, NoKueueConfig):
        return None


async def unqueued_jobs(hub: Client, namespace: str, workloads: Collection[kueue.Workload]) -> list[dict[str, Any]]:
    """Return a row for each job of a namespace, or of all, that names a queue and has no Workload."""
    kinds = [resource for resource in QUEUED_KINDS.values() if resource != Deployment.resource]  # its pods are the jobs
    found = await asyncio.gather(*(_labelled(hub, resource, namespace) for resource in kinds))
    without = without_workload({r: items for r, items in zip(kinds, found, strict=True) if items}, workloads)
    configuration = await kueue_configuration(hub) if without else None
    rows = [unqueued_row(resource, items, configuration) for resource, items in without]
    return sorted(rows, key=lambda row: (row["namespace"], row["job"]))


def without_workload(
    found: Mapping[Resource, Iterable[Manifest]], workloads: Iterable[kueue.Workload]
) -> list[tuple[Resource, list[Manifest]]]:
    """Return the jobs that no Workload is for; the pods of a group are one job."""
    known = Known(workloads)
    groups: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
    jobs = []
    for resource, items in found.items():
        for job in items:
            metadata = job["metadata"]
            if _belongs_to_a_job(metadata) or known.has(resource, metadata):
                continue
            if resource == Pod.resource and group_name(metadata):
                groups[metadata["namespace"], group_name(metadata)].append(job)
            else:
                jobs.append((resource, [job]))
    return [*jobs, *((Pod.resource, pods) for pods in groups.values())]


class Known:
    """What Workloads are for: by uid, by the name of a set, by the name of a group of pods."""

    def __init__(self, workloads: Iterable[kueue.Workload]) -> None:
        self._uids: set[str] = set()
        self._sets: set[tuple[str, str, str]] = set()
        self._names: set[tuple[str, str]] = set()
        for workload in workloads:
            annotations = workload.metadata.annotations
            _, _, kind = annotations.get(OWNER_GVK, "").partition("Kind=")
            self._uids.update(owner.uid for owner in workload.metadata.owner_references)
            self._uids.add(workload.metadata.labels.get(kueue.JOB_UID_LABEL, ""))
            self._sets.add((workload.namespace, kind, annotations.get(OWNER_NAME, "")))
            self._names.add((workload.namespace, workload.name))

    def has(self, resource: Resource, metadata: Manifest) -> bool:
        namespace = metadata["namespace"]
        prebuilt = (metadata.get("labels") or {}).get(kueue.PREBUILT_WORKLOAD, "")
        return (
            metadata["uid"] in self._uids
            or (namespace, resource.kind, metadata["name"]) in self._sets
            or (namespace, group_name(metadata)) in self._names
            or (namespace, prebuilt) in self._names
        )


def _belongs_to_a_job(metadata: Manifest) -> bool:
    """Tell whether an object is a part of a job, which is told of itself."""
    owners = msgspec.convert(metadata, ObjectMeta).owner_references
    is_below = any(o.controller and framework_of(o.api_version.rpartition("/")[0], o.kind) for o in owners)
    return is_below or SUSPENDING_PARENT in (metadata.get("annotations") or {})


def unqueued_row(resource: Resource, objects: list[Manifest], configuration: Configuration | None) -> dict[str, Any]:
    """Tell of a job as the row of one with a Workload does."""
    metadata = objects[0]["metadata"]
    group = group_name(metadata) if resource == Pod.resource else ""
    is_ended = all(map(has_ended, objects))
    cause = Cause("Finished", ENDED_WITHOUT) if is_ended else why_not_queued(resource, objects, configuration)
    return {
        "namespace": metadata["namespace"],
        "job": f"{resource.kind}/{group or metadata['name']}",
        "queue": metadata["labels"][kueue.QUEUE_LABEL],
        "state": kueue.FINISHED if is_ended else NOT_QUEUED,
        "clusters": [],
        "members": [],
        "position": None,
        "local_position": None,
        "waited_seconds": None,
        "ran_seconds": None,
        "result": (kueue.FAILED if any(map(has_failed, objects)) else kueue.SUCCEEDED) if is_ended else "",
        "cause": cause.code,
        "why": cause.sentence,
        "step": cause.step,
        "created": msgspec.convert(metadata, ObjectMeta).creation_timestamp,
        "workload": "",
    }


def why_not_queued(resource: Resource, objects: list[Manifest], configuration: Configuration | None) -> Cause:
    """Say why a job has no Workload, as far as that is known."""
    metadata = objects[0]["metadata"]
    if metadata.get("deletionTimestamp"):
        return Cause("NoWorkload", "it is being deleted", "wait until its finalizers are taken off")
    if configuration is not None and not is_managed(resource.group, resource.kind, configuration):
        framework = framework_of(resource.group, resource.kind)
        return Cause("NoWorkload", f"{NO_WORKLOAD}: its configuration on this hub does not list {framework}", SEE_KUEUE)
    total = (metadata.get("annotations") or {}).get(GROUP_TOTAL_COUNT, "")
    if group_name(metadata) and total.isdecimal() and len(objects) < int(total):
        why = f"{len(objects)} of the {total} pods of its group are there; Kueue queues the group when all are"
        return Cause("NoWorkload", why, "create the missing pods of the group")
    if configuration is None:
        return Cause("NoWorkload", f"{NO_WORKLOAD}; either it is about to, or it does not manage this kind", SEE_KUEUE)
    why = f"{NO_WORKLOAD} yet; if that stays, look at the Events of the job and at Kueue's log"
    return Cause("NoWorkload", why, SEE_KUEUE)


def has_ended(job: Manifest) -> bool:
    """Tell whether a job says that it has ended, in any of the ways that kinds have."""
    return any(word in ENDED for word in _said(job))


def has_failed(job: Manifest) -> bool:
    return kueue.FAILED in _said(job)


def _said(job: Manifest) -> list[str]:
    status = job.get("status") or {}
    true = [c.get("type") for c in status.get("conditions") or () if c.get("status") == "True"]
    return [*true, status.get("phase"), status.get("terminalState")]


async def _labelled(hub: Client, resource: Resource, namespace: str) -> list[Manifest]:
    """List the objects of a kind that name a queue; none where that is not allowed, or it is not served."""
    try:
        return (await hub.list(resource, namespace, labels=kueue.QUEUE_LABEL)).items
    except (errors.Forbidden, errors.NotFound):
        return []
