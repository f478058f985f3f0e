"""What `fleetqueue clusterset` does, and says that it did."""

from fleetqueue.admin import cluster_sets
from fleetqueue.client import Client


async def create(hub: Client, name: str) -> str:
    return f"clusterset {name} {'created' if await cluster_sets.create_set(hub, name) else 'is there already'}"


async def bind(hub: Client, name: str, namespace: str) -> str:
    is_new = await cluster_sets.bind(hub, name, namespace)
    return f"clusterset {name} {'bound' if is_new else 'is bound already'} to namespace {namespace}"


async def unbind(hub: Client, name: str, namespace: str) -> str:
    was_bound = await cluster_sets.unbind(hub, name, namespace)
    return f"clusterset {name} {'unbound' if was_bound else 'was not bound'} from namespace {namespace}"
