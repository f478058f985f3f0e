"""What a scenario about ClusterProfiles ends in: its profiles, clusters, sets and bindings."""

from collections.abc import Awaitable, Callable
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from ..whole_objects import in_words, named, place, whole  # noqa: TID252 - what the rooms share stands above them

Listed = dict[str, list[Manifest]]
"""The objects of a scenario, by what they are."""
KINDS = {
    "bindings": cluster.ManagedClusterSetBinding,
    "sets": cluster.ManagedClusterSet,
    "clusters": cluster.ManagedCluster,
    "profiles": ClusterProfile,
}


def reader(prefix: str) -> Callable[[Client], Awaitable[Any]]:
    async def read(client: Client) -> Any:
        listed = {what: (await client.list(kind.resource)).items for what, kind in KINDS.items()}
        own = {what: [raw for raw in some if place(raw).startswith(prefix)] for what, some in listed.items()}
        return normal(own, prefix)

    return read


def normal(listed: Listed, prefix: str) -> Any:
    """Return what is compared of the objects of a scenario."""
    return in_words({what: named(some, whole) for what, some in listed.items()}, listed["clusters"], prefix)


def cleaner(prefix: str) -> Callable[[Client], Awaitable[None]]:
    async def clean_up(client: Client) -> None:
        for kind in KINDS.values():
            for raw in (await client.list(kind.resource)).items:
                metadata = raw["metadata"]
                if metadata["name"].startswith(prefix) and not metadata.get("deletionTimestamp"):
                    await client.delete(kind.resource, metadata["name"], metadata.get("namespace", ""))

    return clean_up
