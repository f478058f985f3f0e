"""Our server as a process beside etcd and kube-apiserver: APIs with endpoints, and nothing that lives in them.

Usage: ours.py <folder> <first port> <clusters> <sqlite|memory>

The keys are made before, as they are for the real one.
"""

import asyncio
import sys
from pathlib import Path

from fleetqueue.embedded.apiserver.http.front_end import FrontEnd
from fleetqueue.embedded.apiserver.http.listener import server_context
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage


async def main(folder: Path, first: int, clusters: int, storage: str) -> None:
    writer, pki, running = writer_thread(), folder / "pki", []
    for number in range(clusters):
        log = SqliteLog(folder / f"{number}.db", writer) if storage == "sqlite" else MemoryLog()
        server = ApiServer(await ClusterStorage.open(log), Secrets())
        await server.start()
        running.append(asyncio.create_task(server.run()))
        front_end = FrontEnd(server.handler, server.authentication)
        context = server_context(pki / "apiserver.crt", pki / "apiserver.key", pki / "ca.crt")
        await front_end.start("127.0.0.1", first + number, context)
    await asyncio.gather(*running)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
