"""How a node is lost to the pods that were placed on it, and how it comes back."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import READY, Node
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.nodes.settings import SILENT

BROKEN = {"key": "example.com/broken", "effect": "NoExecute"}
SHUT_DOWN = {"status": "False", "reason": "KubeletNotReady", "message": "node is shutting down"}


async def delete(client: Client, name: str) -> None:
    await client.delete(Node.resource, name)


async def cordon(client: Client, name: str) -> None:
    await client.merge(Node.resource, name, "", {"spec": {"unschedulable": True}})


async def taint(client: Client, name: str) -> None:
    raw = await client.get(Node.resource, name)
    others = [one for one in raw["spec"].get("taints") or () if one["key"] != BROKEN["key"]]
    await client.merge(Node.resource, name, "", {"spec": {"taints": [*others, BROKEN]}})


async def silence(client: Client, name: str) -> None:
    """Switch the machine off: after a while Ready becomes Unknown, and the node is tainted as unreachable."""
    await client.merge(Node.resource, name, "", {"metadata": {"annotations": {SILENT: "true"}}})


async def shut_down(client: Client, name: str) -> None:
    """Let the kubelet say as its last word that it is not ready: Ready is False before it becomes Unknown."""
    await silence(client, name)
    raw = await client.get(Node.resource, name)
    told = {**SHUT_DOWN, "lastTransitionTime": timestamp(clock.now())}
    conditions = [{**one, **told} if one["type"] == READY else one for one in raw["status"]["conditions"]]
    await client.merge(Node.resource, name, "", {"status": {"conditions": conditions}}, subresource="status")


WAYS: Mapping[str, Callable[[Client, str], Awaitable[None]]] = {
    "deleted": delete,
    "cordoned": cordon,
    "tainted": taint,
    "silent": silence,
    "shut down": shut_down,
}


async def lose(client: Client, name: str, way: str) -> None:
    with suppress(errors.NotFound):
        await WAYS[way](client, name)


async def restore(client: Client, node: Manifest) -> None:
    """Make a node that is gone anew; of one that is there, undo whatever was done to it."""
    taints: Sequence[Manifest] = node["spec"]["taints"]
    whole = {"metadata": {"annotations": {SILENT: None}}, "spec": {"unschedulable": None, "taints": taints}}
    try:
        await client.merge(Node.resource, node["metadata"]["name"], "", whole)
    except errors.NotFound:
        await client.create(Node.resource, node)
