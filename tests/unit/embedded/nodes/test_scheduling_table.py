"""Pods find their places here as on a real cluster, and the same is said of those that find none."""

import asyncio

import orjson
import pytest

from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.testing.virtual_time import run

from .scheduling_table import RECORDED
from .scheduling_table.cases import CASES
from .scheduling_table.playing import play


@pytest.fixture(scope="module")
def recorded():
    return orjson.loads(RECORDED.read_bytes())


@pytest.fixture(scope="module")
def played():
    async def on_our_own():
        async with EmbeddedFleet.open(workers=0) as fleet:
            await asyncio.sleep(1)  # until it has its own node, which the cases do not want
            return await play(fleet.hub.client(), CASES)

    return run(on_our_own())


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_pod_is_scheduled_as_on_a_real_cluster(played, recorded, name):
    assert played[name] == recorded[name]
