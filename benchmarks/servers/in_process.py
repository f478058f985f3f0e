"""Ask a server through its door in the same process; print the seconds of each request as one line of JSON.

Usage: in_process.py <folder> <sqlite|memory> <requests>
"""

import asyncio
import json
import sys
from collections.abc import Awaitable
from pathlib import Path
from time import perf_counter
from typing import Any

from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.fleets.in_process import InProcessDoor
from servers.requests import config_map


async def timed(work: Awaitable[Any]) -> float:
    began = perf_counter()
    await work
    return perf_counter() - began


async def main(folder: Path, storage: str, number: int) -> None:
    writer = writer_thread()
    log = SqliteLog(folder / "in_process.db", writer) if storage == "sqlite" else MemoryLog()
    server = ApiServer(await ClusterStorage.open(log), Secrets(tokens={"t": User("admin", (MASTERS,))}))
    await server.start()
    client, maps = Client(InProcessDoor(server, RequestCredentials(token="t"))), ConfigMap.resource
    manifests = [{**config_map(""), "metadata": {"name": f"c{one}", "namespace": "default"}} for one in range(number)]
    found = {
        "create ConfigMap": [await timed(client.create(maps, manifest)) for manifest in manifests],
        "get": [await timed(client.get(maps, f"c{one}", "default")) for one in range(number)],
    }
    print(json.dumps(found))
    await server.storage.close()
    writer.shutdown()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
