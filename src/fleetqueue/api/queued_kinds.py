"""The kinds of objects that Kueue queues where they name a queue, by how its configuration calls them."""

from collections.abc import Mapping
from typing import Final

from fleetqueue.api import job_kinds
from fleetqueue.api.apps_v1 import Deployment, StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.api.kueue_pods import ABOVE_PODS, DEPLOYMENT, LEADER_WORKER_SET, POD, STATEFUL_SET
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.scheme import Resource

_JOBS: Final = (
    job_kinds.BATCH_JOB,
    job_kinds.JOB_SET,
    job_kinds.JAX_JOB,
    job_kinds.MPI_JOB,
    job_kinds.PADDLE_JOB,
    job_kinds.PYTORCH_JOB,
    job_kinds.TF_JOB,
    job_kinds.XGBOOST_JOB,
    job_kinds.RAY_CLUSTER,
    job_kinds.RAY_JOB,
    job_kinds.RAY_SERVICE,
    job_kinds.TRAIN_JOB,
    job_kinds.SPARK_APPLICATION,
    job_kinds.APP_WRAPPER,
)
QUEUED_KINDS: Final[Mapping[str, Resource]] = {
    **{job.framework: job.kind.resource for job in _JOBS},
    POD: Pod.resource,
    DEPLOYMENT: Deployment.resource,
    STATEFUL_SET: StatefulSet.resource,
    LEADER_WORKER_SET: LeaderWorkerSet.resource,
}
"""All that Kueue itself knows; others are external frameworks."""


def framework_of(group: str, kind: str) -> str:
    """Return how Kueue's configuration calls a kind, whatever its version; empty where Kueue does not know it."""
    return next((name for name, one in QUEUED_KINDS.items() if (one.group, one.kind) == (group, kind)), "")


def is_managed(group: str, kind: str, configuration: Configuration) -> bool:
    """Tell whether a Kueue with this configuration queues a kind, or leaves that to a framework of its own."""
    framework = framework_of(group, kind)
    if framework:
        by_set = framework == POD and any(name in configuration.frameworks for name in ABOVE_PODS)
        return framework in configuration.frameworks or by_set
    names = (*configuration.external_frameworks, *configuration.frameworks_elsewhere)
    return any(name.startswith(f"{kind}.") and name.endswith(f".{group}") for name in names)
