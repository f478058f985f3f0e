"""Write the status of the very version that was read, and only where it differs."""

from fleetqueue.api.meta import Object, replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.cluster import Cluster


async def write_status(cluster: Cluster, obj: Object, live: Manifest, wanted: Manifest) -> bool:
    """Bring a status to what is wanted; return whether anything was written."""
    patch = replacement(live, wanted)
    if not patch:
        return False
    metadata = {"uid": obj.uid, "resourceVersion": obj.metadata.resource_version}
    body = {"metadata": metadata, "status": patch}
    await cluster.client.merge(obj.resource, obj.name, obj.namespace, body, subresource="status")
    return True


def live_status(cluster: Cluster, obj: Object, *, namespace: str = "") -> Manifest:
    """Return the status of a cached object as it was read; `namespace` is the scope in which its kind is followed."""
    raw = cluster.informer(type(obj), namespace=namespace).store.raw(obj.key) or {}
    return raw.get("status") or {}
