"""Careful writes of what registration keeps: only what differs, and a status only over what was seen.

Others write the same objects (OCM's own tools, an administrator), so they carry no label of ours.
"""

from msgspec.structs import replace

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.meta import Object, changes, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import OF_CLUSTERS
from fleetqueue.runtime.cluster import Cluster


async def ensure(cluster: Cluster, kind: type[Object], manifest: Manifest) -> bool:
    """Give an object of a cluster every field that is wanted, whoever made it; return whether anything was written.

    Where the cache does not know it, it is created; where it is there all the same, since it lacks the label by which
    we follow it or since the cache is late, it is looked at.
    """
    name, namespace = manifest["metadata"]["name"], manifest["metadata"].get("namespace", "")
    live = cluster.informer(kind, labels=OF_CLUSTERS).store.raw(key_of(namespace, name))
    if live is None:
        try:
            await cluster.client.create(kind.resource, manifest)
            return True
        except errors.AlreadyExists:
            live = await cluster.client.get(kind.resource, name, namespace)
    wanted = {field: value for field, value in manifest.items() if field not in ("apiVersion", "kind")}
    patch = changes(live, wanted)
    if patch:
        await cluster.client.merge(kind.resource, name, namespace, patch)
    return bool(patch)


async def ensure_absent(cluster: Cluster, obj: Object | None) -> bool:
    """Delete what we saw, if it is still there."""
    return obj is not None and not obj.is_deleting and await cluster.client.delete_seen(obj)


def in_its_namespace(cluster: ManagedCluster) -> ManagedCluster:
    """Return a cluster as its events speak of it: as if it were in the namespace of its name."""
    return replace(cluster, metadata=replace(cluster.metadata, namespace=cluster.name))
