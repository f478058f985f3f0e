"""What a scenario about ClusterProfiles ends in: all profiles in its namespaces, without what differs in every run."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

CLEANED = (
    cluster.ManagedClusterSetBinding,
    cluster.ManagedClusterSet,
    cluster.ManagedCluster,
    ClusterProfile,
)


def reader(prefix: str) -> Callable[[Client], Awaitable[Any]]:
    async def read(client: Client) -> Any:
        profiles = (await client.list(ClusterProfile.resource)).items
        found = {
            f"{raw['metadata']['namespace']}/{raw['metadata']['name']}": _profile(raw)
            for raw in profiles
            if raw["metadata"]["namespace"].startswith(prefix)
        }
        return json.loads(json.dumps(found).replace(prefix, ""))

    return read


def cleaner(prefix: str) -> Callable[[Client], Awaitable[None]]:
    async def clean_up(client: Client) -> None:
        for kind in CLEANED:
            for raw in (await client.list(kind.resource)).items:
                metadata = raw["metadata"]
                if metadata["name"].startswith(prefix) and not metadata.get("deletionTimestamp"):
                    await client.delete(kind.resource, metadata["name"], metadata.get("namespace", ""))

    return clean_up


def _profile(raw: Manifest) -> Manifest:
    status = dict(raw.get("status") or {})
    if "conditions" in status:
        status["conditions"] = [
            {key: value for key, value in each.items() if key != "lastTransitionTime"} for each in status["conditions"]
        ]
    return {"labels": raw["metadata"].get("labels"), "spec": raw["spec"], "status": status}
