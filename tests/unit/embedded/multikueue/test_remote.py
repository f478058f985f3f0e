"""The connection to one worker, and its end."""

import asyncio

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.multikueue.remote import RemoteClient

pytestmark = pytest.mark.fleet(scenario="api")


@pytest.mark.parametrize("turns", range(8))
async def test_a_connection_that_breaks_in_the_moment_at_which_it_shall_end_ends(fleet, turns):
    remote = RemoteClient(
        "cluster1",
        [Job],
        origin="multikueue",
        dial=fleet.dial,
        run_plugin=None,
        on_connection_change=lambda name: None,
        on_event=lambda key, is_progress: None,
    )
    life = asyncio.create_task(remote.run(parse(fleet["cluster1"].kubeconfig)))
    await fleet.settle()
    was_connected = remote.is_connected

    fleet.cut("cluster1")
    for _ in range(turns):  # the watches notice it after some turns of the loop, and who waits for them after more
        await asyncio.sleep(0)
    life.cancel()
    await fleet.advance(1)
    has_ended = life.cancelled()
    life.cancel()

    assert was_connected
    assert has_ended
