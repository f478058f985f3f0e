"""Write a status so that it equals what is wanted: one patch of what differs, none where nothing does."""

from collections.abc import Mapping
from typing import Any

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import Cluster


async def write_status(
    cluster: Cluster, obj: Object, live: Manifest, wanted: Manifest, *, annotations: Mapping[str, str] | None = None
) -> Manifest | None:
    """Bring the status of the very object that we saw to what is wanted; return the answer, None where it is so.

    Annotations may go along: written otherwise they would count as a change of what is asked for.
    """
    patch = replacement(live, wanted)
    notes = {key: value for key, value in (annotations or {}).items() if obj.metadata.annotations.get(key) != value}
    if not patch and not notes:
        return None
    metadata: Manifest = obj.precondition
    if notes:
        metadata["annotations"] = notes
    return await cluster.client.merge(
        obj.resource, obj.name, obj.namespace, {"metadata": metadata, "status": patch}, subresource="status"
    )


def live_status(cluster: Cluster, obj: Object) -> dict[str, Any]:
    """Return the status of a cached object as it came from the API."""
    return cluster.raw(obj).get("status") or {}


async def write_condition(cluster: Cluster, obj: Object, wanted: Condition) -> bool:
    """Set one condition of the very object that we saw, unless it says so already; return whether it was written."""
    live = live_status(cluster, obj)
    conditions = with_conditions(live.get("conditions") or [], [wanted], clock.now())
    return await write_status(cluster, obj, live, {**live, "conditions": conditions}) is not None


async def apply_admission(client: Client, manifest: Manifest) -> Manifest:
    """Write the part of a Workload's status that Kueue's admission owns: one server-side apply under its name.

    Raises Conflict where it carries a version that is no longer the newest.
    """
    return await client.apply(kueue.Workload.resource, manifest, subresource="status", manager=kueue.ADMISSION_MANAGER)
