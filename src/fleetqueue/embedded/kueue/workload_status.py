"""Write the status of a Workload as admission does, unless somebody else was quicker."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.workload_admission import applied
from fleetqueue.client import Client


async def apply_status(client: Client, raw: Manifest, status: Manifest) -> Manifest:
    """Apply a status that was made from what was seen; raises Conflict where that is no longer so."""
    manifest = applied(raw, status)
    manifest["metadata"]["resourceVersion"] = raw["metadata"]["resourceVersion"]
    manager = kueue.ADMISSION_MANAGER
    return await client.apply(kueue.Workload.resource, manifest, subresource="status", manager=manager)
