"""A job of each kind beside Kubernetes' own Job, and what its operator says of it in its life.

No operator runs for them on either side: what is judged is Kueue's part, and MultiKueue's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import job_kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest

T = "2026-01-01T00:00:00Z"


def condition(kind: str, status: str = "True", message: str = "by test") -> Manifest:
    return {
        "type": kind,
        "status": status,
        "reason": "ByTest",
        "message": message,
        "lastTransitionTime": T,
        "lastUpdateTime": T,
    }


def plain_condition(kind: str, status: str = "True") -> Manifest:
    return {name: value for name, value in condition(kind, status).items() if name != "lastUpdateTime"}


def template(cpu: int, **metadata: Any) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    return {**({"metadata": metadata} if metadata else {}), "spec": {"containers": [container]}}


def replicas(cpu: int, **roles: int) -> Manifest:
    return {role: {"replicas": count, "template": template(cpu)} for role, count in roles.items()}


def ray_cluster(cpu: int) -> Manifest:
    group = {
        "groupName": "Small",
        "replicas": 1,
        "minReplicas": 0,
        "maxReplicas": 2,
        "numOfHosts": 2,
        "rayStartParams": {},
        "template": template(cpu),
    }
    head = {"rayStartParams": {}, "template": template(cpu, labels={"role": "head"}, annotations={"a": "b"})}
    return {"headGroupSpec": head, "workerGroupSpecs": [group]}


def ray_job(cpu: int) -> Manifest:
    ends = {"submissionMode": "HTTPMode", "shutdownAfterJobFinishes": True}
    return {"entrypoint": "e", **ends, "rayClusterSpec": ray_cluster(cpu)}


def job_set(cpu: int) -> Manifest:
    def part(name: str, count: int, parallelism: int) -> Manifest:
        work = {"parallelism": parallelism, "completions": parallelism, "backoffLimit": 0}
        pods = template(cpu, labels={"part": name})
        pods["spec"]["restartPolicy"] = "Never"
        return {"name": name, "replicas": count, "template": {"spec": {**work, "template": pods}}}

    return {"replicatedJobs": [part("workers", 2, 1), part("driver", 1, 1)]}


@dataclass(frozen=True)
class Sample:
    """A job of a kind, and what its operator says of it."""

    of: job_kinds.JobKind
    spec: Callable[[int], Manifest]
    """Makes the spec of a job whose pods ask for so many CPUs each; there are at most three pods."""
    runs: Manifest
    stopped: Manifest
    succeeds: Manifest | None = None
    fails: Manifest | None = None

    @property
    def kind(self) -> str:
        return self.of.kind.resource.kind

    def manifest(self, cpu: int = 1, *, queue: str = "q", **metadata: Any) -> Manifest:
        labels = {**({kueue.QUEUE_LABEL: queue} if queue else {}), **metadata.pop("labels", {})}
        return {"kind": self.kind, "metadata": {"name": "a", "labels": labels, **metadata}, "spec": self.spec(cpu)}


def kubeflow(of: job_kinds.JobKind, replicas_field: str, **roles: int) -> Sample:
    def counted(**counts: int) -> Manifest:
        return {role: counts for role in roles}

    def status(kind: str, **counts: int) -> Manifest:
        return {"conditions": [condition("Created"), condition(kind)], "replicaStatuses": counted(**counts)}

    return Sample(
        of,
        lambda cpu: {replicas_field: replicas(cpu, **roles)},
        runs=status("Running", active=1),
        stopped=status("Suspended"),
        succeeds=status("Succeeded", succeeded=1),
        fails=status("Failed", failed=1),
    )


def ray_job_status(deployment: str, job: str, cluster: str) -> Manifest:
    return {
        "jobDeploymentStatus": deployment,
        "jobStatus": job,
        "message": "by test",
        "rayClusterStatus": {"state": cluster} if cluster else {},
    }


def replicated(**counts: int) -> list[Manifest]:
    every = {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
    return [{"name": name, **every, **counts} for name in ("workers", "driver")]


SAMPLES = (
    Sample(
        job_kinds.JOB_SET,
        job_set,
        runs={"replicatedJobsStatus": replicated(active=1, ready=1)},
        stopped={"replicatedJobsStatus": replicated(), "conditions": [plain_condition("Suspended")]},
        succeeds={"conditions": [plain_condition("Completed")]},
        fails={"conditions": [plain_condition("Failed")]},
    ),
    kubeflow(job_kinds.PYTORCH_JOB, "pytorchReplicaSpecs", Worker=2, Master=1),
    kubeflow(job_kinds.TF_JOB, "tfReplicaSpecs", Worker=1, PS=1, Chief=1),
    kubeflow(job_kinds.XGBOOST_JOB, "xgbReplicaSpecs", Worker=1, Master=1),
    kubeflow(job_kinds.PADDLE_JOB, "paddleReplicaSpecs", Worker=1, Master=1),
    kubeflow(job_kinds.JAX_JOB, "jaxReplicaSpecs", Worker=2),
    kubeflow(job_kinds.MPI_JOB, "mpiReplicaSpecs", Worker=2, Launcher=1),
    Sample(
        job_kinds.RAY_CLUSTER,
        ray_cluster,
        runs={"state": "ready"},
        stopped={"state": "suspended"},
    ),
    Sample(
        job_kinds.RAY_JOB,
        ray_job,
        runs=ray_job_status("Running", "RUNNING", "ready"),
        stopped=ray_job_status("Suspended", "", ""),
        succeeds=ray_job_status("Complete", "SUCCEEDED", "ready"),
        fails=ray_job_status("Failed", "FAILED", "ready"),
    ),
    Sample(
        job_kinds.RAY_SERVICE,
        lambda cpu: {"rayClusterConfig": ray_cluster(cpu)},
        runs={"conditions": [plain_condition("Ready")]},
        stopped={"conditions": [plain_condition("Ready", "False")]},
    ),
)
