"""The worlds in which the smaller pages are told: embedded clusters on the virtual clock, and in real time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.demo import embedded_fleet
from fleetqueue.demo.story_run import StoryFleet
from fleetqueue.fleets.embedded_settings import EmbeddedSettings
from fleetqueue.testing import virtual_time
from tests.invariants.standing_by import REAL_TIME, Pace
from tests.system.stories.worlds import Told, told_on

from .proxy import ProxiedFleet, ProxiedLab
from .telling import tell


@dataclass(frozen=True)
class World:
    name: str
    tell: Callable[[Path], Told]


def on_the_virtual_clock(folder: Path) -> Told:
    async def work() -> Told:
        async with ProxiedFleet.open(3) as fleet:
            return await told_on(embedded_fleet.without_sockets(fleet), Pace(), tell)

    return virtual_time.run(work())


def in_real_time(folder: Path) -> Told:
    return asyncio.run(told_on(opened(folder / "fleet"), REAL_TIME, tell))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[StoryFleet]:
    """Bring what `fleetqueue up --scenario multikueue` brings, in memory."""
    settings = EmbeddedSettings(scenario="multikueue", in_memory=True)
    dial = embedded_fleet.over_tls(folder)
    async with embedded_fleet.running(ProxiedLab(folder, settings)):
        async with embedded_fleet.story_fleet(folder / "kubeconfig", settings.clusters, dial) as fleet:
            yield fleet


WORLDS = (World("virtual", on_the_virtual_clock), World("embedded", in_real_time))
