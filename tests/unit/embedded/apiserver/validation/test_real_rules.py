"""Rules of custom kinds hold, break and are refused as on the real server, with all values of their sort."""

import orjson
import pytest

from tests.unit.embedded.apiserver.validation.ruled import RECORDED, SORTS, record_sort

REAL = orjson.loads(RECORDED.read_bytes())


@pytest.mark.parametrize("number", range(len(SORTS)), ids=lambda number: str(SORTS[number]["of"])[:60])
async def test_every_rule_says_what_it_says_on_the_real_server(door, number):
    answers = await record_sort(door, number, SORTS[number])

    assert answers == REAL[number]
