"""The rows of queues: quota, what is held of it, who is in and who waits. No I/O."""

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.dashboard.rows import Row


def cluster_queue_row(queue: kueue.ClusterQueue) -> Row:
    active = conditions.find(queue.status.conditions, kueue.ACTIVE)
    quota, held = queue.quota, queue.reserved
    return {
        "name": queue.name,
        "cohort": queue.spec.cohort_name,
        "active": active.status if active else conditions.UNKNOWN,
        "why": "" if active is None or active.is_true else active.message or active.reason,
        "checks": queue.checks,
        "strategy": queue.spec.queueing_strategy,
        "quota": {name: [float(held.get(name, 0)), float(total)] for name, total in quota.items()},
        "admitted": queue.status.admitted_workloads,
        "waiting": queue.status.pending_workloads,
    }


def local_queue_row(queue: kueue.LocalQueue) -> Row:
    active = conditions.find(queue.status.conditions, kueue.ACTIVE)
    return {
        "namespace": queue.namespace,
        "name": queue.name,
        "queue": queue.spec.cluster_queue,
        "active": active.status if active else conditions.UNKNOWN,
        "why": "" if active is None or active.is_true else active.message or active.reason,
        "admitted": queue.status.admitted_workloads,
        "waiting": queue.status.pending_workloads,
    }
