"""A job of each kind that Kueue knows, and what its operator would write into its status on the worker.

On the embedded fleet operators run them. On the real engine none does: Kubernetes itself runs Jobs, pods, StatefulSets
and Deployments, and tests write the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fields import Field, value_at, with_value
from fleetqueue.api.scheme import Resource
from fleetqueue.rules.run_times import FAILS, RUN_FOR

SHORT = "3s"
RETRIABLE = "kueue.x-k8s.io/retriable-in-group"
"""Whether a group of pods waits for another pod in the place of one that failed."""
LONG_AGO = "2026-01-01T00:00:00Z"
ELASTIC = "kueue.x-k8s.io/elastic-job"
RUNS_ON = {RUN_FOR: "600s"}
SUSPENSIONS: tuple[Field, ...] = (
    ("spec", "suspend"),
    ("spec", "runPolicy", "suspend"),
    ("spec", "rayClusterConfig", "suspend"),
)


@dataclass(frozen=True, slots=True, eq=False)
class JobKind:
    resource: Resource
    spec: Mapping[str, Any]
    running: Mapping[str, Any] = field(default_factory=dict)
    """A status that its operator writes while it runs; empty where Kubernetes runs it itself."""
    ended: Mapping[str, Any] = field(default_factory=dict)
    """A status that its operator writes at its end; empty where Kubernetes ends it itself, or it serves without end."""
    failed: Mapping[str, Any] = field(default_factory=dict)
    """The same, of a bad end."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    """Where one job is several objects: what they are called; else its name is its kind's."""
    called: str = ""
    """The name of its job, where that is not its kind's."""
    pods: str = ""
    """What the names of its pods begin with, where that is not its own name."""
    deciding: Field = ()
    """Where the pods are whose end is the end of the job; empty where those are all."""
    since: str = "0"
    """The first version of Kueue that knows it and, if it ever does, sends it; CHANGELOG-0.17 of Kueue names those that
    came with it."""

    @property
    def name(self) -> str:
        return self.called or self.resource.kind.lower()

    @property
    def suspend(self) -> Field:
        """Where its user suspends it; empty where it has no field for that."""
        return next((field for field in SUSPENSIONS if value_at({"spec": self.spec}, field)), ())

    def has_pod(self, name: str) -> bool:
        """Tell whether a pod is one of its job's, by its name."""
        prefix = self.pods or self.name
        return name == prefix or name.startswith(f"{prefix}-")

    def manifests(self, namespace: str) -> list[dict[str, Any]]:
        return [self._manifest(name, namespace) for name in self.names or (self.name,)]

    def ending_manifests(self, namespace: str, *, after: str = SHORT, fails: bool = False) -> list[dict[str, Any]]:
        """Return a job that ends by itself, well or badly."""
        made = self.manifests(namespace)
        if not self.deciding:
            return [with_ending_pods(one, after=after, fails=fails) for one in made]
        return [
            with_value(one, self.deciding, with_ending_pods(value_at(one, self.deciding), after=after, fails=fails))
            for one in made
        ]

    def _manifest(self, name: str, namespace: str) -> dict[str, Any]:
        metadata = {
            "name": name,
            "namespace": namespace,
            "labels": {kueue.QUEUE_LABEL: "queue", **self.labels},
            "annotations": dict(self.annotations),
        }
        resource = self.resource
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
            "spec": dict(self.spec),
        }


def with_ending_pods(part: Any, *, after: str = SHORT, fails: bool = False) -> Any:
    """Return what pods are made of, with pods that end."""
    if isinstance(part, list):
        return [with_ending_pods(one, after=after, fails=fails) for one in part]
    if not isinstance(part, dict):
        return part
    if RUN_FOR in part:
        return {**part, RUN_FOR: after, FAILS: str(fails).lower(), RETRIABLE: "false"}
    return {key: with_ending_pods(value, after=after, fails=fails) for key, value in part.items()}


def pod_spec(container: str = "main", restart: str = "Never") -> dict[str, Any]:
    requests = {"cpu": "10m", "nvidia.com/gpu": "1"}
    resources = {"requests": requests, "limits": {"nvidia.com/gpu": "1"}}
    containers = [{"name": container, "image": "example.com/sleep", "resources": resources}]
    return {"restartPolicy": restart, "containers": containers}


