"""Wire the controllers together: what the operators of Kubeflow and Ray do.

Each needs to list and watch its jobs and to patch their status, and to list, watch, create and delete what it makes for
them; Kubeflow's training operator to delete jobs, the MPI operator to patch Jobs and their status, and KubeRay to patch
rayclusters; and all to create and patch events.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import MPI_JOB, RAY_CLUSTER, RAY_JOB, RAY_SERVICE, RayCluster
from fleetqueue.embedded.operators import mpi_plan, ray_cluster_plan, ray_job_plan, ray_service_plan, training_plan
from fleetqueue.embedded.operators.children import Service
from fleetqueue.embedded.operators.controller import ChildKind, OperatedKind, OperatorController
from fleetqueue.embedded.operators.mpi_objects import APP
from fleetqueue.embedded.operators.ray_names import CLUSTER, FROM_NAME
from fleetqueue.embedded.operators.training_kinds import JOB_NAME, TRAINING_KINDS
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics

TRAINING_OPERATOR: Final = tuple(
    OperatedKind(
        kind.job_kind,
        kind.controller,
        (ChildKind(Pod, JOB_NAME), ChildKind(Service, JOB_NAME)),
        partial(training_plan.plan, kind),
    )
    for kind in TRAINING_KINDS
)
MPI_OPERATOR: Final = (
    OperatedKind(
        MPI_JOB,
        "mpi-job-controller",
        (ChildKind(Job, APP), ChildKind(Pod, JOB_NAME), ChildKind(Service, APP)),
        mpi_plan.plan,
    ),
)
KUBERAY_OPERATOR: Final = (
    OperatedKind(
        RAY_CLUSTER,
        "raycluster-controller",
        (ChildKind(Pod, CLUSTER), ChildKind(Service, CLUSTER)),
        ray_cluster_plan.plan,
    ),
    OperatedKind(
        RAY_JOB,
        "rayjob-controller",
        (ChildKind(RayCluster, FROM_NAME, follows_all=True), ChildKind(Job, FROM_NAME)),
        ray_job_plan.plan,
    ),
    OperatedKind(
        RAY_SERVICE,
        "rayservice-controller",
        (ChildKind(RayCluster, FROM_NAME, follows_all=True), ChildKind(Service, FROM_NAME)),
        ray_service_plan.plan,
    ),
)


def controllers(hub: Cluster, metrics: Metrics, operated: Sequence[OperatedKind]) -> Sequence[Controller]:
    """Return the controllers of one operator."""
    return [OperatorController(hub, metrics, kind) for kind in operated]
