"""The entry of one of our checks in a Workload's status.admissionChecks: what it says, and how it is written."""

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find, timestamp
from fleetqueue.api.fleetqueue import placement_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.names import ACTIVE, check_manager
from fleetqueue.runtime.cluster import Cluster


def check_outlook(objects: HubObjects, check: kueue.AdmissionCheck) -> tuple[bool, str]:
    """Say whether Workloads may start by a check of ours, and what they can expect: how many clusters, or why none.

    Kueue never looks again at a Workload that became Ready while none of its clusters was connected.
    """
    condition = find(check.status.conditions, ACTIVE)
    if condition is None or not condition.is_true:
        return False, messages.check_waits(condition.message if condition else messages.check_not_looked_at())
    config = objects.config(placement_of(check))
    serving = set(config.spec.clusters) - set(marks_of(config)) if config else set()
    if not any(map(objects.is_connected, serving)):
        return False, messages.check_waits(messages.none_connected())
    return True, messages.check_ready(placement_of(check), len(serving))


def is_held_up(objects: HubObjects, workload: kueue.Workload, besides: str) -> bool:
    """Tell whether a check keeps a Workload from being sent; our own are answered with the nomination."""
    waiting = {c.name: c.state for c in workload.status.admission_checks if c.state != kueue.READY}
    waiting.pop(besides, None)
    for check in objects.our_checks(workload) if waiting else ():
        if waiting.get(check.name) == kueue.PENDING and check_outlook(objects, check)[0]:
            del waiting[check.name]
    return bool(waiting)


def check_entry(check: str, state: str, message: str) -> Manifest:
    return {"name": check, "state": state, "message": message, "lastTransitionTime": timestamp(clock.now())}


async def apply_entry(hub: Cluster, workload: kueue.Workload, entry: Manifest) -> None:
    """Apply one entry of the list; a Workload that changed meanwhile is a Conflict, and decided again."""
    manifest = kueue.Workload.manifest(workload.name, workload.namespace, status={"admissionChecks": [entry]})
    manifest["metadata"].update(workload.precondition)
    manager = check_manager(entry["name"])
    await hub.client.apply(kueue.Workload.resource, manifest, subresource="status", manager=manager)


async def tell_checks(objects: HubObjects, workload: kueue.Workload, message: str) -> None:
    """Say on our open checks why a Workload waits; of several one at a time, since each makes a new version."""
    for check in objects.our_checks(workload):
        entry = workload.check(check.name)
        if entry is not None and entry.state == kueue.PENDING and entry.message != message:
            await apply_entry(objects.hub, workload, check_entry(check.name, kueue.PENDING, message))
            return
