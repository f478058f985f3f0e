"""Write the part of a Workload's status that Kueue's admission owns: one server-side apply under its name."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client


async def apply_admission(client: Client, manifest: Manifest) -> Manifest:
    """Apply it; raises Conflict where it carries a version that is no longer the newest."""
    return await client.apply(kueue.Workload.resource, manifest, subresource="status", manager=kueue.ADMISSION_MANAGER)
