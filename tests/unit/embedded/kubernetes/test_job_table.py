"""Jobs of every form end here as on a real cluster: the same status, pods and events, field by field."""

import orjson
import pytest

from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.testing.virtual_time import run

from .job_table import RECORDED
from .job_table.cases import CASES
from .job_table.playing import play


@pytest.fixture(scope="module")
def recorded():
    return orjson.loads(RECORDED.read_bytes())


@pytest.fixture(scope="module")
def played():
    async def on_our_own():
        async with EmbeddedFleet.open(workers=0) as fleet:
            return await play(fleet.hub.client(), CASES)

    return run(on_our_own())


@pytest.mark.parametrize("part", ["status", "pods", "events"])
@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_job_is_as_on_a_real_cluster(played, recorded, name, part):
    assert played[name][part] == recorded[name][part]
