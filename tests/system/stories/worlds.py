"""The worlds in which the stories are told: embedded on the virtual clock and in real time, and on the real engine.

Each is told once in a session; every id of the checklist is then a test of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.demo import embedded_fleet, real_fleet
from fleetqueue.demo.expectations import ExpectationFailed, Record
from fleetqueue.demo.story_order import Which, expected, tell
from fleetqueue.demo.story_run import StoryFleet, StoryRun
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.lab import LabSettings
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.real import layout
from fleetqueue.testing import virtual_time
from fleetqueue.testing.silent_printer import SilentPrinter
from tests.invariants.standing_by import REAL_TIME, Found, Pace, standing_by

COUNTED = (kueue.MultiKueueCluster, kueue.Workload)
"""The stories say of these that they are exactly those that were made."""


@dataclass
class Told:
    """What came of a telling."""

    record: Record
    lines: list[str] = field(default_factory=list)
    """What was typed and printed."""
    broken: Found = field(default_factory=dict)
    """What broke each invariant, after all was told."""

    def check(self, expectation: str) -> None:
        outcome = self.record.of(expectation)
        assert outcome is not None, f"{expectation} was not reached; before it: {self.record.outcomes[-1:]}"
        assert outcome.held, "\n".join([f"{outcome.sentence}: {outcome.note}", *self.lines[-60:]])


@dataclass(frozen=True)
class World:
    name: str
    tell: Callable[[Path], Told]
    has_pods: bool = True
    marks: tuple[pytest.MarkDecorator, ...] = ()

    @property
    def expected(self) -> tuple[str, ...]:
        return expected(Which.ALL, has_pods=self.has_pods)


class Tellings:
    """The stories as they were told in this session, once in each world, however it ended."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._told: dict[str, Told | Exception] = {}

    def of(self, world: World) -> Told:
        if world.name not in self._told:
            try:
                self._told[world.name] = world.tell(self._new_folder(world.name))
            except Exception as error:
                self._told[world.name] = error
        told = self._told[world.name]
        if isinstance(told, Exception):
            raise told
        return told


class Listening(SilentPrinter):
    """Remembers what was typed and printed, to look at when something does not hold."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def command(self, text: str) -> None:
        self.lines.append(f"$ {text}")

    def output(self, text: str) -> None:
        self.lines += text.splitlines()


async def all_stories(run: StoryRun) -> None:
    await tell(run, Which.ALL)


async def told_on(opened, pace: Pace, play: Callable[[StoryRun], Awaitable[None]] = all_stories) -> Told:
    """Play on a fleet, the stories or something else, and look back at the invariants."""
    printer = Listening()
    async with (
        opened as fleet,
        clients_of(fleet) as clients,
        standing_by(clients, pace, without=COUNTED) as bystander,
    ):
        async with StoryRun(fleet, printer, is_fast=True) as run:
            try:
                await play(run)
            except ExpectationFailed:
                pass  # it is in the record
        return Told(run.record, printer.lines, await bystander.look_back())


@asynccontextmanager
async def clients_of(fleet: StoryFleet) -> AsyncIterator[dict[str, Client]]:
    """Open all clusters of a fleet."""
    async with AsyncExitStack() as stack:
        dial = fleet.dial or (lambda name: connect(load(fleet.kubeconfig, name)))
        clients = {name: dial(name) for name in (HUB, *fleet.workers)}
        for client in clients.values():
            stack.push_async_callback(client.close)
        yield clients


def on_the_virtual_clock(folder: Path) -> Told:
    async def work() -> Told:
        async with EmbeddedFleet.open(3) as fleet:
            return await told_on(embedded_fleet.without_sockets(fleet), Pace())

    return virtual_time.run(work())


def in_real_time(folder: Path) -> Told:
    return asyncio.run(told_on(embedded_fleet.opened(folder / "fleet", lambda line: None), REAL_TIME))


def on_the_real_engine(folder: Path) -> Told:
    if layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    return asyncio.run(
        told_on(real_fleet.opened(folder / "fleet", LabSettings(ocm="full"), lambda line: None), REAL_TIME)
    )


WORLDS = (
    World("virtual", on_the_virtual_clock),
    World("embedded", in_real_time),
    World("kubernetes", on_the_real_engine, has_pods=False, marks=(pytest.mark.real,)),
)
