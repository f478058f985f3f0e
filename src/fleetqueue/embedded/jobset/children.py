"""The Jobs of a JobSet: how they are named and labelled, and how they stand.

Mirrors: jobset pkg/controllers/jobset_controller.go (constructJob, calculateReplicatedJobStatuses)
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api.batch_v1 import COMPLETE, FAILED, Job
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.scheme import Manifest

PREFIX: Final = "jobset.sigs.k8s.io/"
REPLICATED: Final = f"{PREFIX}replicatedjob-name"
RESTARTS: Final = f"{PREFIX}restart-attempt"
NAME: Final = f"{PREFIX}jobset-name"
DEFAULT_GROUP: Final = "default"


@dataclass(slots=True)
class Children:
    """The Jobs of a JobSet, by what has become of them."""

    active: list[Manifest] = field(default_factory=list)
    successful: list[Manifest] = field(default_factory=list)
    failed: list[Manifest] = field(default_factory=list)
    previous: list[Manifest] = field(default_factory=list)
    """Those from before the last restart."""

    def names(self) -> set[str]:
        return {
            job["metadata"]["name"]
            for jobs in (self.active, self.successful, self.failed, self.previous)
            for job in jobs
        }


def sorted_out(jobs: Sequence[Manifest], restarts: int) -> Children:
    children = Children()
    for job in jobs:
        if int(labels(job).get(RESTARTS, "0")) < restarts:
            children.previous.append(job)
        elif is_true(job, FAILED):
            children.failed.append(job)
        elif is_true(job, COMPLETE):
            children.successful.append(job)
        else:
            children.active.append(job)
    return children


def statuses(job_set: Manifest, children: Children) -> list[Manifest]:
    """Count the Jobs of each part, in the order in which JobSet writes them."""
    counted = {
        part["name"]: {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0} for part in parts(job_set)
    }
    for job in children.active:
        count, status, spec = counted.get(labels(job).get(REPLICATED, ""), {}), job.get("status") or {}, job["spec"]
        pods = min(spec.get("parallelism", 1), spec.get("completions", spec.get("parallelism", 1)))
        _add(count, "ready", status.get("succeeded", 0) + status.get("ready", 0) >= pods)
        _add(count, "active", status.get("active", 0) > 0)
        _add(count, "suspended", bool(spec.get("suspend")))
    for what, jobs in (("succeeded", children.successful), ("failed", children.failed)):
        for job in jobs:
            _add(counted.get(labels(job).get(REPLICATED, ""), {}), what, True)
    return [{"name": name, **counted[name]} for name in sorted(counted, reverse=True)]


def job_of(job_set: Manifest, part: Manifest, index: int) -> Manifest:
    """Make one Job of a part."""
    metadata, template = job_set["metadata"], part["template"]
    own = _labels(job_set, part, index)
    given, pods = template.get("metadata") or {}, template["spec"]["template"]
    pod_metadata, pod_spec = pods.get("metadata") or {}, dict(pods.get("spec") or {})
    if (job_set["spec"].get("network") or {}).get("enableDNSHostnames", True):
        pod_spec["subdomain"] = subdomain(job_set)
    made = Job.manifest(
        job_name(metadata["name"], part["name"], index),
        metadata["namespace"],
        labels={**(given.get("labels") or {}), **own},
        annotations={**(given.get("annotations") or {}), **own},
        spec={
            **template["spec"],
            "suspend": bool(job_set["spec"].get("suspend")),
            "template": {**pods, "metadata": _labelled(pod_metadata, own), "spec": pod_spec},
        },
    )
    made["metadata"]["ownerReferences"] = [owned_by(job_set)]
    return made


def owned_by(job_set: Manifest) -> Manifest:
    return controller_reference(JobSet.resource, job_set["metadata"]["name"], job_set["metadata"]["uid"])


def parts(job_set: Manifest) -> list[Manifest]:
    replicated_jobs: list[Manifest] = job_set["spec"].get("replicatedJobs") or []
    return replicated_jobs


def replicas(part: Manifest) -> int:
    return int(part.get("replicas", 1))


def job_name(job_set: str, part: str, index: int) -> str:
    return f"{job_set}-{part}-{index}"


def subdomain(job_set: Manifest) -> str:
    return str((job_set["spec"].get("network") or {}).get("subdomain") or job_set["metadata"]["name"])


def labels(job: Manifest) -> dict[str, str]:
    label_map: dict[str, str] = job["metadata"].get("labels") or {}
    return label_map


def _labels(job_set: Manifest, part: Manifest, index: int) -> dict[str, str]:
    metadata, everything = job_set["metadata"], parts(job_set)
    group = part.get("groupName") or DEFAULT_GROUP
    name = job_name(metadata["name"], part["name"], index)
    same_group = [other for other in everything if (other.get("groupName") or DEFAULT_GROUP) == group]
    digest = hashlib.sha1(f"{metadata['namespace']}/{name}".encode(), usedforsecurity=False)
    label_values: dict[str, Any] = {
        "jobset-name": metadata["name"],
        "jobset-uid": metadata["uid"],
        "replicatedjob-name": part["name"],
        "restart-attempt": (job_set.get("status") or {}).get("restarts", 0),
        "replicatedjob-replicas": replicas(part),
        "global-replicas": sum(map(replicas, everything)),
        "job-index": index,
        "job-key": digest.hexdigest(),
        "job-global-index": _before(everything, part) + index,
        "group-name": group,
        "group-replicas": sum(map(replicas, same_group)),
        "job-group-index": _before(same_group, part) + index,
    }
    if coordinator := job_set["spec"].get("coordinator"):
        where = f"{coordinator.get('jobIndex', 0)}-{coordinator.get('podIndex', 0)}"
        host = f"{metadata['name']}-{coordinator['replicatedJob']}-{where}"
        label_values["coordinator"] = f"{host}.{subdomain(job_set)}"
    return {f"{PREFIX}{key}": str(value) for key, value in label_values.items()}


def _before(siblings: Sequence[Manifest], part: Manifest) -> int:
    """Count the Jobs of the parts before one."""
    names = [sibling["name"] for sibling in siblings]
    return sum(replicas(sibling) for sibling in siblings[: names.index(part["name"])])


def _labelled(metadata: Manifest, own: dict[str, str]) -> Manifest:
    return {field: {**(metadata.get(field) or {}), **own} for field in ("labels", "annotations")}


def _add(count: dict[str, int], what: str, counts: bool) -> None:
    if count and counts:
        count[what] += 1
