"""Small jobs of all kinds that go through MultiKueue: what a mixed burst is made of."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api import job_kinds as kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment, StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.kueue_pods import GROUP_NAME, GROUP_TOTAL_COUNT
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
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


def _training(kind: kinds.ReplicaJobKind, *roles: str) -> Callable[[str], Manifest]:
    return lambda name: _replicas(kind, {role: template() for role in roles})


def _mpi(name: str) -> Manifest:
    return _replicas(kinds.MPI_JOB, {"Launcher": template(), "Worker": template(STAYS)})


RAY: Final = {"headGroupSpec": {"rayStartParams": {}, "template": template(STAYS)}, "workerGroupSpecs": []}


def _ray_cluster(name: str) -> Manifest:
    return {"suspend": True, **RAY}


def _ray(name: str) -> Manifest:
    return {
        "suspend": True,
        "entrypoint": "true",
        "shutdownAfterJobFinishes": True,
        "submitterPodTemplate": template(),
        "rayClusterSpec": RAY,
    }


def _ray_service(name: str) -> Manifest:
    return {"rayClusterConfig": {"suspend": True, **RAY}}


def _set(name: str) -> Manifest:
    """Return what a StatefulSet and a Deployment have in common: a pod of their own."""
    pods = template(STAYS)
    pods["metadata"]["labels"] = {"app": name}
    pods["spec"]["restartPolicy"] = "Always"
    return {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": pods}


def _stateful_set(name: str) -> Manifest:
    return {**_set(name), "serviceName": name}


def _leader_worker_set(name: str) -> Manifest:
    pods = _set(name)["template"]
    return {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": pods}}


def _train(name: str) -> Manifest:
    return {"suspend": True, "runtimeRef": {"name": RUNTIME}}


def _wrapper(name: str) -> Manifest:
    job = Job.manifest(name, spec={"template": template()})
    return {"suspend": True, "components": [{"template": job}]}


@dataclass(frozen=True, slots=True)
class MixedKind:
    kind: type[Object]
    spec: Callable[[str], Manifest]
    pods: int = 0
    """How many pods it has where it serves until somebody deletes it; 0 where it ends by itself."""
    members: int = 0
    """How many pods are one job, where they are a group."""

    def manifests(self, name: str) -> list[Manifest]:
        labels = {kueue.QUEUE_LABEL: NAME}
        if self.members:
            names = [f"{name}-{member}" for member in range(self.members)]
            made = [self.kind.manifest(one, "default", labels=labels, spec=self.spec(one)) for one in names]
            for pod in made:
                pod["metadata"]["labels"] = {**labels, GROUP_NAME: name}
                pod["metadata"]["annotations"] = {GROUP_TOTAL_COUNT: str(self.members)}
        else:
            made = [self.kind.manifest(name, "default", labels=labels, spec=self.spec(name))]
        if self.kind is Pod:
            for pod in made:
                pod["metadata"].setdefault("annotations", {}).update(template()["metadata"]["annotations"])
        return made


KINDS: tuple[MixedKind, ...] = (
    MixedKind(Job, _job),
    MixedKind(Pod, _pod),
    MixedKind(Pod, _pod, members=2),
    MixedKind(StatefulSet, _stateful_set, pods=1),
    MixedKind(Deployment, _set, pods=1),
    MixedKind(JobSet, _job_set),
    MixedKind(LeaderWorkerSet, _leader_worker_set, pods=2),
    MixedKind(kinds.PyTorchJob, _training(kinds.PYTORCH_JOB, "Master", "Worker")),
    MixedKind(kinds.TFJob, _training(kinds.TF_JOB, "Chief", "Worker")),
    MixedKind(kinds.XGBoostJob, _training(kinds.XGBOOST_JOB, "Master", "Worker")),
    MixedKind(kinds.PaddleJob, _training(kinds.PADDLE_JOB, "Master", "Worker")),
    MixedKind(kinds.MPIJob, _mpi),
    MixedKind(kinds.RayJob, _ray),
    MixedKind(kinds.RayCluster, _ray_cluster, pods=1),
    MixedKind(kinds.RayService, _ray_service, pods=1),
    MixedKind(kinds.TrainJob, _train),
    MixedKind(kinds.AppWrapper, _wrapper),
)
NAMED: Final = re.compile(r"\bm(\d{5})\b")
"""How a job is called; its pods and its Workload have that in their names."""


def number_of(name: str) -> int | None:
    """Return the number of the job that something was made for."""
    found = NAMED.search(name)
    return int(found[1]) if found else None


def kind_of(number: int) -> MixedKind:
    """Return the kind of a job; the kinds take turns."""
    return KINDS[number % len(KINDS)]


async def create_runtime(client: Client) -> None:
    """Make what TrainJobs are made of."""
    node = {"name": "node", "template": {"spec": {"template": template()}}}
    runtime = kinds.ClusterTrainingRuntime.manifest(RUNTIME, spec={"template": {"spec": {"replicatedJobs": [node]}}})
    await client.create(kinds.ClusterTrainingRuntime.resource, runtime)


async def create(hub: Client, number: int) -> None:
    kind = kind_of(number)
    for made in kind.manifests(f"m{number:05}"):
        with suppress(errors.AlreadyExists):
            await _answered(lambda made=made: hub.create(kind.kind.resource, made))


async def delete(hub: Client, number: int) -> None:
    with suppress(errors.NotFound):
        await _answered(lambda: hub.delete(kind_of(number).kind.resource, f"m{number:05}", "default"))


async def _answered(ask: Callable[[], Awaitable[object]]) -> None:
    """Ask again until there is an answer: on a busy machine, a fleet that is full of work may answer too late."""
    while True:
        try:
            await ask()
        except errors.Unreachable:
            continue
        return
