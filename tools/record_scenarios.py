"""Give the scenarios of `tests/scenarios` to the real parts, and write down what they make of them.

Run it after a change of the scenarios: `python tools/record_scenarios.py`, or with the rooms that changed. It needs the
real engine (`fleetqueue engine build`) and takes about two minutes for each room.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fleetqueue.engine.layout import find
from tests.scenarios.world import World
from tests.scenarios.worlds import WORLDS


def record(world: World) -> None:
    with tempfile.TemporaryDirectory(prefix="fleetqueue-record-") as folder:
        ends = asyncio.run(world.run_on_real(Path(folder)))
    world.record(ends)
    print(f"{world.name}: {len(ends)} scenarios")


if __name__ == "__main__":
    if find() is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    known = {world.name: world for world in WORLDS}
    for name in sys.argv[1:] or known:
        record(known[name])
