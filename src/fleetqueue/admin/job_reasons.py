"""Why a job is where it is: what it waits for, in the words of Kueue's conditions and checks and of our own Events."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.admin.hub_state import HubState
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import key_of

RESET: Final = "Reset to Pending after eviction."
"""How Kueue's own message begins on every check of a Workload that it has evicted."""
DEACTIVATED: Final = "The workload is deactivated due to "
"""How Kueue's message begins where it has deactivated a Workload itself."""
ONE_OF_EQUALS: Final = "Kueue has not said why: of several equal jobs, it says so of the first alone"


def why(workload: kueue.Workload, hub: HubState) -> str:
    """Say why a job is where it is; never nothing."""
    if workload.is_finished:
        return _how_it_ended(workload)
    if workload.is_deleting:
        return "it is being deleted"
    if workload.is_leaving:
        why_evicted = _message(workload, kueue.EVICTED) or "Kueue does not say why"
        return _joined(f"it is being evicted: {why_evicted}", hub.notes.get(workload.uid, ""))
    if workload.is_true(kueue.ADMITTED):
        return _joined(
            _message(workload, kueue.ADMITTED) or "it is admitted",
            _on_hub(workload, hub),
            _not_ready(workload, hub),
            _lost(workload, hub),
        )
    if not workload.has_quota:
        return _why_no_quota(workload, hub)
    waiting = [check for check in workload.status.admission_checks if check.state != kueue.READY]
    if not waiting:
        return "all checks are Ready; Kueue is about to admit it"
    # A check with a message explains itself; MultiKueue's has none until a cluster has taken the job.
    check_state = next((check for check in waiting if _own_message(check)), waiting[0])
    if message := _own_message(check_state):
        unanswered = hub.unanswered([check_state.name])
        news = hub.inactive(check.name for check in waiting) if unanswered else ""
        return _joined(f"{check_state.name} is {check_state.state}: {message}", unanswered, news)
    return f"{check_state.name} is {check_state.state}: {_dispatched(workload, hub)}"


def _how_it_ended(workload: kueue.Workload) -> str:
    """Tell a failure from a success; Kueue's message need not, and a failed Pod has none."""
    finished = conditions.find(workload.status.conditions, kueue.FINISHED)
    reason, message = (finished.reason, finished.message) if finished is not None else ("", "")
    if reason == kueue.FAILED:
        return f"it has failed: {message}" if message else "it has failed"
    return message or ("it has succeeded" if reason == kueue.SUCCEEDED else "it has finished")


def _own_message(check: kueue.CheckState) -> str:
    """Return what a check's controller says; Kueue's own words after an eviction explain nothing."""
    return "" if check.message.startswith(RESET) else check.message


def _why_no_quota(workload: kueue.Workload, hub: HubState) -> str:
    if not workload.spec.active:
        _, _, cause = _message(workload, kueue.EVICTED).partition(DEACTIVATED)
        return "it is deactivated (spec.active is false)" + (f": {cause}" if cause else "")
    message, evicted = _message(workload, kueue.QUOTA_RESERVED), _message(workload, kueue.EVICTED)
    queue = hub.queues.get(key_of(workload.namespace, workload.spec.queue_name))
    if queue is None:
        return message or evicted or "no queue has looked at it yet"
    if not conditions.is_true(queue.status.conditions, kueue.ACTIVE):
        checks = queue.spec.admission_checks_strategy.admission_checks
        return _joined(message or evicted, hub.inactive(check.name for check in checks)) or _inactive(queue)
    if message == _inactive(queue):
        message = ""  # it was; Kueue says something else when it has looked again
    return message or evicted or f"it waits in ClusterQueue {queue.name}; {ONE_OF_EQUALS}"


def _inactive(queue: kueue.ClusterQueue) -> str:
    """Say it as Kueue does."""
    return f"ClusterQueue {queue.name} is inactive"


def _dispatched(workload: kueue.Workload, hub: HubState) -> str:
    """Say how far dispatching has come, and what holds it up.

    An Event is the last word only while somebody could say another one.
    """
    if workload.status.cluster_name:
        standing = f"it is on {workload.status.cluster_name}, which has not said so yet"
    elif workload.status.nominated_cluster_names:
        names = ", ".join(workload.status.nominated_cluster_names)
        standing = f"nominated for {names}, not recorded as admitted there yet"
    else:
        standing = "no cluster is nominated yet"
    checks = [check.name for check in workload.status.admission_checks]
    held_up = hub.inactive(checks) or hub.unanswered(checks) or hub.notes.get(workload.uid, "")
    return _joined(standing, _lost(workload, hub), held_up)


def _not_ready(workload: kueue.Workload, hub: HubState) -> str:
    """Say that no pod of an admitted job is ready, in Kueue's words where it watches for that."""
    ready = conditions.find(workload.status.conditions, kueue.PODS_READY)
    if ready is not None:
        return "" if ready.is_true else ready.message
    owners = [owner.uid for owner in workload.metadata.owner_references if owner.controller]
    job = hub.jobs.get(owners[0]) if owners else None
    if job is None or job.has_ended or job.status.ready or (job.status.ready is None and job.status.active):
        return ""
    return f"its Job shows no ready pod; look at its pods on {workload.status.cluster_name or 'the hub'}"


def _on_hub(workload: kueue.Workload, hub: HubState) -> str:
    """Say that a job runs on the hub though a Placement was to choose a cluster for it."""
    if workload.clusters or not hub.lacks_multikueue(check.name for check in workload.status.admission_checks):
        return ""
    return "it runs on the hub: its ClusterQueue has a placement check and no MultiKueue check"


def _lost(workload: kueue.Workload, hub: HubState) -> str:
    """Say which of a job's clusters cannot be reached."""
    troubles: Iterable[tuple[str, str]] = ((member, hub.trouble(member)) for member in workload.clusters)
    return "; ".join(f"{member} may be lost: {trouble}" for member, trouble in troubles if trouble)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _message(workload: kueue.Workload, kind: str) -> str:
    condition = conditions.find(workload.status.conditions, kind)
    return condition.message if condition is not None else ""
