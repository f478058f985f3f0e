"""How JobSet and other operators are put together in pods."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.nodes.programs import Program, ProgramContext
from fleetqueue.fleets.pods.controllers import as_manager, run_controllers
from fleetqueue.fleets.pods.webhooks import PodWebhooks
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics

Make = Callable[[Cluster, Metrics], Sequence[Controller]]


class Asked(NamedTuple):
    """An operator that has a say in writes."""

    owner: str
    namespace: str
    deployment: str


JOBSET: Final = Asked("jobset", "jobset-system", "jobset-controller-manager")
LEADER_WORKER_SETS: Final = Asked("lws", "lws-system", "lws-controller-manager")


def programs(server: ApiServer) -> dict[str, Program]:
    """Return what runs for each image."""
    return {
        "jobset/jobset": partial(_jobset, server),
        "lws/lws": partial(_leader_worker_sets, server),
        "training-v1/training-operator": _training_operator,
        "mpioperator/mpi-operator": _mpi_operator,
        "kuberay/operator": _kuberay,
        "trainer/trainer-controller-manager": _trainer,
        "ibm/appwrapper": _app_wrappers,
        "spark-operator/controller": _spark_operator,
    }


def expect_webhooks(server: ApiServer) -> None:
    """Let nothing past the operators that a stored cluster has, until their pods run."""
    if _is_stored(server, JOBSET):
        from fleetqueue.embedded.jobset import defaults

        _webhooks(server, JOBSET).expect(defaults.hooks())
    if _is_stored(server, LEADER_WORKER_SETS):
        from fleetqueue.embedded.operators import leader_worker_sets

        _webhooks(server, LEADER_WORKER_SETS).expect(leader_worker_sets.hooks())


def _is_stored(server: ApiServer, operator: Asked) -> bool:
    return server.find("apps", "deployments", operator.namespace, operator.deployment) is not None


async def _jobset(server: ApiServer, context: ProgramContext) -> None:
    from fleetqueue.embedded.jobset import defaults, wiring

    with _asking(_webhooks(server, JOBSET, context.namespace), defaults.hooks()):
        await _operate(context, "jobset", wiring.controllers)


async def _leader_worker_sets(server: ApiServer, context: ProgramContext) -> None:
    from fleetqueue.embedded.operators.leader_worker_sets import LeaderWorkerSetController, hooks

    with _asking(_webhooks(server, LEADER_WORKER_SETS, context.namespace), hooks()):
        await _operate(context, "lws", _only(LeaderWorkerSetController))


async def _training_operator(context: ProgramContext) -> None:
    from fleetqueue.embedded.operators import wiring

    await _operate(context, "training-operator", partial(wiring.controllers, operated=wiring.TRAINING_OPERATOR))


async def _mpi_operator(context: ProgramContext) -> None:
    from fleetqueue.embedded.operators import wiring

    await _operate(context, "mpi-operator", partial(wiring.controllers, operated=wiring.MPI_OPERATOR))


async def _kuberay(context: ProgramContext) -> None:
    from fleetqueue.embedded.operators import wiring

    await _operate(context, "kuberay-operator", partial(wiring.controllers, operated=wiring.KUBERAY_OPERATOR))


async def _trainer(context: ProgramContext) -> None:
    from fleetqueue.embedded.operators.train_jobs import TrainJobController

    await _operate(context, "trainer", _only(TrainJobController))


async def _app_wrappers(context: ProgramContext) -> None:
    from fleetqueue.embedded.operators.app_wrappers import AppWrapperController

    await _operate(context, "appwrapper", _only(AppWrapperController))


async def _spark_operator(context: ProgramContext) -> None:
    from fleetqueue.embedded.operators.spark_applications import SparkApplicationController

    await _operate(context, "spark-operator", _only(SparkApplicationController))


def _only(make: Callable[[Cluster, Metrics], Controller]) -> Make:
    return lambda cluster, metrics: [make(cluster, metrics)]


async def _operate(context: ProgramContext, name: str, make: Make) -> None:
    cluster, metrics = Cluster(name, as_manager(context.client, name)), Metrics()
    await run_controllers(context, cluster, make(cluster, metrics))


def _webhooks(server: ApiServer, operator: Asked, namespace: str = "") -> PodWebhooks:
    where = namespace or operator.namespace
    return PodWebhooks(server, operator.owner, namespace=where, deployment=operator.deployment)


@contextmanager
def _asking(webhooks: PodWebhooks, hooks: Sequence[AdmissionHook]) -> Iterator[None]:
    webhooks.install(hooks)
    try:
        yield
    finally:
        webhooks.install(())
