"""A fleet on one machine with our own parts in it: real clusters, the controller, the score agents.

Usage of the file itself, by `fleetqueue up --engine kubernetes --detach`:
python -m fleetqueue.fleets.lab <data dir> <settings as JSON>

Our parts run as processes of the fleet (`parts.py`): each has its own log, and can be restarted, paused or killed by
itself.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from fleetqueue.fleets import real_environment
from fleetqueue.fleets.product_processes import PROBES
from fleetqueue.lab import control
from fleetqueue.lab.supervisor import serve
from fleetqueue.real.fleet import RealFleet, Settings

Scenario = Literal["multikueue", "none"]
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LabSettings(Settings):
    """How a lab is made up; kept with its state."""

    scenario: Scenario = "multikueue"
    """`multikueue`: the walkthroughs' environment, ready for the stories; `none`: the clusters alone."""

    def ports(self, cluster: str) -> tuple[str, ...]:
        return (*Settings.ports(self, cluster), PROBES)


class Lab(RealFleet):
    def __init__(
        self,
        data_dir: Path,
        settings: LabSettings,
        *,
        report: Report = lambda line: None,
        on_up: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_up` is called once everything is up."""
        super().__init__(data_dir, report=report)
        self.settings: LabSettings = settings
        self.on_up = on_up

    async def start(self) -> None:
        """Bring up the clusters, then our parts; if anything fails, nothing is left running."""
        await super().start()
        try:
            if self.settings.scenario == "multikueue":
                await real_environment.set_up(self)
        except BaseException:
            await self.stop()
            raise
        self.on_up()


async def start_in_background(data_dir: Path, settings: LabSettings, report: Report) -> None:
    """Start a lab that goes on when we end; returns when it is up."""
    await control.start_in_background(data_dir, settings, report, module="fleetqueue.fleets.lab")


def main() -> int:
    settings = LabSettings(**orjson.loads(sys.argv[2]))
    return serve(lambda log: Lab(Path(sys.argv[1]), settings, report=log))


if __name__ == "__main__":
    sys.exit(main())
