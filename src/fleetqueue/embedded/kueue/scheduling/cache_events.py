"""Keep the scheduler's cache up to date with what informers see.

Reads: Workload, ClusterQueue, LocalQueue, Cohort, ResourceFlavor, AdmissionCheck, Namespace, LimitRange, RuntimeClass
"""

from collections.abc import Callable
from typing import Any

import msgspec

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import O, Object
from fleetqueue.api.pod_limits import LimitRange, RuntimeClass
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import summary
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.logs import Log

log = Log("kueue")


def listen(hub: Cluster, cache: Cache) -> None:
    """Follow all kinds that the cache holds; call it before the hub runs."""
    _hear(hub, kueue.ResourceFlavor, cache.set_flavor, cache.drop_flavor)
    _hear(hub, kueue.AdmissionCheck, cache.set_check, cache.drop_check)
    _hear(hub, kueue.Cohort, cache.set_cohort, cache.drop_cohort)
    _hear(hub, kueue.ClusterQueue, cache.set_cluster_queue, cache.drop_cluster_queue)
    _hear(hub, kueue.LocalQueue, cache.set_local_queue, cache.drop_local_queue)
    _hear(hub, kueue.QueuedWorkload, cache.set_workload, cache.drop_workload)
    _hear(hub, Namespace, lambda one: cache.set_namespace(one.name, one.metadata.labels), cache.drop_namespace)
    _hear(
        hub,
        RuntimeClass,
        lambda one: cache.set_overhead(one.name, one.overhead.pod_fixed),
        lambda key: cache.set_overhead(key, None),
    )
    hub.informer(LimitRange).subscribe(lambda old, new: _take_limits(hub, cache, old or new))


def _hear(hub: Cluster, kind: type[O], put: Callable[[O], Any], drop: Callable[[str], Any]) -> None:
    def hear(old: O | None, new: O | None) -> None:
        if old is not None and (new is None or old.uid != new.uid):
            drop(old.key)
        if new is not None:
            take(new)

    def take(new: O) -> None:
        try:
            put(new)
        except (ValueError, msgspec.ValidationError) as error:
            # One odd object must not end the watch for all others; it counts as what it was before.
            log.warning("object cannot be read", kind=kind.resource.kind, key=new.key, error=error)

    hub.informer(kind).subscribe(hear)


def _take_limits(hub: Cluster, cache: Cache, changed: Object | None) -> None:
    if changed is not None:
        cache.set_limits(changed.namespace, summary(hub.list(LimitRange, changed.namespace)))
