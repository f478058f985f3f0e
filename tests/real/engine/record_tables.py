"""Play the tables of Jobs and of pods to be scheduled on a real cluster, and write down what comes of them.

Run it after a change of a table: `python -m tests.real.engine.record_tables`. It needs the real engine (`fleetqueue
engine build`) and takes two minutes.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson

from fleetqueue.real.layout import find
from tests.real.engine.one_cluster import one_cluster
from tests.unit.embedded.kubernetes import job_table
from tests.unit.embedded.kubernetes.job_table import cases as job_cases
from tests.unit.embedded.kubernetes.job_table import playing as jobs
from tests.unit.embedded.nodes import scheduling_table
from tests.unit.embedded.nodes.scheduling_table import cases as pod_cases
from tests.unit.embedded.nodes.scheduling_table import playing as pods


def written(recorded: dict[str, Any]) -> bytes:
    """One line for each case."""
    lines = b",\n".join(orjson.dumps(name) + b":" + orjson.dumps(found) for name, found in recorded.items())
    return b"{\n" + lines + b"\n}\n"


async def main() -> None:
    layout = find()
    if layout is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    with tempfile.TemporaryDirectory() as folder:
        async with one_cluster(layout, Path(folder)) as client:
            job_table.RECORDED.write_bytes(written(await jobs.play(client, job_cases.CASES)))
            scheduling_table.RECORDED.write_bytes(written(await pods.play(client, pod_cases.CASES)))


if __name__ == "__main__":
    asyncio.run(main())
