"""How a fleet of embedded clusters is made up, and how one is started that goes on by itself.

Who asks for such a fleet imports this, and not the clusters: those live in the other process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fleetqueue.lab import control
from fleetqueue.lab.cluster_names import cluster_names

Report = Callable[[str], None]
Scenario = Literal["multikueue", "none"]


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """How a fleet is made up; kept with its state."""

    workers: int = 3
    in_memory: bool = False
    ports_from: int | None = None
    """The hub's port; the workers have the next ones. None: those of the last start, or any."""
    scenario: Scenario = "none"
    """`multikueue`: the walkthroughs' environment, ready for the stories; `none`: the clusters alone."""
    engine: str = "embedded"

    @property
    def clusters(self) -> tuple[str, ...]:
        return cluster_names(self.workers)


async def start_in_background(data_dir: Path, settings: EmbeddedSettings, report: Report) -> None:
    """Start a fleet that goes on when we end; returns when it is up."""
    await control.start_in_background(data_dir, settings, report, module="fleetqueue.fleets.embedded_lab")
