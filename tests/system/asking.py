"""Ask of a hub over its socket, when a test on it ends, whether `explain` answers for every job that waits there.

A fleet without sockets is asked by `tests.invariants.reasons.check_answers` on its own loop.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.lab.cluster_names import HUB
from tests.invariants.reasons import check_answers


def check_answers_at(kubeconfig: Path) -> None:
    """Ask the hub of a kubeconfig, whatever loop runs here; raises Broken."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _asked(kubeconfig)).result()


async def _asked(kubeconfig: Path) -> None:
    client = connect(load(kubeconfig, HUB))
    try:
        await check_answers(client)
    finally:
        await client.close()
