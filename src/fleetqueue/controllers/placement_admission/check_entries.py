"""The entry of one of our checks in a Workload's status.admissionChecks."""

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.placement_admission.names import check_manager
from fleetqueue.runtime.cluster import Cluster


def check_entry(check: str, state: str, message: str) -> Manifest:
    return {"name": check, "state": state, "message": message, "lastTransitionTime": timestamp(clock.now())}


async def apply_entry(hub: Cluster, workload: kueue.Workload, entry: Manifest) -> None:
    """Apply one entry of the list; a Workload that changed meanwhile is a Conflict, and decided again."""
    manifest = kueue.Workload.manifest(workload.name, workload.namespace, status={"admissionChecks": [entry]})
    manifest["metadata"].update(workload.precondition)
    manager = check_manager(entry["name"])
    await hub.client.apply(kueue.Workload.resource, manifest, subresource="status", manager=manager)
