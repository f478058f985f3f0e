"""Jobs of other kinds than Job, and Jobs that grow and shrink, as somebody would submit them while faults happen."""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.api import job_kinds as api_kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.kueue_pods import GROUP_NAME
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.rules import workload_slices
from tests import job_kinds
from tests.job_kinds import JobKind

QUEUE = "user-queue-demo2"
ELASTIC_JOB = JobKind(
    job_kinds.JOB.resource,
    {**job_kinds.JOB.spec, "parallelism": 2, "completions": 6},
    annotations={workload_slices.ELASTIC_JOB: "true"},
)
"""A Job that grows and shrinks while it runs."""
ENDING = (
    job_kinds.POD,
    job_kinds.POD_GROUP,
    job_kinds.JOB_SET,
    job_kinds.RAY_JOB,
    job_kinds.APP_WRAPPER,
    job_kinds.TRAIN_JOB,
    job_kinds.MPI_JOB,
    *job_kinds.KUBEFLOW,
    job_kinds.PIPELINE,
    ELASTIC_JOB,
)
"""Those that end by themselves. A JAXJob never gets as far as a worker, since its Kueue refuses the copy; a
SparkApplication stays on the hub, since MultiKueue does not send it."""
SERVING: Mapping[JobKind, int] = {
    job_kinds.STATEFUL_SET: 2,
    job_kinds.LEADER_WORKER_SET: 4,
    job_kinds.RAY_CLUSTER: 3,
    job_kinds.RAY_SERVICE: 3,
    job_kinds.DEPLOYMENT: 2,
}
"""Those that run until somebody deletes them, and how many pods each has."""
KINDS = (*ENDING, *SERVING)
UNPLACED = (*SERVING, ELASTIC_JOB, job_kinds.PIPELINE)
"""Those that are never placed by topology: what serves takes room for ever, elastic jobs have a gate of their own for
it, which is off, and the controller of Pipelines knows nothing of it."""
BEGIN_WITH = 2
"""So many kinds each seed begins with, by turns, so that few seeds have all of them."""
SUSPENDED = {kind.kind.resource.kind: kind for kind in vars(api_kinds).values() if isinstance(kind, api_kinds.JobKind)}
RESOURCES = {"requests": {"cpu": "10m"}}
"""Without GPUs, so that a job of many pods fits beside others."""
A_DAY = "86400s"
"""Longer than any run."""
SELECTED = (("spec", "selector", "matchLabels"), ("spec", "template", "metadata", "labels"))
"""Where sets of pods say which are theirs."""


def first_kinds(seed: int) -> list[JobKind]:
    """Return the kinds that a seed begins with."""
    return [KINDS[(BEGIN_WITH * seed + number) % len(KINDS)] for number in range(BEGIN_WITH)]


def manifests(kind: JobKind, name: str, seconds: int, queue: str = QUEUE) -> list[Manifest]:
    """Return one job; of a group, its pods."""
    after = A_DAY if kind in SERVING else f"{seconds}s"
    made = without_gpus(kind.ending_manifests("default", after=after))
    for one in made:
        one["metadata"]["labels"] = {kueue.QUEUE_LABEL: queue}
    if kind is job_kinds.POD_GROUP:
        for pod in made:
            pod["metadata"]["name"] = pod["metadata"]["name"].replace("group", name)
            pod["metadata"]["labels"][GROUP_NAME] = name
        return made
    (one,) = made
    one["metadata"]["name"] = name
    if kind is job_kinds.APP_WRAPPER:
        one["spec"]["components"][0]["template"]["metadata"]["name"] = name
    if value_at(one, SELECTED[0]):
        one = with_value(with_value(one, SELECTED[0], {"app": name}), SELECTED[1], {"app": name})
    return [one]


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
    """Return the kinds of which the hub or workers may have jobs, pods among them."""
    yield from dict.fromkeys(kind.resource for kind in KINDS if kind is not ELASTIC_JOB)


def waiting_resources() -> Iterator[Resource]:
    """Return the kinds that wait for Kueue: of a Deployment, its pods do."""
    yield from (resource for resource in resources() if resource != job_kinds.DEPLOYMENT.resource)


def pods_of(resource: Resource) -> int:
    """Return how many pods a job that serves has; 0 for a kind that ends."""
    return next((pods for kind, pods in SERVING.items() if kind.resource == resource), 0)
