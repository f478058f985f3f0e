"""Give the scenarios of `tests/conformance/scenarios` to the real parts, and write down what they make of them.

Run it after a change of the scenarios: `python tools/record_scenarios.py`, or with the rooms that changed. It needs the
real engine (`fleetqueue engine build`) and takes about two minutes for each room.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fleetqueue.real.layout import find
from tests.conformance.scenarios.world import World
from tests.conformance.scenarios.worlds import WORLDS


def record(world: World) -> None:
    with tempfile.TemporaryDirectory(prefix="fleetqueue-record-") as folder:
        ends = asyncio.run(world.run_on_real(Path(folder)))
    world.record(ends)
    print(f"{world.name}: {len(ends)} scenarios")


def chosen(names: Sequence[str]) -> list[World]:
    """Return the worlds of some rooms, or of all where none is named; ends where there is no such room."""
    known = {world.name: world for world in WORLDS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"there is no room {', '.join(unknown)}; the rooms are {', '.join(known)}")
    return [known[name] for name in names or known]


if __name__ == "__main__":
    worlds = chosen(sys.argv[1:])
    if find() is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    for world in worlds:
        record(world)
