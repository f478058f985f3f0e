"""One real cluster with nothing on it: an API server, the controllers, a scheduler, and kwok in place of kubelets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.lab import ports
from fleetqueue.lab.processes import Processes
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.control_plane import PORTS, ControlPlane
from fleetqueue.real.layout import Layout


@asynccontextmanager
async def one_cluster(layout: Layout, folder: Path) -> AsyncIterator[Client]:
    """Start it, and give its administrator's client; nothing is left when the block ends."""
    cluster = RealCluster("real", folder / "real", ports.assign(PORTS, {}), layout)
    processes = Processes(folder / "processes.json")
    plane = ControlPlane(cluster, processes)
    try:
        await plane.start()
        await plane.wait_ready()
        client = connect(load(cluster.kubeconfig))
        try:
            yield client
        finally:
            await client.close()
    finally:
        await processes.stop_all()
