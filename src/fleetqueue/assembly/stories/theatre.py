"""A fleet for as long as stories are told on it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fleetqueue.assembly.lab import Lab, LabSettings, start_in_background
from fleetqueue.assembly.stories.stage import HUB, Place, ProcessStates
from fleetqueue.engine import control
from fleetqueue.engine.processes import Status

Report = Callable[[str], None]


@asynccontextmanager
async def opened(data_dir: Path, settings: LabSettings, report: Report) -> AsyncIterator[Place]:
    """Start a fresh fleet that ends, and is forgotten, with the block; it also ends when our process is killed."""
    await control.down(data_dir, delete=True)
    lab = Lab(data_dir, settings, report=report)
    await lab.start()

    async def processes() -> Mapping[str, str]:
        return by_name(lab.status())

    try:
        yield place(data_dir, settings, processes)
    finally:
        await lab.stop()
        lab.delete()


@asynccontextmanager
async def kept(data_dir: Path, settings: LabSettings, report: Report) -> AsyncIterator[Place]:
    """Start a fresh fleet in the background; it goes on after the block."""
    await control.down(data_dir, delete=True)
    await start_in_background(data_dir, settings, report)

    async def processes() -> Mapping[str, str]:
        return by_name(await control.status(data_dir))

    yield place(data_dir, settings, processes)


def place(data_dir: Path, settings: LabSettings, processes: ProcessStates) -> Place:
    """Describe a fleet to the stories."""
    workers = tuple(name for name in settings.clusters if name != HUB)
    return Place(data_dir / "kubeconfig", workers, settings.ocm == "full", processes)


def by_name(found: list[Status]) -> dict[str, str]:
    return {status.name: status.state for status in found}
