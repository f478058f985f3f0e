"""Every case of the table, asked through the door without sockets, is answered as the real server answered it."""

import pytest

from tests.conformance.api_cases import records
from tests.conformance.api_cases.cases import load_all
from tests.conformance.api_cases.comparing import differences
from tests.conformance.api_cases.running import define, run

pytestmark = pytest.mark.virtual_time

CASES = [pytest.param(case, id=case.id) for case in load_all() if not case.needs_http]


@pytest.mark.parametrize("case", CASES)
async def test_a_case_is_answered_as_by_the_real_server(door, case):
    await define(door, case.kinds)

    answers = await run(door, case, "case-0000")

    assert differences(case, answers, records.of(case)) == []
