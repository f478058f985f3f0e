"""Wire the scheduler together: what the scheduler of Kueue's manager does.

It needs, as upstream's manager does: to get, list and watch workloads, clusterqueues, localqueues, cohorts,
resourceflavors, admissionchecks, namespaces, limitranges and runtimeclasses; to update and patch the status of
workloads; and to create and patch events.
"""

from collections.abc import Sequence

from fleetqueue.embedded.kueue.metrics import SchedulerMetrics
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.scheduler import KueueSchedulerController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(hub: Cluster, metrics: Metrics, cache: Cache, measures: SchedulerMetrics) -> Sequence[Controller]:
    """Return the controllers of a cluster; `cache` are also what queue statuses are read from."""
    return (KueueSchedulerController(hub, metrics, cache, measures),)
