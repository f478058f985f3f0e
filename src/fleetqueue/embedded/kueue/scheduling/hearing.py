"""Tell the books of everything that happens on the cluster.

Reads: Workload, ClusterQueue, LocalQueue, Cohort, ResourceFlavor, AdmissionCheck, Namespace, LimitRange, RuntimeClass
"""

from collections.abc import Callable
from typing import Any

import msgspec

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import O, Object
from fleetqueue.api.pod_limits import LimitRange, RuntimeClass
from fleetqueue.embedded.kueue.scheduling.adjusting import summary
from fleetqueue.embedded.kueue.scheduling.books import Books
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.logs import Log

log = Log("kueue")


def listen(hub: Cluster, books: Books) -> None:
    """Follow all kinds that the books are kept of; before the hub runs."""
    _hear(hub, kueue.ResourceFlavor, books.set_flavor, books.drop_flavor)
    _hear(hub, kueue.AdmissionCheck, books.set_check, books.drop_check)
    _hear(hub, kueue.Cohort, books.set_cohort, books.drop_cohort)
    _hear(hub, kueue.ClusterQueue, books.set_cluster_queue, books.drop_cluster_queue)
    _hear(hub, kueue.LocalQueue, books.set_local_queue, books.drop_local_queue)
    _hear(hub, kueue.QueuedWorkload, books.set_workload, books.drop_workload)
    _hear(hub, Namespace, lambda one: books.set_namespace(one.name, one.metadata.labels), books.drop_namespace)
    _hear(
        hub,
        RuntimeClass,
        lambda one: books.set_overhead(one.name, one.overhead.pod_fixed),
        lambda key: books.set_overhead(key, None),
    )
    hub.informer(LimitRange).subscribe(lambda old, new: _take_limits(hub, books, old or new))


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


def _take_limits(hub: Cluster, books: Books, changed: Object | None) -> None:
    if changed is not None:
        books.set_limits(changed.namespace, summary(hub.list(LimitRange, changed.namespace)))
