"""Who runs the jobs of other kinds on an embedded cluster: operators as pods, each with the kinds that it needs."""

from typing import Final, NamedTuple

from fleetqueue.api import job_kinds as kinds
from fleetqueue.api import kueue_configuration
from fleetqueue.api.kueue_pods import LEADER_WORKER_SET
from fleetqueue.fleets.systems.parts import FOLLOW, SystemPart, rule

_TRAINING: Final = "jaxjobs paddlejobs pytorchjobs tfjobs xgboostjobs"
_TRAINER: Final = "trainer.kubeflow.org"
_WRAPPERS: Final = "workload.codeflare.dev"
_SPARK: Final = "sparkoperator.k8s.io"
_SETS: Final = "leaderworkerset.x-k8s.io"
_COUNTED_EVENTS: Final = rule("", "events", "create patch")
_SAYS: Final = rule("events.k8s.io", "events", "create")
_MADE: Final = "get create delete"


def _status_of(resources: str) -> str:
    return " ".join(f"{resource}/status" for resource in resources.split())


TRAINING_OPERATOR: Final = SystemPart(
    "training-operator",
    "kubeflow",
    image="ghcr.io/kubeflow/training-v1/training-operator:v1.9.3",
    args=(),
    account="training-operator",
    rules=(
        rule("kubeflow.org", _TRAINING, f"get {FOLLOW} delete"),
        rule("kubeflow.org", _status_of(_TRAINING), "patch"),
        rule("", "pods services", f"{FOLLOW} create delete"),
        _COUNTED_EVENTS,
    ),
)

MPI_OPERATOR: Final = SystemPart(
    "mpi-operator",
    "mpi-operator",
    image="docker.io/mpioperator/mpi-operator:0.8.2",
    args=(),
    account="mpi-operator",
    rules=(
        rule("kubeflow.org", "mpijobs", f"get {FOLLOW}"),
        rule("kubeflow.org", "mpijobs/status", "patch"),
        rule("batch", "jobs", f"{FOLLOW} create patch delete"),
        rule("batch", "jobs/status", "patch"),
        rule("", "pods services", f"{FOLLOW} create delete"),
        _COUNTED_EVENTS,
    ),
)

KUBERAY_OPERATOR: Final = SystemPart(
    "kuberay-operator",
    "ray-system",
    image="quay.io/kuberay/operator:v1.6.2",
    args=(),
    account="kuberay-operator",
    rules=(
        rule("ray.io", "rayjobs rayservices", f"get {FOLLOW}"),
        rule("ray.io", "rayclusters", f"get {FOLLOW} create patch delete"),
        rule("ray.io", _status_of("rayclusters rayjobs rayservices"), "patch"),
        rule("batch", "jobs", f"{FOLLOW} create delete"),
        rule("", "pods services", f"{FOLLOW} create delete"),
        _COUNTED_EVENTS,
    ),
)

LEADER_WORKER_SETS: Final = SystemPart(
    "lws-controller-manager",
    "lws-system",
    image="registry.k8s.io/lws/lws:v0.9.0",
    args=(),
    account="lws-controller-manager",
    rules=(
        rule(_SETS, "leaderworkersets", FOLLOW),
        rule(_SETS, "leaderworkersets/status", "patch"),
        rule("apps", "statefulsets", f"{FOLLOW} create patch"),
        rule("", "pods", f"{FOLLOW} delete"),
    ),
)

TRAINER: Final = SystemPart(
    "kubeflow-trainer-controller-manager",
    "kubeflow-system",
    image="ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.2.1",
    args=(),
    account="kubeflow-trainer-controller-manager",
    rules=(
        rule(_TRAINER, "trainjobs clustertrainingruntimes trainingruntimes", FOLLOW),
        rule(_TRAINER, "trainjobs/status", "patch"),
        rule("jobset.x-k8s.io", "jobsets", f"{FOLLOW} create patch delete"),
        _SAYS,
    ),
)

APP_WRAPPERS: Final = SystemPart(
    "appwrapper-controller-manager",
    "appwrapper-system",
    image="quay.io/ibm/appwrapper:v1.2.2",
    args=(),
    account="appwrapper-controller-manager",
    rules=(
        rule(_WRAPPERS, "appwrappers", f"{FOLLOW} patch"),
        rule(_WRAPPERS, "appwrappers/status", "patch"),
        rule("", "pods", f"{FOLLOW} {_MADE}"),
        rule("", "services", _MADE),
        rule("apps", "deployments statefulsets", _MADE),
        rule("batch", "jobs", _MADE),
        rule("jobset.x-k8s.io", "jobsets", _MADE),
        rule("kubeflow.org", "pytorchjobs", _MADE),
        rule("ray.io", "rayclusters rayjobs", _MADE),
        _SAYS,
    ),
)

SPARK_OPERATOR: Final = SystemPart(
    "spark-operator-controller",
    "spark-operator",
    image="ghcr.io/kubeflow/spark-operator/controller:2.5.1",
    args=(),
    account="spark-operator-controller",
    rules=(
        rule(_SPARK, "sparkapplications", FOLLOW),
        rule(_SPARK, "sparkapplications/status", "patch"),
        rule("", "pods", f"{FOLLOW} create delete"),
    ),
)


class Operator(NamedTuple):
    system: str
    """Whose kinds it needs; see `install_kinds`."""
    part: SystemPart
    runs: tuple[str, ...]
    """The kinds of jobs that it runs, by Kueue's names for them."""


def _frameworks(*job_kinds: kinds.JobKind) -> tuple[str, ...]:
    return tuple(kind.framework for kind in job_kinds)


OPERATORS: Final = (
    Operator(
        "training-operator",
        TRAINING_OPERATOR,
        _frameworks(kinds.JAX_JOB, kinds.PADDLE_JOB, kinds.PYTORCH_JOB, kinds.TF_JOB, kinds.XGBOOST_JOB),
    ),
    Operator("mpi-operator", MPI_OPERATOR, _frameworks(kinds.MPI_JOB)),
    Operator("kuberay", KUBERAY_OPERATOR, _frameworks(kinds.RAY_CLUSTER, kinds.RAY_JOB, kinds.RAY_SERVICE)),
    Operator("leaderworkerset", LEADER_WORKER_SETS, (LEADER_WORKER_SET,)),
    Operator("trainer", TRAINER, _frameworks(kinds.TRAIN_JOB)),
    Operator("appwrapper", APP_WRAPPERS, _frameworks(kinds.APP_WRAPPER)),
    Operator("spark-operator", SPARK_OPERATOR, _frameworks(kinds.SPARK_APPLICATION)),
)


def operators(config: str) -> list[Operator]:
    """Return who runs the kinds of jobs that Kueue's configuration names, beside Kubernetes and JobSet."""
    named = set(kueue_configuration.read(config).frameworks)
    return [operator for operator in OPERATORS if named & set(operator.runs)]
