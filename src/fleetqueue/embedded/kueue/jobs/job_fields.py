"""What a job of any kind says to Kueue in its labels and annotations."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names


def labels(job: Manifest) -> dict[str, str]:
    found: dict[str, str] = job["metadata"].get("labels") or {}
    return found


def annotations(job: Manifest) -> dict[str, str]:
    found: dict[str, str] = job["metadata"].get("annotations") or {}
    return found


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
