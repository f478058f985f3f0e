"""What is to be done about one Workload: on the hub, and on each worker. No I/O: every branch is one row of a table.

The protocol that keeps a job from running twice: a worker gets the job only if it is the winner, and as long as any
worker may have the job, none but that one can win. Who cannot be asked is believed to have what it had, until it has
been lost for `worker_lost_timeout`.

Mirrors: Kueue pkg/controller/admissionchecks/multikueue/workload.go (reconcileGroup)
Left out: preemption gates.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.delayed_topologies import placed_sets, waiting_sets
from fleetqueue.embedded.multikueue.names import DEACTIVATION_TARGET, OUT_OF_SYNC, OWNER_NOT_FOUND
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy, WorkloadGroup

LONG_AGO = datetime.min.replace(tzinfo=UTC)
NOT_OVER = (OUT_OF_SYNC, OWNER_NOT_FOUND)
"""Why a worker's Workload may have finished though the job has not."""


class GroupAction(Enum):
    NOTHING = "nothing"
    WAIT = "wait"
    NOMINATE = "nominate"
    RECORD = "record the winner"
    PLACE = "note that pods are placed"
    RETRY = "ask for another try"
    COPY_STATUS = "copy the job's status"
    LAST_STATUS = "end the job's status"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class GroupStep:
    """One thing to do on the hub; it wakes us again."""

    act: GroupAction = GroupAction.NOTHING
    cluster: str = ""
    clusters: tuple[str, ...] = ()
    message: str = ""
    reason: str = ""
    event: str = ""
    """NORMAL or WARNING where people are told."""
    seconds: float = 0.0


class Wanted(Enum):
    """What a worker has to have."""

    AS_IS = "whatever there is"
    NOTHING = "nothing"
    WORKLOAD = "the Workload"
    JOB = "the Workload and the job"
    EVICTION = "the Workload, evicted"


def decide(group: WorkloadGroup, *, nominates: bool) -> GroupStep:
    """Return what is to be done on the hub; `nominates` is whether all clusters are nominated by ourselves."""
    if group.is_left_alone:
        return GroupStep()
    if group.needs_nothing:
        return _without_quota(group)
    if group.local.is_leaving:
        return _leaving(group)
    if group.local.status.cluster_name and not group.is_slice_to_place:
        return _placed(group, group.local.status.cluster_name)
    if group.check.state == kueue.READY:
        return _retry(messages.NO_CLUSTER)
    if group.check.state != kueue.PENDING:
        return GroupStep()
    return _pending(group, nominates=nominates)


def _without_quota(group: WorkloadGroup) -> GroupStep:
    """Say of a job that was stopped that it runs no more: the quota of a single pod does not wait for its copy."""
    was_stopped = group.local.is_live and group.local.is_true(kueue.EVICTED) and not group.with_jobs()
    return GroupStep(GroupAction.LAST_STATUS) if was_stopped and last_status_changes(group) else GroupStep()


def _leaving(group: WorkloadGroup) -> GroupStep:
    """Bring back how the job ended on the worker; where nobody has it any more, that is known all the same."""
    for copy in group.with_jobs():
        if copy.is_connected and status_changes(group, copy):
            return GroupStep(GroupAction.COPY_STATUS, copy.cluster)
    if holders := group.with_jobs():
        return _wait(group, holders)
    if last_status_changes(group):
        return GroupStep(GroupAction.LAST_STATUS)
    return GroupStep()


def _placed(group: WorkloadGroup, cluster: str) -> GroupStep:
    """Follow the copy on the cluster that won."""
    copy = group.copies.get(cluster)
    if group.check.state != kueue.READY:
        return GroupStep()
    if copy is None or not group.lists(cluster):
        return _retry(messages.GONE)
    if not copy.is_connected:
        left = group.lost_timeout - copy.lost_for
        return GroupStep(GroupAction.WAIT, seconds=left) if left > 0 else _retry(messages.LOST)
    if (finished := copy.condition(kueue.FINISHED)) is not None:
        if finished.reason == OUT_OF_SYNC:
            return _end(copy, finished) if group.is_elastic else _retry(messages.out_of_sync(cluster), WARNING)
        return _retry(messages.GONE) if finished.reason == OWNER_NOT_FOUND else _finish(group, copy)
    if copy.is_evicted:
        return GroupStep(GroupAction.RETRY, cluster, message=messages.evicted(cluster), event=NORMAL)
    if copy.condition(kueue.ADMITTED) is None or not copy.can_follow:
        return _retry(messages.GONE)
    if waiting_sets(group.local) & placed_sets(copy.view):
        return GroupStep(GroupAction.PLACE, cluster)
    return GroupStep(GroupAction.COPY_STATUS, cluster) if status_changes(group, copy) else GroupStep()


