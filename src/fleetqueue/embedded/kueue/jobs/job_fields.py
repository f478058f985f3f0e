"""What a job of any kind says to Kueue in its labels and annotations, and which of its owners Kueue manages."""

from collections.abc import Callable
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names


def labels(job: Manifest) -> dict[str, str]:
    label_map: dict[str, str] = job["metadata"].get("labels") or {}
    return label_map


def annotations(job: Manifest) -> dict[str, str]:
    annotation_map: dict[str, str] = job["metadata"].get("annotations") or {}
    return annotation_map


def queue_name(job: Manifest) -> str:
    return labels(job).get(kueue.QUEUE_LABEL, "")


def priority_class(job: Manifest) -> str:
    return labels(job).get(names.PRIORITY_CLASS, "")


def prebuilt_workload(job: Manifest) -> str:
    """Return the Workload that was made before the job, as MultiKueue does on workers."""
    return annotations(job).get(kueue.PREBUILT_WORKLOAD) or labels(job).get(kueue.PREBUILT_WORKLOAD, "")


def maximum_execution_time(job: Manifest) -> int | None:
    """Return for how many seconds it may run; what is no number above 0 counts as nothing."""
    text = labels(job).get(names.MAXIMUM_EXECUTION_TIME, "")
    seconds = int(text) if text.isdecimal() else 0
    return seconds if 0 < seconds < 2**31 else None


def controller(job: Manifest) -> Manifest | None:
    owners: list[Manifest] = job["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


INTERIM: Final = "ReplicaSet"
"""It stands between a pod and its Deployment, and is nobody's job; its labels are those of the pods."""
DEEPEST: Final = 10
TOO_DEEP: Final = f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEEPEST}"

Parent = Callable[[Manifest, str], Manifest | None]
"""Finds what an owner reference in some namespace means, among the kinds of jobs that are managed."""


class TooDeep(Exception):
    """A job has more ancestors than Kueue follows."""


def managed_ancestor(job: Manifest, parent: Parent, *, without_queue: bool) -> Manifest | None:
    """Return the uppermost job above one that is managed: it names a queue, or jobs need none; raises TooDeep."""
    ancestor, namespace = None, job["metadata"]["namespace"]
    for _ in range(DEEPEST):
        owner = controller(job)
        above = parent(owner, namespace) if owner is not None else None
        if above is None or owner is None or above["metadata"]["uid"] != owner["uid"]:
            return ancestor
        if owner["kind"] != INTERIM and (without_queue or queue_name(above)):
            ancestor = above
        job = above
    raise TooDeep(TOO_DEEP)
