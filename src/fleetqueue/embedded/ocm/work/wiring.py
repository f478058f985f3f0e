"""Wire the controllers together: what OCM's work manager does on the hub, and what a work agent does for each worker.

The hub half needs to list, watch, create, patch and delete manifestworks; to list, watch and patch
manifestworkreplicasets, and to patch their status; to list and watch placements and placementdecisions.

The agent needs in its cluster's namespace on the hub: to get, list, watch, update and patch manifestworks and to patch
and update their status. On the worker it needs everything that works ask for (upstream's account is an administrator),
appliedmanifestworks and their status and finalizers, to create subjectaccessreviews, and to impersonate accounts.
"""

from collections.abc import Sequence

from fleetqueue.embedded.ocm.work.applied_works import (
    AppliedWorkController,
    UnmanagedAppliedWorkController,
    WorkFinalizerController,
)
from fleetqueue.embedded.ocm.work.appliers import Appliers
from fleetqueue.embedded.ocm.work.availability import AvailabilityController
from fleetqueue.embedded.ocm.work.completed_works import CompletedWorkController
from fleetqueue.embedded.ocm.work.condition_rules import Evaluate
from fleetqueue.embedded.ocm.work.executors import Executors, Impersonate
from fleetqueue.embedded.ocm.work.manifest_works import ManifestWorkController, RestMapper
from fleetqueue.embedded.ocm.work.replica_sets import ManifestWorkReplicaSetController
from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings, WorkHubSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def hub_controllers(hub: Cluster, metrics: Metrics, settings: WorkHubSettings) -> Sequence[Controller]:
    """Return the controllers of a hub, for a Manager of it."""
    controllers: list[Controller] = []
    if settings.replica_sets:
        controllers.append(ManifestWorkReplicaSetController(hub, metrics))
    if settings.clean_up_completed:
        controllers.append(CompletedWorkController(hub, metrics))
    return controllers


def agent_controllers(
    hub: Cluster,
    worker: Cluster,
    metrics: Metrics,
    settings: WorkAgentSettings,
    *,
    evaluate: Evaluate,
    impersonate: Impersonate,
) -> Sequence[Controller]:
    """Return the controllers of one worker's agent, for a Manager of the hub; somebody must run the worker beside it.

    `evaluate` reads the CEL of condition rules; `impersonate` opens the worker as another user.
    """
    both = (hub, worker, metrics, settings)
    appliers, kinds = Appliers(worker.client), RestMapper(worker.client)
    executors = Executors(worker.client, impersonate)
    return (
        WorkFinalizerController(*both),
        ManifestWorkController(*both, kinds=kinds, appliers=appliers, executors=executors),
        AvailabilityController(*both, evaluate=evaluate),
        AppliedWorkController(*both, appliers=appliers),
        UnmanagedAppliedWorkController(*both),
    )
