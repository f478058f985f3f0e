"""Cluster sets: make one, and let the Placements of a namespace choose from it."""

from fleetqueue.admin.creation import created
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


# What `fleetqueue clusterset` does, and says that it did.


async def create_command(hub: Client, name: str) -> str:
    return f"clusterset {name} {'created' if await create_set(hub, name) else 'is there already'}"


async def bind_command(hub: Client, name: str, namespace: str) -> str:
    is_new = await bind(hub, name, namespace)
    return f"clusterset {name} {'bound' if is_new else 'is bound already'} to namespace {namespace}"


async def unbind_command(hub: Client, name: str, namespace: str) -> str:
    was_bound = await unbind(hub, name, namespace)
    return f"clusterset {name} {'unbound' if was_bound else 'was not bound'} from namespace {namespace}"
