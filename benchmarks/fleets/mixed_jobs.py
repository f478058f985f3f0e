"""Small jobs of the kinds that end by themselves: what a mixed burst is made of."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import job_kinds as kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.client import Client
from fleets.arranging import NAME

Manifest = dict[str, Any]
SECONDS = 1
"""For which the pods of a job run."""
STAYS = {"fleetqueue.dev/run-for": "3600s"}
"""Of pods that run until the job ends, such as the head of a Ray cluster."""
RUNTIME = "mixed"


def template(annotations: Mapping[str, str] | None = None) -> Manifest:
    container = {"name": "main", "image": "example.com/sleep", "resources": {"requests": {"cpu": "10m"}}}
    runs = {"fleetqueue.dev/run-for": f"{SECONDS}s"}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"metadata": {"annotations": dict(annotations or runs)}, "spec": spec}


def _replicas(kind: kinds.ReplicaJobKind, roles: Mapping[str, Manifest]) -> Manifest:
    specs = {role: {"replicas": 1, "restartPolicy": "Never", "template": made} for role, made in roles.items()}
    return {"runPolicy": {"suspend": True}, kind.replicas[-1]: specs}


def _job(name: str) -> Manifest:
    return {"suspend": True, "template": template()}


def _pod(name: str) -> Manifest:
    return dict(template()["spec"])


def _job_set(name: str) -> Manifest:
    one = {"spec": {"parallelism": 1, "completions": 1, "template": template()}}
    return {"suspend": True, "replicatedJobs": [{"name": "one", "replicas": 1, "template": one}]}


def _pytorch(name: str) -> Manifest:
    return _replicas(kinds.PYTORCH_JOB, {"Master": template(), "Worker": template()})


def _mpi(name: str) -> Manifest:
    return _replicas(kinds.MPI_JOB, {"Launcher": template(), "Worker": template(STAYS)})


def _ray(name: str) -> Manifest:
    head = {"rayStartParams": {}, "template": template(STAYS)}
    cluster = {"headGroupSpec": head, "workerGroupSpecs": []}
    return {
        "suspend": True,
        "entrypoint": "true",
        "shutdownAfterJobFinishes": True,
        "submitterPodTemplate": template(),
        "rayClusterSpec": cluster,
    }


def _train(name: str) -> Manifest:
    return {"suspend": True, "runtimeRef": {"name": RUNTIME}}


def _wrapper(name: str) -> Manifest:
    job = Job.manifest(name, spec={"template": template()})
    return {"suspend": True, "components": [{"template": job}]}


KINDS: tuple[tuple[type[Object], Callable[[str], Manifest]], ...] = (
    (Job, _job),
    (Pod, _pod),
    (JobSet, _job_set),
    (kinds.PyTorchJob, _pytorch),
    (kinds.MPIJob, _mpi),
    (kinds.RayJob, _ray),
    (kinds.TrainJob, _train),
    (kinds.AppWrapper, _wrapper),
)


async def create_runtime(client: Client) -> None:
    """Make what TrainJobs are made of."""
    node = {"name": "node", "template": {"spec": {"template": template()}}}
    runtime = kinds.ClusterTrainingRuntime.manifest(RUNTIME, spec={"template": {"spec": {"replicatedJobs": [node]}}})
    await client.create(kinds.ClusterTrainingRuntime.resource, runtime)


async def create(hub: Client, number: int) -> None:
    """Create one job; the kinds take turns."""
    kind, spec = KINDS[number % len(KINDS)]
    name = f"m{number:05}"
    made = kind.manifest(name, "default", labels={kueue.QUEUE_LABEL: NAME}, spec=spec(name))
    if kind is Pod:
        made["metadata"]["annotations"] = template()["metadata"]["annotations"]
    await hub.create(kind.resource, made)
