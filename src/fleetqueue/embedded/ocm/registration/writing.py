"""Careful writes of what registration keeps: only what differs, and a status only over what was seen.

Others have a say in the same objects (OCM's own tools, an administrator), so they carry no mark of ours.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, changes, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import OF_CLUSTERS
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.statuses import write_status


def raw_of(cluster: Cluster, obj: Object, *, fields: str = "") -> Manifest:
    """Return a cached object as it came from the API."""
    return cluster.informer(type(obj), fields=fields).store.raw(obj.key) or {}


async def write_condition(cluster: Cluster, obj: Object, live: Sequence[Condition], wanted: Condition) -> bool:
    """Set one condition of the very object that we saw, unless it says so already."""
    if conditions.same([wanted], live):
        return False
    status = raw_of(cluster, obj).get("status") or {}
    written = with_conditions(status.get("conditions") or [], [wanted], clock.now())
    return await write_status(cluster, obj, status, {**status, "conditions": written}) is not None


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
    if obj is None or obj.is_deleting:
        return False
    try:
        await cluster.client.delete(obj.resource, obj.name, obj.namespace, uid=obj.uid)
    except errors.NotFound:
        return False
    return True


def micro_time() -> str:
    """Write this moment as leases do."""
    return clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def in_its_namespace(cluster: ManagedCluster) -> ManagedCluster:
    """Return a cluster as its events speak of it: as if it were in the namespace of its name."""
    return replace(cluster, metadata=replace(cluster.metadata, namespace=cluster.name))
