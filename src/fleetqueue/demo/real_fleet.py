"""A fleet of real clusters for as long as stories are told on it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fleetqueue.demo.story_run import PausableParts, StoryFleet
from fleetqueue.fleets.lab import Lab, LabSettings, start_in_background
from fleetqueue.lab import control
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.errors import EngineError
from fleetqueue.lab.processes import ProcessStatus
from fleetqueue.lab.state import refuse_foreign

Report = Callable[[str], None]


class OwnProcesses:
    """The processes of a fleet that this process runs."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    async def states(self) -> Mapping[str, str]:
        return by_name(self.lab.status())

    async def pause(self, name: str) -> None:
        self.lab.pause(name)

    async def resume(self, name: str) -> None:
        self.lab.resume(name)


class BackgroundProcesses:
    """The processes of a fleet in the background."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    async def states(self) -> Mapping[str, str]:
        return by_name(await control.status(self.data_dir))

    async def pause(self, name: str) -> None:
        await control.ask(self.data_dir, "pause", name)

    async def resume(self, name: str) -> None:
        await control.ask(self.data_dir, "resume", name)


@asynccontextmanager
async def opened(data_dir: Path, settings: LabSettings, report: Report) -> AsyncIterator[StoryFleet]:
    """Start a fresh fleet that ends, and is forgotten, with the block; it also ends when our process is killed."""
    await make_room(data_dir)
    lab = Lab(data_dir, settings, report=report)
    await lab.start()
    try:
        yield story_fleet(data_dir, settings, OwnProcesses(lab))
    finally:
        await lab.stop()
        lab.delete()


@asynccontextmanager
async def kept(data_dir: Path, settings: LabSettings, report: Report) -> AsyncIterator[StoryFleet]:
    """Start a fresh fleet in the background; it goes on after the block."""
    await make_room(data_dir)
    await start_in_background(data_dir, settings, report)
    yield story_fleet(data_dir, settings, BackgroundProcesses(data_dir))


async def make_room(data_dir: Path) -> None:
    """Delete what an earlier fleet left in a folder; one that runs, or a folder of somebody else, is left alone."""
    refuse_foreign(data_dir)
    if await control.ask_if_there(data_dir, "status") is not None:
        raise EngineError(f"a fleet runs in {data_dir}; end it with `fleetqueue down --data-dir {data_dir}` first")
    await control.down(data_dir, delete=True)


def story_fleet(data_dir: Path, settings: LabSettings, processes: PausableParts) -> StoryFleet:
    """Describe a fleet to the stories."""
    workers = tuple(name for name in settings.clusters if name != HUB)
    return StoryFleet(data_dir / "kubeconfig", workers, settings.ocm == "full", processes)


def by_name(statuses: list[ProcessStatus]) -> dict[str, str]:
    return {status.name: status.state for status in statuses}
