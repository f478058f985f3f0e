"""Read the status of cached objects."""

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.cluster import Cluster


def live_status(cluster: Cluster, obj: Object, *, namespace: str = "") -> Manifest:
    """Return the status of a cached object as it was read; `namespace` is the scope in which its kind is followed."""
    raw = cluster.informer(type(obj), namespace=namespace).store.raw(obj.key) or {}
    return raw.get("status") or {}
