"""Pods that fit somewhere or nowhere on a real cluster: what was recorded of them is still true."""

import orjson
import pytest

from tests.real.engine.one_cluster import one_cluster
from tests.unit.embedded.nodes.scheduling_table import RECORDED
from tests.unit.embedded.nodes.scheduling_table.cases import CASES
from tests.unit.embedded.nodes.scheduling_table.playing import play

pytestmark = [pytest.mark.records, pytest.mark.timeout(240)]


async def test_the_recorded_places_are_those_of_a_real_scheduler(layout, tmp_path):
    recorded = orjson.loads(RECORDED.read_bytes())

    async with one_cluster(layout, tmp_path) as client:
        played = await play(client, CASES)

    assert list(played) == list(recorded)
    assert {name: found for name, found in played.items() if found != recorded[name]} == {}
