"""Do the random sequences to a real kube-apiserver and write what it answers to `recorded_sequences.json.z`.

Run it after a change of the generators: `python -m tests.unit.embedded.apiserver.patching.record_sequences`. It
needs the real engine (`fleetqueue engine build`) and starts only etcd and the API server, for some seconds.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from fleetqueue.real.layout import Layout, find
from tests.conformance.api_cases.real_server import real_server
from tests.unit.embedded.apiserver.patching.random_sequences import RECORDED, Play, define, plays, run, written

SETTLING = 2.0
"""Seconds until the schema of a new kind has reached its apply; discovery shows the kind earlier."""


async def answers_of_a_real_server(layout: Layout, folder: Path, wanted: list[Play]) -> dict[str, Any]:
    """Start a server for these sequences; its answers, by their names."""
    async with real_server(layout, folder) as door:
        await define(door, wanted)
        await asyncio.sleep(SETTLING)
        return {play.name: await run(door, play) for play in wanted}


async def main() -> None:
    layout = find()
    if layout is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    with tempfile.TemporaryDirectory() as folder:
        answers = await answers_of_a_real_server(layout, Path(folder), plays())
    RECORDED.write_bytes(written(answers))


if __name__ == "__main__":
    asyncio.run(main())
