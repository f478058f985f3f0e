"""The status of ClusterQueues and LocalQueues: how they stand, and whether they admit. No I/O.

Mirrors: Kueue pkg/controller/core (clusterqueue, localqueue)
"""

from collections.abc import Sequence

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition, timestamp
from fleetqueue.api.quantity import Amounts, parse_all
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling import amounts
from fleetqueue.embedded.kueue.scheduling.dominant_resource_share import rounded
from fleetqueue.embedded.kueue.scheduling.queue_usage import (
    FlavorResource,
    InactiveReason,
    Quantities,
    QueueUsageStats,
    Sample,
)

TERMINATING = "Can't admit new workloads; clusterQueue is terminating"
NO_NEW_WORKLOADS = "Can't submit new workloads to clusterQueue"


def activity(queue: kueue.ClusterQueue, problems: Sequence[InactiveReason]) -> Condition:
    """Say whether a ClusterQueue admits, and if not, why."""
    if queue.is_deleting:
        return Condition.false(kueue.ACTIVE, "Terminating", TERMINATING)
    if problems:
        details = ", ".join(problem.message for problem in problems)
        return Condition.false(kueue.ACTIVE, problems[0].reason, f"Can't admit new workloads: {details}.")
    return Condition.true(kueue.ACTIVE, "Ready", "Can admit new workloads")


def local_activity(queue: kueue.LocalQueue, target: kueue.ClusterQueue | None) -> Condition:
    """Say whether a LocalQueue takes Workloads; `target` is the ClusterQueue behind it, if there is one."""
    if queue.spec.stop_policy != "None":
        return Condition.false(kueue.ACTIVE, "Stopped", "LocalQueue is stopped")
    if target is None:
        return Condition.false(kueue.ACTIVE, "ClusterQueueDoesNotExist", NO_NEW_WORKLOADS)
    if not any(condition.type == kueue.ACTIVE and condition.is_true for condition in target.status.conditions):
        return Condition.false(kueue.ACTIVE, "ClusterQueueIsInactive", NO_NEW_WORKLOADS)
    return Condition.true(kueue.ACTIVE, "Ready", "Can submit new workloads to localQueue")


def standing(queue: kueue.ClusterQueue, usage: QueueUsageStats) -> Manifest:
    """Return the numbers of a ClusterQueue."""
    groups, in_cohort = queue.spec.resource_groups, bool(queue.spec.cohort_name)
    flavors = _flavors(groups)
    return _numbers(
        usage,
        usage.pending,
        [_borrowing(flavor, usage.reservation, in_cohort) for flavor in flavors],
        [_borrowing(flavor, usage.usage, in_cohort) for flavor in flavors],
    )


def local_standing(queue: kueue.LocalQueue, target: kueue.ClusterQueue | None, usage: QueueUsageStats) -> Manifest:
    """Return the numbers of a LocalQueue; one that is stopped has no pending Workloads."""
    pending = usage.pending if queue.spec.stop_policy == "None" else 0
    if target is None:
        return _numbers(QueueUsageStats(), pending, [], [])
    flavors = _flavors(target.spec.resource_groups)
    reserved, used = (
        [_plain(flavor, quantities) for flavor in flavors] for quantities in (usage.reservation, usage.usage)
    )
    return _numbers(usage, pending, reserved, used)


def admission_fair_sharing(sample: Sample) -> Manifest:
    """Return what the status of a LocalQueue tells of what it consumed; its share is never told."""
    consumed = {name: amounts.written_exactly(value) for name, value in sorted(sample.consumed.items())}
    status = {"consumedResources": consumed, "lastUpdate": timestamp(sample.at)}
    return {"weightedShare": 0, "admissionFairSharingStatus": status}


def consumed(fair_sharing_status: Manifest) -> Amounts | None:
    """Read what a status says was consumed; None where it says nothing."""
    status = fair_sharing_status.get("admissionFairSharingStatus")
    return None if status is None else parse_all(status.get("consumedResources") or {})


def _numbers(usage: QueueUsageStats, pending: int, reserved: Sequence[Manifest], used: Sequence[Manifest]) -> Manifest:
    counts = {
        "pendingWorkloads": pending,
        "reservingWorkloads": usage.reserving,
        "admittedWorkloads": usage.admitted,
    }
    flavors = {"flavorsReservation": reserved, "flavorsUsage": used}
    shares = {} if usage.weighted_share is None else fair_sharing(usage.weighted_share)
    return counts | {field: [*given] for field, given in flavors.items() if given} | shares


def fair_sharing(weighted_share: float) -> Manifest:
    return {"fairSharing": {"weightedShare": rounded(weighted_share)}}


def _flavors(groups: Sequence[kueue.ResourceGroup]) -> list[kueue.FlavorQuotas]:
    return [flavor for group in groups for flavor in group.flavors]


def _plain(flavor: kueue.FlavorQuotas, used: Quantities) -> Manifest:
    names = sorted(resource.name for resource in flavor.resources)
    totals = [{"name": name, "total": _total(flavor.name, name, used)} for name in names]
    return {"name": flavor.name, "resources": totals}


def _borrowing(flavor: kueue.FlavorQuotas, used: Quantities, in_cohort: bool) -> Manifest:
    resources = []
    for resource in sorted(flavor.resources, key=lambda quota: quota.name):
        name = resource.name
        over = used.get(FlavorResource(flavor.name, name), 0) - amounts.amount(name, resource.nominal_quota)
        borrowed = amounts.written(name, max(over, 0)) if in_cohort else "0"
        resources.append({"name": name, "total": _total(flavor.name, name, used), "borrowed": borrowed})
    return {"name": flavor.name, "resources": resources}


def _total(flavor: str, resource: str, used: Quantities) -> str:
    return amounts.written(resource, used.get(FlavorResource(flavor, resource), 0))
