"""Open the cluster that a command means, for as long as it needs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetqueue.client import Client


@asynccontextmanager
async def opened(kubeconfig: Path | None, context: str) -> AsyncIterator["Client"]:
    """Open a cluster by its kubeconfig."""
    from fleetqueue.client.kubeconfig import load
    from fleetqueue.client.transport import connect

    client = connect(load(kubeconfig, context))
    try:
        yield client
    finally:
        await client.close()
