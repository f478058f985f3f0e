"""Wire the controllers together: what a Kueue manager does on its cluster.

It needs, as upstream's manager does: to get, list and watch workloads, clusterqueues, localqueues, cohorts,
resourceflavors, admissionchecks, namespaces, limitranges and runtimeclasses, and to update and patch the status of
workloads, all for scheduling; to create, patch and delete workloads; to patch clusterqueues, resourceflavors and
admissionchecks, for their finalizers; to patch the status of clusterqueues and localqueues; to get, list, watch, patch
and delete the jobs that it manages, and to patch their status; to list and watch priority classes; and to create and
patch events.
"""

from collections.abc import Sequence

from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.controller import JobReconciler
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.priority_classes import PriorityClassController
from fleetqueue.embedded.kueue.queues import ClusterQueueController, LocalQueueController, checks_in_use, flavors_in_use
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.scheduler import KueueSchedulerController
from fleetqueue.embedded.kueue.settings import KueueSettings, SchedulingSettings
from fleetqueue.embedded.kueue.workloads import WorkloadController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics

INTEGRATIONS: tuple[Integration, ...] = (BatchJobIntegration(), JobSetIntegration())
"""The kinds of jobs that can be managed."""


def controllers(hub: Cluster, metrics: Metrics, settings: KueueSettings) -> Sequence[Controller]:
    """Return the controllers of one manager. The scheduler comes first: its cache is right before others are woken."""
    pods_ready = settings.pods_ready
    cache = Cache(SchedulingSettings(order_by_eviction=pods_ready is None or pods_ready.by_eviction))
    kueue_metrics = KueueMetrics(metrics.registry)
    return (
        KueueSchedulerController(hub, metrics, cache, kueue_metrics),
        WorkloadController(hub, metrics, cache, kueue_metrics=kueue_metrics, settings=settings),
        PriorityClassController(hub, metrics),
        ClusterQueueController(hub, metrics, cache, kueue_metrics=kueue_metrics),
        LocalQueueController(hub, metrics, cache),
        flavors_in_use(hub, metrics),
        checks_in_use(hub, metrics),
        *_of_jobs(hub, metrics, settings),
    )


def _of_jobs(hub: Cluster, metrics: Metrics, settings: KueueSettings) -> list[JobReconciler]:
    enabled = [integration for integration in INTEGRATIONS if integration.framework in settings.frameworks]
    kinds = [integration.kind for integration in enabled]
    return [JobReconciler(hub, metrics, integration, settings, kinds) for integration in enabled]