def _pending(group: WorkloadGroup, *, nominates: bool) -> GroupStep:
    """Nominate, wait for the first that admits, and record it once it has the job."""
    if not group.others_are_ready or group.listed is None:
        return GroupStep()
    if (wanted := _wanted_nominations(group, nominates=nominates)) is not None:
        return GroupStep(GroupAction.NOMINATE, clusters=wanted)
    for copy in group.copies.values():
        finished = copy.condition(kueue.FINISHED) if copy.is_connected else None
        if finished is not None and finished.reason not in NOT_OVER and copy.cluster in group.local.clusters:
            return _finish(group, copy)
    if (chosen := winner(group)) is not None:
        return GroupStep(GroupAction.RECORD, chosen.cluster) if chosen.has_all else GroupStep()
    return _wait(group, group.with_jobs())


def _wanted_nominations(group: WorkloadGroup, *, nominates: bool) -> tuple[str, ...] | None:
    """Return whom to nominate; None where that is done, or is not ours to do."""
    if group.is_slice_to_place:
        return None
    if _follows(group):
        return _followed(group)
    return _nominated(group) if nominates else None


def _follows(group: WorkloadGroup) -> bool:
    """Tell whether a Workload goes where others of its job are, or waits for them."""
    return group.siblings is not None and not group.siblings.leads


def _followed(group: WorkloadGroup) -> tuple[str, ...] | None:
    """Return where others of the same job are, if that is not nominated."""
    cluster = group.siblings.cluster if group.siblings is not None else ""
    return (cluster,) if cluster and cluster not in group.local.status.nominated_cluster_names else None


def _nominated(group: WorkloadGroup) -> tuple[str, ...] | None:
    """Return whom to nominate, if not just those are; a cluster that may have the job stays nominated."""
    wanted = [copy.cluster for copy in _in_order(group) if copy.is_connected or group.may_have_job(copy)]
    given = group.local.status.nominated_cluster_names
    wanted += [copy.cluster for copy in group.with_jobs() if copy.cluster in given and copy.cluster not in wanted]
    return None if sorted(wanted) == sorted(given) else tuple(wanted)


def winner(group: WorkloadGroup) -> RemoteCopy | None:
    """Return the cluster that runs the job, or may be given it now."""
    local = group.local
    if group.needs_nothing or local.is_leaving or group.check.state not in (kueue.PENDING, kueue.READY):
        return None
    if local.status.cluster_name and not group.is_slice_to_place:
        placed = group.copies.get(local.status.cluster_name)
        return placed if placed is not None and placed.is_connected and _others_have_none(group, placed) else None
    if group.check.state != kueue.PENDING or not group.others_are_ready:
        return None
    admitted_copy = _first_admitted(group)
    return admitted_copy if admitted_copy is not None and _others_have_none(group, admitted_copy) else None


def _first_admitted(group: WorkloadGroup) -> RemoteCopy | None:
    """Return who admitted first; who has the job already comes before all others."""
    able = [copy for copy in _in_order(group) if copy.cluster in group.nominated and _can_win(copy)]
    return min(able, key=lambda copy: (not copy.has_job, _admitted_at(copy)), default=None)


def _can_win(copy: RemoteCopy) -> bool:
    admitted = copy.is_connected and copy.condition(kueue.ADMITTED) is not None
    return admitted and not copy.is_evicted and copy.can_follow


def _admitted_at(copy: RemoteCopy) -> datetime:
    admitted = copy.condition(kueue.ADMITTED)
    return (admitted.last_transition_time if admitted is not None else None) or LONG_AGO


def _others_have_none(group: WorkloadGroup, copy: RemoteCopy) -> bool:
    return all(other.cluster == copy.cluster for other in group.with_jobs())


def _in_order(group: WorkloadGroup) -> list[RemoteCopy]:
    return [group.copies[cluster] for cluster in group.listed or () if cluster in group.copies]


Change = tuple[Manifest, Manifest]
"""An object of the hub, and the status that it has to have."""


def status_changes(group: WorkloadGroup, copy: RemoteCopy) -> list[Change]:
    """Return what a copy tells that the hub does not say yet."""
    copies = {job["metadata"]["name"]: job for job in copy.jobs}
    return [
        (job, status)
        for job in group.jobs
        if (of := copies.get(job["metadata"]["name"])) is not None
        and (status := group.adapter.status(job, of, group.now)) != (job.get("status") or {})
    ]


