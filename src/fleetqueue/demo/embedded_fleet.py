"""An embedded fleet for as long as stories are told on it: with sockets in real time, or without them on any clock."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.demo.commands import InProcess
from fleetqueue.demo.deployments import Deployments
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
            async with story_fleet(data_dir / "kubeconfig", settings.clusters, over_tls(data_dir)) as found:
                yield found
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
    async with story_fleet(data_dir / "kubeconfig", settings.clusters, over_tls(data_dir)) as found:
        yield found


@asynccontextmanager
async def without_sockets(fleet: EmbeddedFleet, report: Report = lambda line: None) -> AsyncIterator[StoryFleet]:
    """Make the environment on a fleet in this process, on whatever clock it lives."""
    await embedded_environment.set_up(fleet.hub, fleet.workers, report)
    async with story_fleet(NOWHERE, tuple(fleet.clusters), lambda name: fleet.clusters[name].client()) as found:
        yield found


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
