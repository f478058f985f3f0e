"""Copies of elastic jobs: one on a worker gets the size of the hub's job, and is bound to the slice that asked for it.

Mirrors: Kueue pkg/controller/jobs/job/job_multikueue_adapter.go, pkg/controller/jobs/ray/ray_multikueue_adapter.go
"""

from collections.abc import Mapping

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.workload_names import workload_name
from fleetqueue.rules.workload_slices import is_elastic, slice_version

Sizes = Mapping[str, Mapping[str, int]]
"""What says how many pods there are, part by part."""


def resized_job(kind: type[Object], job: Manifest, copy: Manifest, workload: str) -> Manifest:
    """Return the copy of a Job as a slice, by its name, wants it; the same where nothing is to be done."""
    new, old = job["spec"].get("parallelism", 0), copy["spec"].get("parallelism", 0)
    if not _is_to_follow(kind, job, workload, grows=old < new):
        return copy
    return _bound({**copy, "spec": {**copy["spec"], "parallelism": new}} if new != old else copy, workload)


def resized_ray_cluster(kind: type[Object], job: Manifest, copy: Manifest, workload: str) -> Manifest:
    """Return the same of a RayCluster."""
    new, old = _sizes(job), _sizes(copy)
    if not _is_to_follow(kind, job, workload, grows=_total(old) < _total(new)):
        return copy
    groups = [{**group, **new.get(group["groupName"], {})} for group in copy["spec"].get("workerGroupSpecs") or ()]
    return _bound({**copy, "spec": {**copy["spec"], "workerGroupSpecs": groups}} if new != old else copy, workload)


def _is_to_follow(kind: type[Object], job: Manifest, workload: str, *, grows: bool) -> bool:
    """Tell whether a slice may change a copy: only the slice of the job as it is now makes it larger."""
    if not is_elastic(job):
        return False
    resource, metadata = kind.resource, job["metadata"]
    current = workload_name(resource.kind, resource.group, metadata["name"], metadata["uid"], slice_version(job))
    return not grows or workload == current


def _bound(copy: Manifest, workload: str) -> Manifest:
    annotations = {**(copy["metadata"].get("annotations") or {}), kueue.PREBUILT_WORKLOAD: workload}
    return {**copy, "metadata": {**copy["metadata"], "annotations": annotations}}


def _sizes(cluster: Manifest) -> Sizes:
    return {
        group["groupName"]: {name: group[name] for name in ("replicas", "numOfHosts") if name in group}
        for group in cluster["spec"].get("workerGroupSpecs") or ()
    }


def _total(sizes: Sizes) -> int:
    return sum(size.get("replicas", 1) * max(size.get("numOfHosts", 1), 1) for size in sizes.values())