def last_status_changes(group: WorkloadGroup) -> list[Change]:
    """Return what the hub has to say when nobody has a copy any more."""
    return [
        (job, status)
        for job in group.jobs
        if (status := group.adapter.last_status(job, group.now)) != (job.get("status") or {})
    ]


def _finish(group: WorkloadGroup, copy: RemoteCopy) -> GroupStep:
    """Bring the last status first: when the Workload has finished, the copy goes.

    A worker's Workloads and jobs come by watches of their own: how the job ended may be seen a moment later.
    """
    if status_changes(group, copy):
        return GroupStep(GroupAction.COPY_STATUS, copy.cluster)
    if copy.is_sending or not all(group.adapter.has_ended(job) for job in copy.jobs):
        return GroupStep()
    finished = copy.condition(kueue.FINISHED)
    assert finished is not None
    return _end(copy, finished)


def _end(copy: RemoteCopy, finished: Condition) -> GroupStep:
    return GroupStep(GroupAction.FINISH, copy.cluster, reason=finished.reason, message=finished.message)


def _retry(message: str, event: str = "") -> GroupStep:
    return GroupStep(GroupAction.RETRY, message=messages.previously(message, kueue.READY), event=event)


def _wait(group: WorkloadGroup, holders: list[RemoteCopy]) -> GroupStep:
    seconds = group.wait_for(holders)
    return GroupStep(GroupAction.WAIT, seconds=seconds) if seconds > 0 else GroupStep()


# What each worker has to have


def wanted_on_each(group: WorkloadGroup) -> dict[str, Wanted]:
    """Return what each worker has to have of a Workload that the hub knows."""
    if group.is_left_alone:
        return dict.fromkeys(group.copies, Wanted.AS_IS)
    if group.needs_nothing:
        return dict.fromkeys(group.copies, Wanted.NOTHING)
    if group.local.is_leaving:
        return {cluster: _wanted_while_leaving(copy) for cluster, copy in group.copies.items()}
    chosen = winner(group)
    return {cluster: _wanted_or_as_is(group, copy, chosen) for cluster, copy in group.copies.items()}


def _wanted_or_as_is(group: WorkloadGroup, copy: RemoteCopy, chosen: RemoteCopy | None) -> Wanted:
    """Take nothing away that may be the very copy which another cluster has to have."""
    wanted = _wanted_of_live(group, copy, chosen)
    return Wanted.AS_IS if wanted is Wanted.NOTHING and group.may_be_anothers(copy) else wanted


def _wanted_of_live(group: WorkloadGroup, copy: RemoteCopy, chosen: RemoteCopy | None) -> Wanted:
    if chosen is not None and chosen.cluster == copy.cluster:
        return Wanted.JOB
    placed = "" if group.is_slice_to_place else group.local.status.cluster_name
    if placed or group.check.state != kueue.PENDING:
        return Wanted.NOTHING if placed and placed != copy.cluster else Wanted.AS_IS
    if not group.others_are_ready or group.listed is None:
        return Wanted.AS_IS
    return _wanted_while_pending(group, copy, chosen)


def is_there(wanted: Wanted, copy: RemoteCopy) -> bool:
    """Tell whether a worker has what it has to have, as far as we know."""
    match wanted:
        case Wanted.NOTHING:
            return copy.view is None and not copy.has_job
        case Wanted.WORKLOAD:
            return copy.view is not None and copy.is_same
        case Wanted.JOB:
            return copy.has_all and copy.is_same
        case Wanted.EVICTION:
            return copy.condition(DEACTIVATION_TARGET) is not None
        case Wanted.AS_IS:
            return True


def _wanted_while_leaving(copy: RemoteCopy) -> Wanted:
    if not copy.has_job or copy.view is None:
        return Wanted.NOTHING
    return Wanted.AS_IS if copy.is_evicted else Wanted.EVICTION


def _wanted_while_pending(group: WorkloadGroup, copy: RemoteCopy, chosen: RemoteCopy | None) -> Wanted:
    is_nominated = copy.cluster in group.nominated and group.lists(copy.cluster)
    if not is_nominated or chosen is not None:
        return Wanted.NOTHING
    if (copy.has_job and not _follows(group)) or (copy.view is not None and not copy.can_follow):
        return Wanted.NOTHING  # left from an earlier life; it is offered anew afterwards
    return Wanted.WORKLOAD
