"""Cluster sets: make one, and let the Placements of a namespace choose from it."""

from fleetqueue.admin.writing import created
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.client import Client


async def create_set(hub: Client, name: str) -> bool:
    """Make a set whose members are the clusters with its label; False where it is there."""
    spec = {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
    return await created(hub, ManagedClusterSet, ManagedClusterSet.manifest(name, spec=spec))


async def bind(hub: Client, name: str, namespace: str) -> bool:
    """Let a namespace use a set; False where it does already. Raises NotFound where there is no such set."""
    await hub.get(ManagedClusterSet.resource, name)
    manifest = ManagedClusterSetBinding.manifest(name, namespace, spec={"clusterSet": name})
    return await created(hub, ManagedClusterSetBinding, manifest)


async def unbind(hub: Client, name: str, namespace: str) -> bool:
    """Take a set away from a namespace; False where it had none."""
    try:
        await hub.delete(ManagedClusterSetBinding.resource, name, namespace)
    except errors.NotFound:
        return False
    return True