def template(container: str = "main", restart: str = "Never", **labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": labels, "annotations": RUNS_ON}, "spec": pod_spec(container, restart)}


def condition(kind: str) -> dict[str, Any]:
    return {
        "conditions": [
            {"type": kind, "status": "True", "reason": "ByTest", "message": "as told", "lastTransitionTime": LONG_AGO}
        ]
    }


# Kubernetes' own

JOB = JobKind(Resource("batch", "v1", "Job", "jobs"), {"suspend": True, "backoffLimit": 0, "template": template()})
ELASTIC_JOB = JobKind(
    JOB.resource,
    {**JOB.spec, "parallelism": 2, "completions": 2},
    annotations={ELASTIC: "true"},
    called="elastic",
    since="0.18",  # before, its gate is off
)
POD = JobKind(
    Resource("", "v1", "Pod", "pods"),
    pod_spec(),
    annotations=RUNS_ON,
    # The engine's kubelets end pods of Jobs only.
    ended={"phase": "Succeeded"},
    failed={"phase": "Failed"},
)
POD_GROUP = JobKind(
    POD.resource,
    pod_spec(),
    labels={"kueue.x-k8s.io/pod-group-name": "group"},
    annotations={**RUNS_ON, "kueue.x-k8s.io/pod-group-total-count": "2"},
    names=("group-a", "group-b"),
    called="group",
    # Deleted one by one on the hub, its pods would wait for others in their place.
    ended={"phase": "Succeeded"},
)
STATEFUL_SET = JobKind(
    Resource("apps", "v1", "StatefulSet", "statefulsets"),
    {
        "replicas": 2,
        "serviceName": "set",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "set"}},
        "template": template(restart="Always", app="set"),
    },
)
DEPLOYMENT = JobKind(
    Resource("apps", "v1", "Deployment", "deployments"),
    {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "deployed"}},
        "template": template(restart="Always", app="deployed"),
    },
)

# Those with operators


def _replicated(*names: str) -> list[dict[str, Any]]:
    job = {"spec": {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": template()}}
    return [{"name": name, "replicas": 1, "template": job} for name in names]


def _counted(job: str) -> dict[str, Any]:
    return {"name": job, "ready": 1, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0}


JOB_SET = JobKind(
    Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    # In no order that anybody would sort them into.
    {"suspend": True, "replicatedJobs": _replicated("workers", "driver", "extra")},
    running={"restarts": 1, "replicatedJobsStatus": [_counted(name) for name in ("workers", "driver", "extra")]},
    ended={**condition("Completed"), "terminalState": "Completed"},
    failed={**condition("Failed"), "terminalState": "Failed"},
)
LEADER_WORKER_SET = JobKind(
    Resource("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
    {
        "replicas": 2,
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0},
        },
        "leaderWorkerTemplate": {
            "size": 2,
            "leaderTemplate": template(restart="Always"),
            "workerTemplate": template(restart="Always"),
        },
    },
    since="0.17",
)
_RAY_CLUSTER = {
    "headGroupSpec": {"rayStartParams": {}, "template": template("head")},
    "workerGroupSpecs": [
        {
            "groupName": name,
            "replicas": 1,
            "minReplicas": 1,
            "maxReplicas": 1,
            "rayStartParams": {},
            "template": template("worker"),
        }
        for name in ("small", "large")
    ],
}
RAY_CLUSTER = JobKind(
    Resource("ray.io", "v1", "RayCluster", "rayclusters"),
    {"suspend": True, **_RAY_CLUSTER},
    running={"state": "ready", "desiredWorkerReplicas": 2},
)
RAY_JOB = JobKind(
    Resource("ray.io", "v1", "RayJob", "rayjobs"),
    {
        "suspend": True,
        "entrypoint": "true",
        "shutdownAfterJobFinishes": True,
        "submitterConfig": {"backoffLimit": 0},
        "submitterPodTemplate": template("submitter"),  # the one that Ray makes asks for memory
        "rayClusterSpec": _RAY_CLUSTER,
    },
    running={"jobStatus": "RUNNING", "jobDeploymentStatus": "Running"},
    ended={"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete", "message": "done"},
    failed={"jobStatus": "FAILED", "jobDeploymentStatus": "Failed", "message": "not done"},
    deciding=("spec", "submitterPodTemplate"),
)
RAY_SERVICE = JobKind(
    Resource("ray.io", "v1", "RayService", "rayservices"),
    {"rayClusterConfig": {"suspend": True, **_RAY_CLUSTER}},
    running={"numServeEndpoints": 3, **condition("Ready")},
    since="0.17",
)
_WRAPPER = "workload.codeflare.dev.appwrapper"
APP_WRAPPER = JobKind(
    Resource("workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers"),
    {
        "suspend": True,
        "components": [
            {
                "podSets": [{"replicas": 1, "path": "template.spec.template"}],
                "template": {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": {"name": "wrapped"},
                    "spec": {"backoffLimit": 0, "template": template()},
                },
            }
        ],
    },
    running={"phase": "Running", "resettingCount": 1, **condition("QuotaReserved")},
    ended={"phase": "Succeeded"},
    failed={"phase": "Failed"},
    pods="wrapped",
    # It fails when its Job does: without patience, and not tried again.
    annotations={f"{_WRAPPER}/failureGracePeriodDuration": "0s", f"{_WRAPPER}/retryLimit": "0"},
)
TRAINING_RUNTIME = Resource("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes")
"""What a TrainJob refers to, in its own namespace; it must be on the hub and on every worker."""
TRAIN_JOB = JobKind(
    Resource("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"),
    {
        "suspend": True,
        "runtimeRef": {"apiGroup": TRAINING_RUNTIME.group, "kind": TRAINING_RUNTIME.kind, "name": "runtime"},
    },
    running={"jobsStatus": [_counted("node")]},
    ended=condition("Complete"),
    failed=condition("Failed"),
)


def training_runtime(namespace: str) -> dict[str, Any]:
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    jobs = {"backoffLimit": 0, "template": template("node")}
    node = {"name": "node", "template": {"metadata": {"labels": step}, "spec": jobs}}
    return {
        "apiVersion": TRAINING_RUNTIME.api_version,
        "kind": TRAINING_RUNTIME.kind,
        "metadata": {"name": "runtime", "namespace": namespace},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [node]}}},
    }


