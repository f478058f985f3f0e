"""Rules of custom kinds on a real API server: what was recorded is what it says."""

import orjson
import pytest

from tests.unit.embedded.apiserver.validation.record_rules import answers_of_a_real_server
from tests.unit.embedded.apiserver.validation.ruled import RECORDED, written

pytestmark = [pytest.mark.records, pytest.mark.timeout(300)]


async def test_the_recorded_rules_are_judged_so_by_a_real_server(layout, tmp_path):
    answers = await answers_of_a_real_server(layout, tmp_path)

    assert orjson.loads(written(answers)) == orjson.loads(RECORDED.read_bytes())
