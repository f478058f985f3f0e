"""An embedded fleet for as long as stories are told on it: with sockets in real time, or without them on any clock."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.demo.commands import InProcess
from fleetqueue.demo.real_fleet import Report, make_room
from fleetqueue.demo.story_run import StoryFleet
from fleetqueue.fleets import embedded_environment
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_lab import EmbeddedLab
from fleetqueue.fleets.embedded_settings import EmbeddedSettings, start_in_background
from fleetqueue.lab import control

NOWHERE: Final = Path("no-kubeconfig")


@asynccontextmanager
async def opened(data_dir: Path, report: Report) -> AsyncIterator[StoryFleet]:
    """Start a fresh fleet in this process, in memory; it ends, and is forgotten, with the block."""
    settings = EmbeddedSettings(scenario="multikueue", in_memory=True)
    await make_room(data_dir)
    try:
        async with running(EmbeddedLab(data_dir, settings, report=report)):
            async with story_fleet(data_dir / "kubeconfig", settings.clusters, over_tls(data_dir)) as fleet:
                yield fleet
    finally:
        await control.down(data_dir, delete=True)


@asynccontextmanager
async def running(lab: EmbeddedLab) -> AsyncIterator[None]:
    await lab.start()
    try:
        yield
    finally:
        await lab.stop()


@asynccontextmanager
async def kept(data_dir: Path, report: Report) -> AsyncIterator[StoryFleet]:
    """Start a fresh fleet in the background; it goes on after the block."""
    settings = EmbeddedSettings(scenario="multikueue")
    await make_room(data_dir)
    await start_in_background(data_dir, settings, report)
    async with story_fleet(data_dir / "kubeconfig", settings.clusters, over_tls(data_dir)) as fleet:
        yield fleet


@asynccontextmanager
async def without_sockets(fleet: EmbeddedFleet, report: Report = lambda line: None) -> AsyncIterator[StoryFleet]:
    """Make the environment on a fleet in this process, on whatever clock it lives."""
    await embedded_environment.set_up(fleet.hub, fleet.workers, report)
    async with story_fleet(NOWHERE, tuple(fleet.clusters), lambda name: fleet.clusters[name].client()) as opened_fleet:
        yield opened_fleet


def over_tls(data_dir: Path) -> Callable[[str], Client]:
    return lambda name: connect(load(data_dir / "kubeconfig", name))


@asynccontextmanager
async def story_fleet(
    kubeconfig: Path, clusters: Sequence[str], dial: Callable[[str], Client]
) -> AsyncIterator[StoryFleet]:
    """Describe a fleet to the stories; `clusters` begin with the hub."""
    clients = {name: dial(name) for name in clusters}
    try:
        yield StoryFleet(
            kubeconfig,
            tuple(clusters[1:]),
            processes=Deployments(clients),
            has_pods=True,
            dial=dial,
            commands=InProcess,
        )
    finally:
        for client in clients.values():
            await client.close()


DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments")
ADD_ONS: Final = "open-cluster-management-agent-addon"
PARTS: Final = {
    "kueue": (KUEUE_NAMESPACE, "kueue-controller-manager"),
    "score-agent": (ADD_ONS, "fleetqueue-score-agent"),
}
"""What the stories call a part, and where its Deployment is."""


class Deployments:
    """Stops and starts parts by their replicas; they are named `cluster2/score-agent`, as processes are."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clients = clients

    async def states(self) -> Mapping[str, str]:
        """Tell of every part whether all of its pods are up."""
        states = {}
        for cluster, client in self._clients.items():
            for part, (namespace, name) in PARTS.items():
                pods = [Pod.view(raw) for raw in (await client.list(Pod.resource, namespace)).items]
                phases = {pod.status.phase for pod in pods if pod.name.startswith(f"{name}-")}
                if phases:
                    states[f"{cluster}/{part}"] = "up" if phases == {"Running"} else ", ".join(sorted(phases))
        return states

    async def pause(self, name: str) -> None:
        await self._scale(name, 0)

    async def resume(self, name: str) -> None:
        await self._scale(name, 1)

    async def _scale(self, name: str, replicas: int) -> None:
        cluster, _, part = name.partition("/")
        namespace, deployment = PARTS[part]
        patch: dict[str, Any] = {"spec": {"replicas": replicas}}
        await self._clients[cluster].merge(DEPLOYMENTS, deployment, namespace, patch, subresource="scale")
