"""Put the rules of `rules.yaml` to a real kube-apiserver and write what it says to `recorded_rules.json`.

Run it after a change of the rules: `python -m tests.unit.embedded.apiserver.validation.record_rules`. It
needs the real engine (`fleetqueue engine build`) and starts only etcd and the API server, for some seconds.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from fleetqueue.real.layout import Layout, find
from tests.conformance.api_cases.real_server import real_server
from tests.unit.embedded.apiserver.validation.ruled import RECORDED, record, written


async def answers_of_a_real_server(layout: Layout, folder: Path) -> list[dict[str, Any]]:
    async with real_server(layout, folder) as door:
        return await record(door)


async def main() -> None:
    layout = find()
    if layout is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    with tempfile.TemporaryDirectory() as folder:
        RECORDED.write_bytes(written(await answers_of_a_real_server(layout, Path(folder))))


if __name__ == "__main__":
    asyncio.run(main())
