"""The kinds by families: what a fleet needs for them, and their scenarios. Each family has a record of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fleetqueue.api import job_kinds
from fleetqueue.api import kueue_pods as pods
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest

from ..job_samples import SAMPLES, Sample  # noqa: TID252 - what the rooms share stands above them
from ..kueue_integrations.form import EXTERNAL, Pipeline  # noqa: TID252
from ..world import Described  # noqa: TID252
from . import external_situations, pod_situations
from .samples import APP_WRAPPER, TRAIN_JOB, training_runtime
from .situations import elastic_life, first_step, short_life, whole_life


@dataclass(frozen=True)
class Family:
    name: str
    systems: tuple[str, ...]
    """Whose custom kinds they are."""
    frameworks: tuple[str, ...]
    words: tuple[str, ...]
    """The words of `form` for the kinds that they are, or that become of them."""
    described: tuple[Described, ...]
    external: Mapping[str, type[Object]] = field(default_factory=dict)
    """Kinds of somebody else that are sent, by the names that Kueue's configuration has for them."""
    definitions: tuple[Manifest, ...] = ()
    """Of those kinds."""


def _sample(of: job_kinds.JobKind) -> Sample:
    return next(sample for sample in SAMPLES if sample.of is of)


def _run_by_operators(
    name: str, systems: tuple[str, ...], kinds: Iterable[job_kinds.JobKind], *described: Iterable[Described]
) -> Family:
    return Family(
        name,
        systems,
        tuple(kind.framework for kind in kinds),
        tuple(kind.kind.resource.kind.lower() for kind in kinds),
        tuple(each for some in described for each in some),
    )


FAMILIES = (
    _run_by_operators(
        "kubeflow",
        ("training-operator", "mpi-operator"),
        (
            job_kinds.PYTORCH_JOB,
            job_kinds.TF_JOB,
            job_kinds.XGBOOST_JOB,
            job_kinds.PADDLE_JOB,
            job_kinds.JAX_JOB,
            job_kinds.MPI_JOB,
        ),
        whole_life(_sample(job_kinds.PYTORCH_JOB)),
        whole_life(_sample(job_kinds.MPI_JOB)),
        short_life(_sample(job_kinds.TF_JOB)),
        short_life(_sample(job_kinds.XGBOOST_JOB)),
        short_life(_sample(job_kinds.PADDLE_JOB)),
        first_step(_sample(job_kinds.JAX_JOB)),
    ),
    _run_by_operators(
        "ray",
        ("kuberay",),
        (job_kinds.RAY_CLUSTER, job_kinds.RAY_JOB, job_kinds.RAY_SERVICE),
        whole_life(_sample(job_kinds.RAY_CLUSTER)),
        whole_life(_sample(job_kinds.RAY_JOB)),
        whole_life(_sample(job_kinds.RAY_SERVICE)),
        elastic_life(_sample(job_kinds.RAY_CLUSTER)),
        elastic_life(_sample(job_kinds.RAY_JOB)),
        elastic_life(_sample(job_kinds.RAY_SERVICE)),
    ),
    _run_by_operators(
        "runtimes_and_wrappers",
        ("trainer", "appwrapper"),
        (job_kinds.TRAIN_JOB, job_kinds.APP_WRAPPER),
        ({**each, "beside": [training_runtime()]} for each in whole_life(TRAIN_JOB)),
        whole_life(APP_WRAPPER),
    ),
    Family("pods", (), (pods.POD,), ("pod",), tuple(pod_situations.pods())),
    Family(
        "sets",
        ("leaderworkerset",),
        (pods.POD, pods.STATEFUL_SET, pods.LEADER_WORKER_SET),
        ("statefulset", "leaderworkerset", "pod"),
        tuple(pod_situations.sets()),
    ),
    Family(
        "external",
        (),
        (job_kinds.BATCH_JOB.framework,),
        ("pipeline",),
        tuple(external_situations.described()),
        {EXTERNAL: Pipeline},
        (external_situations.DEFINITION,),
    ),
)