def _kubeflow(kind: str, field: str, container: str, *roles: str, version: str = "v1", **more: Any) -> JobKind:
    specs = {role: {"replicas": 1, "restartPolicy": "Never", "template": template(container)} for role in roles}
    running = {**condition("Running"), "replicaStatuses": {roles[0]: {"active": 1}}}
    ended = {**condition("Succeeded"), "replicaStatuses": {roles[0]: {"succeeded": 1}}}
    failed = {**condition("Failed"), "replicaStatuses": {roles[0]: {"failed": 1}}}
    return JobKind(
        Resource("kubeflow.org", version, kind, f"{kind.lower()}s"),
        {"runPolicy": {"suspend": True, "backoffLimit": 0}, field: specs},
        running=running,
        ended=ended,
        failed=failed,
        **more,
    )


MPI_JOB = _kubeflow(
    "MPIJob",
    "mpiReplicaSpecs",
    "mpi",
    "Launcher",
    "Worker",
    version="v2beta1",
    deciding=("spec", "mpiReplicaSpecs", "Launcher"),
)
_SPARK_POD = {"annotations": RUNS_ON, "coreRequest": "10m", "gpu": {"name": "nvidia.com/gpu", "quantity": 1}}
SPARK_APPLICATION = JobKind(
    Resource("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications"),
    {
        "suspend": True,
        "type": "Scala",
        "mode": "cluster",
        "sparkVersion": "4.0.0",
        "mainApplicationFile": "local:///a.jar",
        "driver": _SPARK_POD,
        "executor": {**_SPARK_POD, "instances": 1},
    },
    labels={kueue.QUEUE_LABEL: "here"},  # MultiKueue has no adapter for it
    deciding=("spec", "driver"),
    since="0.17",
)
PIPELINE = JobKind(
    Resource("example.com", "v1", "Pipeline", "pipelines"),
    {"managedBy": kueue.MULTIKUEUE_CONTROLLER, "pods": 2, "template": template()},
    running={"phase": "Running"},
    ended={"phase": "Succeeded"},
    failed={"phase": "Failed"},
)
"""A kind that Kueue knows by its name only; `tests/pipelines.py` has the rest of it."""

SHIPPED = (
    JOB,
    ELASTIC_JOB,
    POD,
    POD_GROUP,
    STATEFUL_SET,
    JOB_SET,
    LEADER_WORKER_SET,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    APP_WRAPPER,
    TRAIN_JOB,
    MPI_JOB,
)
"""Those of Kueue's shipped list that MultiKueue has an adapter for; Deployment has none."""
KUBEFLOW = (
    _kubeflow("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Worker", "Master"),
    _kubeflow("TFJob", "tfReplicaSpecs", "tensorflow", "Worker", "PS", "Chief"),
    _kubeflow("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Worker", "Master"),
    _kubeflow("PaddleJob", "paddleReplicaSpecs", "paddle", "Worker", "Master"),
)
"""Those that MultiKueue can send and that Kueue's shipped list names in comments only; before 0.19 it had them."""
JAX_JOB = _kubeflow("JAXJob", "jaxReplicaSpecs", "jax", "Worker")
"""It has an adapter too, but Kueue refuses the copies that this makes: its webhook knows no JAXJob with a Workload."""
