"""The kinds of Kubeflow's training operator, as data: whose end is the end of a job, and what its pods are given.

Mirrors: training-operator pkg/controller.v1/{jax,paddlepaddle,pytorch,tensorflow,xgboost}, pkg/apis/kubeflow.org/v1
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fleetqueue.api.job_kinds import JAX_JOB, PADDLE_JOB, PYTORCH_JOB, TF_JOB, XGBOOST_JOB, ReplicaJobKind
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.plan import label, phase

PREFIX: Final = "training.kubeflow.org/"
JOB_NAME: Final = f"{PREFIX}job-name"
OPERATOR: Final = f"{PREFIX}operator-name"
ROLE: Final = f"{PREFIX}job-role"
REPLICA_TYPE: Final = f"{PREFIX}replica-type"
REPLICA_INDEX: Final = f"{PREFIX}replica-index"
WORKER: Final = "Worker"
NEVER, ON_FAILURE, ALWAYS, EXIT_CODE = "Never", "OnFailure", "Always", "ExitCode"

Early = Callable[[Manifest, Sequence[Manifest]], bool]


def _not_early(job: Manifest, workers: Sequence[Manifest]) -> bool:
    return False


def _elastic_worker_ended(job: Manifest, workers: Sequence[Manifest]) -> bool:
    return bool(job["spec"].get("elasticPolicy")) and any(phase(pod) == "Succeeded" for pod in workers)


def _worker_0_ended(job: Manifest, workers: Sequence[Manifest]) -> bool:
    ended = any(label(pod, REPLICA_INDEX) == "0" and phase(pod) == "Succeeded" for pod in workers)
    return ended and job["spec"].get("successPolicy") != "AllWorkers"


@dataclass(frozen=True, slots=True)
class TrainingKind:
    job_kind: ReplicaJobKind
    container: str
    """The name of the container that trains."""
    port: tuple[str, int]
    """The port that it is given, by name and number."""
    restart_policy: str = NEVER
    """That of a role that names none."""
    leaders: tuple[str, ...] = ("Master",)
    """The roles whose end is the end of the job; of one that has none of them, it is the workers'."""
    worker_0_leads: bool = True
    """Whether the first worker is called the master where no role leads."""
    has_ended_early: Early = _not_early
    """Tells whether a job without leaders has succeeded before all workers have."""
    restarts: tuple[str, ...] = (ON_FAILURE, ALWAYS, EXIT_CODE)
    """The restart policies with which a failed pod does not end the job."""
    has_selectors: bool = True
    """Whether the count of a role says how its pods are selected."""
    names_namespace: bool = False
    """Whether its messages always say in which namespace it is."""

    @property
    def name(self) -> str:
        return self.job_kind.kind.resource.kind

    @property
    def controller(self) -> str:
        return f"{self.name.lower()}-controller"


PYTORCH: Final = TrainingKind(
    PYTORCH_JOB,
    "pytorch",
    ("pytorchjob-port", 23456),
    restart_policy=ON_FAILURE,
    has_ended_early=_elastic_worker_ended,
)
TENSORFLOW: Final = TrainingKind(
    TF_JOB,
    "tensorflow",
    ("tfjob-port", 2222),
    leaders=("Chief", "Master"),
    has_ended_early=_worker_0_ended,
    has_selectors=False,
    names_namespace=True,
)
XGBOOST: Final = TrainingKind(
    XGBOOST_JOB, "xgboost", ("xgboostjob-port", 9999), restarts=(EXIT_CODE,), has_selectors=False
)
PADDLE: Final = TrainingKind(PADDLE_JOB, "paddle", ("master", 36543), restart_policy=ON_FAILURE, worker_0_leads=False)
JAX: Final = TrainingKind(JAX_JOB, "jax", ("jaxjob-port", 6666), leaders=())

TRAINING_KINDS: Final = (JAX, PADDLE, PYTORCH, TENSORFLOW, XGBOOST)
