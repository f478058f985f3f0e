"""Where Workloads are counted, and what is no longer told of queues that have gone."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object
from fleetqueue.embedded.kueue.metric_kinds import Place
from fleetqueue.embedded.kueue.metrics import KueueMetrics, PlaceOf
from fleetqueue.embedded.kueue.scheduling.cache_view import CacheView
from fleetqueue.embedded.kueue.settings import MetricsSettings
from fleetqueue.runtime.cluster import Cluster


def places(hub: Cluster, cache: CacheView, settings: MetricsSettings) -> PlaceOf:
    """Return what finds the place of a Workload: its LocalQueue only where something is told of it."""

    def place_of(view: kueue.Workload, cluster_queue: str) -> Place:
        queue = hub.get(kueue.LocalQueue, view.spec.queue_name, view.namespace)
        is_told = queue is not None and queue.spec.cluster_queue == cluster_queue and tells_of(settings, queue)
        local_queue = queue.key if queue is not None and is_told else ""
        return Place(cluster_queue, local_queue, cache.cohorts_above(cluster_queue))

    return place_of


def tells_of(settings: MetricsSettings, queue: kueue.LocalQueue) -> bool:
    return settings.local_queues is not None and settings.local_queues.matches(queue.metadata.labels)


def forget_gone(hub: Cluster, cache: CacheView, metrics: KueueMetrics) -> None:
    """Stop telling of queues and cohorts when they go; call it after the cache has begun to follow them."""

    def cluster_queue_changed(old: kueue.ClusterQueue | None, new: kueue.ClusterQueue | None) -> None:
        if old is not None and _has_gone(old, new):
            metrics.forget_cluster_queue(old.name)
        if old is not None:
            forget_unless_named(old.spec.cohort_name)

    def local_queue_changed(old: kueue.LocalQueue | None, new: kueue.LocalQueue | None) -> None:
        if old is not None and (new is None or _has_gone(old, new) or (new.is_stopped and not old.is_stopped)):
            metrics.forget_local_queue(old.key)

    def cohort_changed(old: kueue.Cohort | None, new: kueue.Cohort | None) -> None:
        if old is not None and _has_gone(old, new):
            metrics.forget_cohort(old.name)
        if old is not None:
            forget_unless_named(old.spec.parent_name)

    def forget_unless_named(cohort: str) -> None:
        if cohort not in cache.forest.cohorts:
            metrics.forget_cohort(cohort)

    hub.informer(kueue.ClusterQueue).subscribe(cluster_queue_changed)
    hub.informer(kueue.LocalQueue).subscribe(local_queue_changed)
    hub.informer(kueue.Cohort).subscribe(cohort_changed)


def _has_gone(old: Object, new: Object | None) -> bool:
    return new is None or new.uid != old.uid
