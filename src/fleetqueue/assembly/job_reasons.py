"""Why a job is where it is: what it waits for, in the words of Kueue's conditions and checks and of our own Events."""

from collections.abc import Iterable, Mapping
from typing import Final

from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.events import COMPONENT

EXPLAINING: Final = ("NominationRefused", "NoClusterToNominate", "WaitingForCluster")
"""The Events by which the dispatcher says why a Workload is not sent anywhere, or not any further."""
RESET: Final = "Reset to Pending after eviction."
"""How Kueue's own message begins on every check of a Workload that it has evicted."""


async def dispatch_notes(hub: Client) -> dict[str, str]:
    """Return the last word of the dispatcher about each Workload that waits, by the Workload's uid."""
    fields = f"reportingController={COMPONENT},regarding.kind={kueue.Workload.resource.kind}"
    try:
        return last_notes((await hub.list(Event.resource, fields=fields)).items)
    except errors.Forbidden:
        return {}  # the objects themselves still say how far each job has come


def last_notes(events: Iterable[Manifest]) -> dict[str, str]:
    """Return, by the uid of each object, what its newest Event says; nothing where that explains no waiting."""
    newest = {str((event.get("regarding") or {}).get("uid")): event for event in sorted(events, key=_time)}
    return {uid: str(event.get("note") or "") for uid, event in newest.items() if event.get("reason") in EXPLAINING}


def why(workload: kueue.Workload, notes: Mapping[str, str]) -> str:
    """Say why a job is where it is; never nothing. `notes` are the dispatcher's, by the uid of their Workload."""
    if workload.is_finished:
        return _message(workload, kueue.FINISHED) or "it has finished"
    if workload.is_deleting:
        return "it is being deleted"
    if workload.is_true(kueue.ADMITTED):
        return _message(workload, kueue.ADMITTED) or "it is admitted"
    if workload.is_true(kueue.EVICTED) and workload.is_true(kueue.QUOTA_RESERVED):
        return f"it is being evicted: {_message(workload, kueue.EVICTED) or 'Kueue does not say why'}"
    if not workload.has_quota:
        return _why_no_quota(workload)
    waiting = [check for check in workload.status.admission_checks if check.state != kueue.READY]
    if not waiting:
        return "all checks are Ready; Kueue is about to admit it"
    # A check with a message explains itself; MultiKueue's has none until a cluster has taken the job.
    told = next((check for check in waiting if _own_message(check)), waiting[0])
    said = _own_message(told) or _dispatched(workload, notes.get(workload.uid, ""))
    return f"{told.name} is {told.state}: {said}"


def _own_message(check: kueue.CheckState) -> str:
    """Return what a check's controller says; Kueue's own words after an eviction explain nothing."""
    return "" if check.message.startswith(RESET) else check.message


def _why_no_quota(workload: kueue.Workload) -> str:
    if not workload.spec.active:
        return "it is deactivated (spec.active is false)"
    return (
        _message(workload, kueue.QUOTA_RESERVED) or _message(workload, kueue.EVICTED) or "no queue has looked at it yet"
    )


def _dispatched(workload: kueue.Workload, note: str) -> str:
    """Say how far dispatching has come."""
    if workload.status.cluster_name:
        standing = f"it is on {workload.status.cluster_name}, which has not said so yet"
    elif workload.status.nominated_cluster_names:
        names = ", ".join(workload.status.nominated_cluster_names)
        standing = f"nominated for {names}, not admitted there yet"
    else:
        standing = "no cluster is nominated yet"
    return f"{standing}; {note}" if note else standing


def _message(workload: kueue.Workload, kind: str) -> str:
    condition = conditions.find(workload.status.conditions, kind)
    return condition.message if condition is not None else ""


def _time(event: Manifest) -> str:
    return str(event.get("eventTime") or "")
