"""Where each kind of job keeps the templates of its pods, and how many pods each of them is for.

Kueue makes the pod sets of a Workload from them, and who runs such a job makes its pods from them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fleetqueue.api.fields import Field, value_at
from fleetqueue.api.scheme import Manifest

LEAST_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"


class JobTemplate(NamedTuple):
    name: str
    """That of its pod set."""
    field: Field
    """Where the pod template is."""
    pods: int
    """How many it is for."""


def job_set_templates(job: Manifest) -> list[JobTemplate]:
    return [
        JobTemplate(
            replicated["name"].lower(),
            ("spec", "replicatedJobs", number, "template", "spec", "template"),
            replicated.get("replicas", 1) * pods_at_once(replicated["template"]),
        )
        for number, replicated in enumerate(job["spec"].get("replicatedJobs") or ())
    ]


def pods_at_once(job: Manifest) -> int:
    """Return how many pods a Job has at the same time."""
    parallelism = job["spec"].get("parallelism", 1)
    return int(min(parallelism, job["spec"].get("completions", parallelism)))


def least_pods_at_once(job: Manifest) -> int | None:
    """Return with how many pods a Job starts where there is no room for all; None where it needs all of them."""
    text = (value_at(job, ("metadata", "annotations")) or {}).get(LEAST_PARALLELISM, "")
    return int(text) if text.lstrip("-").isdecimal() else None


def replica_templates(job: Manifest, replicas: Field, roles: Sequence[str]) -> list[JobTemplate]:
    """Return the templates of a Kubeflow job: those of its roles, in their order, that it has."""
    by_role = value_at(job, replicas) or {}
    return [
        JobTemplate(role.lower(), (*replicas, role, "template"), by_role[role].get("replicas", 1))
        for role in roles
        if by_role.get(role) is not None
    ]


def ray_templates(job: Manifest, cluster: Field) -> list[JobTemplate]:
    """Return the templates of a Ray cluster's spec: its head, and its groups of workers."""
    head = JobTemplate("head", (*cluster, "headGroupSpec", "template"), 1)
    groups = value_at(job, (*cluster, "workerGroupSpecs")) or ()
    workers = [
        JobTemplate(
            group["groupName"].lower(),
            (*cluster, "workerGroupSpecs", number, "template"),
            group.get("replicas", 1) * max(group.get("numOfHosts", 1), 1),
        )
        for number, group in enumerate(groups)
    ]
    return [head, *workers]
