"""Wire the controllers together: what a Kueue manager does on its cluster.

It needs, beside what scheduling needs (see `scheduling.wiring`): to create, patch and delete workloads; to patch
clusterqueues, resourceflavors and admissionchecks, for their finalizers; to patch the status of clusterqueues and
localqueues; to get, list, watch, patch and delete the jobs that it manages, and to patch their status; to list and
watch priority classes; and to create and patch events.
"""

from collections.abc import Sequence

from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.controller import JobReconciler
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.metrics import SchedulerMetrics, WorkloadMetrics
from fleetqueue.embedded.kueue.priority_classes import PriorityClassController
from fleetqueue.embedded.kueue.queues import ClusterQueueController, LocalQueueController, checks_in_use, flavors_in_use
from fleetqueue.embedded.kueue.scheduling import wiring as scheduling
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.settings import SchedulingSettings
from fleetqueue.embedded.kueue.settings import KueueSettings
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
    measures, life = SchedulerMetrics(metrics.registry), WorkloadMetrics(metrics.registry)
    return (
        *scheduling.controllers(hub, metrics, cache, measures),
        WorkloadController(hub, metrics, cache, measures=measures, life=life, settings=settings),
        PriorityClassController(hub, metrics),
        ClusterQueueController(hub, metrics, cache, measures=measures, life=life),
        LocalQueueController(hub, metrics, cache),
        flavors_in_use(hub, metrics),
        checks_in_use(hub, metrics),
        *_of_jobs(hub, metrics, settings),
    )


def _of_jobs(hub: Cluster, metrics: Metrics, settings: KueueSettings) -> list[JobReconciler]:
    enabled = [integration for integration in INTEGRATIONS if integration.framework in settings.frameworks]
    kinds = [integration.kind for integration in enabled]
    return [JobReconciler(hub, metrics, integration, settings, kinds) for integration in enabled]
