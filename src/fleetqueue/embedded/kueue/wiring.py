"""Wire the controllers together: what a Kueue manager does on its cluster.

It needs, as upstream's manager does: to get, list and watch workloads, clusterqueues, localqueues, cohorts,
resourceflavors, topologies, admissionchecks, namespaces, nodes, pods, limitranges and runtimeclasses, and to update and
patch the status of workloads, all for scheduling; to create, patch and delete workloads; to patch clusterqueues,
resourceflavors, topologies and admissionchecks, for their finalizers; to patch the status of clusterqueues,
localqueues and cohorts; to get, list, watch, patch and delete the jobs and pods that it manages, and to patch their
status; to patch the pods of elastic jobs and those that are placed by topology; to list and watch priority classes, and
the runtimes of TrainJobs; to create and patch events; and, where replicas elect a leader, to get, create and patch
leases in its own namespace.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.aggregated_apis import Serve, not_served
from fleetqueue.api.kueue_pods import LEADER_WORKER_SET, STATEFUL_SET
from fleetqueue.api.meta import Object
from fleetqueue.embedded.kueue.elastic_pods import ElasticPodController
from fleetqueue.embedded.kueue.jobs.ancestors import Ancestors
from fleetqueue.embedded.kueue.jobs.app_wrapper import AppWrapperIntegration
from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.controller import JobReconciler
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.jobs.jobs_of_workloads import JobsOfWorkloads
from fleetqueue.embedded.kueue.jobs.kubeflow import KUBEFLOW_INTEGRATIONS
from fleetqueue.embedded.kueue.jobs.ray import RAY_INTEGRATIONS
from fleetqueue.embedded.kueue.jobs.spark_application import SparkApplicationIntegration
from fleetqueue.embedded.kueue.jobs.train_job import TrainJobIntegration
from fleetqueue.embedded.kueue.metric_places import places
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.pods.controller import PodReconciler
from fleetqueue.embedded.kueue.pods.group_controller import PodGroupReconciler
from fleetqueue.embedded.kueue.pods.leader_worker_sets import LeaderWorkerSetReconciler
from fleetqueue.embedded.kueue.pods.stateful_sets import StatefulSetReconciler
from fleetqueue.embedded.kueue.priority_classes import PriorityClassController
from fleetqueue.embedded.kueue.queues import (
    ClusterQueueController,
    CohortController,
    LocalQueueController,
    checks_in_use,
    flavors_in_use,
    topologies_in_use,
)
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.scheduler import KueueSchedulerController
from fleetqueue.embedded.kueue.settings import KueueSettings, SchedulingSettings
from fleetqueue.embedded.kueue.state_metrics import StateMetrics
from fleetqueue.embedded.kueue.topology_pods.failed_nodes import FailedNodeController
from fleetqueue.embedded.kueue.topology_pods.topology_ungater import TopologyUngater
from fleetqueue.embedded.kueue.visibility import GATE
from fleetqueue.embedded.kueue.visibility_server import VisibilityServer
from fleetqueue.embedded.kueue.workloads import WorkloadController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics

INTEGRATIONS: tuple[Integration, ...] = (
    BatchJobIntegration(),
    JobSetIntegration(),
    *KUBEFLOW_INTEGRATIONS,
    *RAY_INTEGRATIONS,
    TrainJobIntegration(),
    AppWrapperIntegration(),
    SparkApplicationIntegration(),
)
"""The kinds of jobs that can be managed."""


def controllers(
    hub: Cluster,
    metrics: Metrics,
    settings: KueueSettings,
    parents: Sequence[type[Object]] = (),
    *,
    serve: Serve = not_served,
) -> Sequence[Controller]:
    """Return the controllers of one manager. The scheduler comes first: its cache is right before others are woken.

    Args:
        parents: kinds that somebody else manages, and whose objects may have jobs below them.
        serve: serves the visibility API.
    """
    cache = Cache(_scheduling(settings))
    kueue_metrics = KueueMetrics(metrics.registry, places(hub, cache, settings.metrics), role=settings.replica_role)
    metrics.registry.register(StateMetrics(cache, partial(hub.list, kueue.LocalQueue), settings))
    return (
        KueueSchedulerController(hub, metrics, cache, kueue_metrics),
        WorkloadController(hub, metrics, cache, kueue_metrics=kueue_metrics, settings=settings),
        PriorityClassController(hub, metrics),
        ClusterQueueController(hub, metrics, cache),
        LocalQueueController(hub, metrics, cache),
        CohortController(hub, metrics, cache),
        flavors_in_use(hub, metrics),
        topologies_in_use(hub, metrics),
        checks_in_use(hub, metrics),
        ElasticPodController(hub, metrics, kueue_metrics),
        TopologyUngater(hub, metrics, kueue_metrics),
        *_of_nodes(hub, metrics, settings, kueue_metrics),
        *_of_jobs(hub, metrics, settings, parents, kueue_metrics),
        *_of_pods(hub, metrics, settings, parents, kueue_metrics),
        *_visibility(hub, metrics, cache, settings, serve),
    )


def _scheduling(settings: KueueSettings) -> SchedulingSettings:
    pods_ready = settings.pods_ready
    return SchedulingSettings(
        order_by_eviction=pods_ready is None or pods_ready.by_eviction,
        blocks_until_ready=pods_ready is not None and pods_ready.blocks_admission,
        resources=settings.resources,
        fair_sharing=settings.fair_sharing,
        admission_fair_sharing=settings.admission_fair_sharing,
        evicts_without_replacement=settings.feature_gates.get("TASFailedNodeReplacementFailFast", True),
    )


def _of_nodes(
    hub: Cluster, metrics: Metrics, settings: KueueSettings, kueue_metrics: KueueMetrics
) -> Iterable[Controller]:
    if settings.feature_gates.get("TASFailedNodeReplacement", True):
        yield FailedNodeController(hub, metrics, kueue_metrics, settings)


def _visibility(
    hub: Cluster, metrics: Metrics, cache: Cache, settings: KueueSettings, serve: Serve
) -> Iterable[Controller]:
    if settings.feature_gates.get(GATE, True):
        yield VisibilityServer(hub, metrics, cache.queue_manager, serve)


def _of_jobs(
    hub: Cluster,
    metrics: Metrics,
    settings: KueueSettings,
    parents: Sequence[type[Object]],
    kueue_metrics: KueueMetrics,
) -> list[JobReconciler]:
    ancestors = _ancestors(hub, settings, parents)
    jobs_of_workloads = JobsOfWorkloads(hub)
    return [
        JobReconciler(hub, metrics, one, settings, ancestors, jobs_of_workloads, kueue_metrics)
        for one in _enabled(settings)
    ]


def _enabled(settings: KueueSettings) -> list[Integration]:
    return [integration for integration in INTEGRATIONS if integration.framework in settings.frameworks]


def _ancestors(hub: Cluster, settings: KueueSettings, external: Sequence[type[Object]]) -> Ancestors:
    jobs = [integration.kind for integration in _enabled(settings)]
    return Ancestors(hub, jobs, external, without_queue=settings.manages_jobs_without_queue)


def _of_pods(
    hub: Cluster,
    metrics: Metrics,
    settings: KueueSettings,
    parents: Sequence[type[Object]],
    kueue_metrics: KueueMetrics,
) -> list[Controller]:
    if not settings.manages_pods:
        return []
    made: list[Controller] = [
        PodReconciler(hub, metrics, settings, kueue_metrics),
        PodGroupReconciler(hub, metrics, settings, kueue_metrics),
    ]
    ancestors = _ancestors(hub, settings, parents)
    if STATEFUL_SET in settings.frameworks:
        made.append(StatefulSetReconciler(hub, metrics, settings, ancestors))
    if LEADER_WORKER_SET in settings.frameworks:
        made.append(LeaderWorkerSetReconciler(hub, metrics, settings, ancestors))
    return made
