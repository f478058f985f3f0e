"""Jobs of other kinds than Job, as somebody would submit them while faults happen."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api import job_kinds as api_kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest, Resource
from tests import job_kinds
from tests.job_kinds import JobKind

QUEUE = "user-queue-demo2"
KINDS = (
    job_kinds.POD,
    job_kinds.JOB_SET,
    job_kinds.RAY_JOB,
    job_kinds.APP_WRAPPER,
    job_kinds.TRAIN_JOB,
    job_kinds.MPI_JOB,
    *job_kinds.KUBEFLOW,
)
"""Those that end by themselves and are one object."""
SUSPENDED = {kind.kind.resource.kind: kind for kind in vars(api_kinds).values() if isinstance(kind, api_kinds.JobKind)}
RESOURCES = {"requests": {"cpu": "10m"}}
"""Without GPUs, so that a job of many pods fits beside others."""


def manifest(kind: JobKind, name: str, seconds: int) -> Manifest:
    (made,) = kind.ending_manifests("default", after=f"{seconds}s")
    made = without_gpus(made)
    made["metadata"] |= {"name": name, "labels": {kueue.QUEUE_LABEL: QUEUE}}
    if kind is job_kinds.APP_WRAPPER:
        made["spec"]["components"][0]["template"]["metadata"]["name"] = name
    return made


def training_runtime() -> Manifest:
    return without_gpus(job_kinds.with_ending_pods(job_kinds.training_runtime("default"), after="20s"))


def without_gpus(part: Any) -> Any:
    if isinstance(part, list):
        return [without_gpus(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {key: RESOURCES if key == "resources" else without_gpus(value) for key, value in part.items()}


def can_be_suspended(resource: Resource) -> bool:
    return resource.kind in SUSPENDED


def suspension(resource: Resource) -> Manifest:
    """Return the patch by which a user suspends a job."""
    return SUSPENDED[resource.kind].with_suspension({}, suspend=True)


def resources() -> Iterator[Resource]:
    """Return the kinds of which workers may have copies, pods among them."""
    yield Pod.resource
    yield from (kind.resource for kind in KINDS if kind is not job_kinds.POD)
