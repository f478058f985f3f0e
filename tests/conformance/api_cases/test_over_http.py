"""Every case of the table, asked over HTTP with TLS, is answered as the real server answered it."""

import pytest

from tests.conformance.api_cases import records
from tests.conformance.api_cases.cases import load_all
from tests.conformance.api_cases.comparing import differences
from tests.conformance.api_cases.embedded_server import Trust, over_http
from tests.conformance.api_cases.running import define, run

CASES = [pytest.param(case, id=case.id) for case in load_all()]


@pytest.fixture(scope="session")
def trust():
    return Trust()


@pytest.fixture
async def door(trust):
    async with over_http(trust) as door:
        yield door


@pytest.mark.parametrize("case", CASES)
async def test_a_case_is_answered_as_by_the_real_server(door, case):
    await define(door, case.kinds)

    answers = await run(door, case, "case-0000")

    assert differences(case, answers, records.of(case)) == []
