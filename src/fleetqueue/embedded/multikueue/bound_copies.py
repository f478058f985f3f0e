"""How an object on a worker is bound to the Workload that it is a copy for."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_pods import ORIGIN_UID
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.workload_names import workload_name


def bound_copy(kind: type[Object], job: Manifest, workload: str, origin: str) -> Manifest:
    """Return a hub's object as a worker gets it: without owners and finalizers, and with the name of its Workload."""
    metadata = job["metadata"]
    return kind.manifest(
        metadata["name"],
        metadata["namespace"],
        labels={**(metadata.get("labels") or {}), kueue.ORIGIN_LABEL: origin},
        annotations={**(metadata.get("annotations") or {}), kueue.PREBUILT_WORKLOAD: workload},
        spec=job["spec"],
    )


def workloads_of(job: Object) -> list[str]:
    """Return the keys of the Workloads that a job on a worker is a copy for; mostly it names one.

    What was made for a copy, as a RayCluster for a RayJob, may carry all that it carries; but it has an owner.
    """
    metadata = job.metadata
    if metadata.owner_references:
        return []
    if isinstance(job, LeaderWorkerSet):
        return [key_of(job.namespace, name) for name in _names_of_groups(job)]
    name = metadata.annotations.get(kueue.PREBUILT_WORKLOAD) or metadata.labels.get(kueue.PREBUILT_WORKLOAD)
    return [key_of(job.namespace, name)] if name else []


def _names_of_groups(job: LeaderWorkerSet) -> list[str]:
    uid, resource = job.metadata.annotations.get(ORIGIN_UID), job.resource
    numbers = range(job.spec.replicas) if uid else ()
    return [workload_name(resource.kind, resource.group, f"{job.name}-{number}", uid or "") for number in numbers]
