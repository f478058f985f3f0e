"""Write a status so that it equals what is wanted: one patch of what differs, none where nothing does."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api.meta import Object, replacement
from fleetqueue.api.scheme import Manifest
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


def raw_of(cluster: Cluster, obj: Object) -> dict[str, Any]:
    """Return a cached object as it came from the API."""
    return cluster.informer(type(obj)).store.raw(obj.key) or {}
