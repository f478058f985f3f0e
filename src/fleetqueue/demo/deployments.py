"""The parts of an embedded fleet, which are Deployments: stopped and started by their number of replicas."""

from collections.abc import Mapping
from typing import Any, Final

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client

DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments")
ADD_ONS: Final = "open-cluster-management-agent-addon"
PARTS: Final = {
    "kueue": (KUEUE_NAMESPACE, "kueue-controller-manager"),
    "score-agent": (ADD_ONS, "fleetqueue-score-agent"),
}
"""What the stories call a part, and where its Deployment is."""


class Deployments:
    """Has the face of `Processes`; the parts are named `cluster2/score-agent`, as processes are."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clients = clients

    async def states(self) -> Mapping[str, str]:
        """Tell of every part whether all of its pods are up."""
        found = {}
        for cluster, client in self._clients.items():
            for part, (namespace, name) in PARTS.items():
                pods = [Pod.view(raw) for raw in (await client.list(Pod.resource, namespace)).items]
                phases = {pod.status.phase for pod in pods if pod.name.startswith(f"{name}-")}
                if phases:
                    found[f"{cluster}/{part}"] = "up" if phases == {"Running"} else ", ".join(sorted(phases))
        return found

    async def pause(self, name: str) -> None:
        await self._scale(name, 0)

    async def resume(self, name: str) -> None:
        await self._scale(name, 1)

    async def _scale(self, name: str, replicas: int) -> None:
        cluster, _, part = name.partition("/")
        namespace, deployment = PARTS[part]
        patch: dict[str, Any] = {"spec": {"replicas": replicas}}
        await self._clients[cluster].merge(DEPLOYMENTS, deployment, namespace, patch, subresource="scale")
