"""Jobs of every form on a real cluster, all at once: what was recorded of them is still true."""

import orjson
import pytest

from tests.real.engine.one_cluster import one_cluster
from tests.unit.embedded.kubernetes.job_table import RECORDED
from tests.unit.embedded.kubernetes.job_table.cases import CASES
from tests.unit.embedded.kubernetes.job_table.playing import play

pytestmark = [pytest.mark.records, pytest.mark.timeout(240)]


async def test_the_recorded_jobs_are_those_of_a_real_cluster(layout, tmp_path):
    recorded = orjson.loads(RECORDED.read_bytes())

    async with one_cluster(layout, tmp_path) as client:
        played = await play(client, CASES)

    assert list(played) == list(recorded)
    assert {name: found for name, found in played.items() if found != recorded[name]} == {}
