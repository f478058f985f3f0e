"""Every case of the table, asked through the door without sockets, is answered as the real server answered it."""

import asyncio

import pytest

from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import MemoryLog
from fleetqueue.apiserver.storage.storage import ClusterStorage
from tests.api_cases import records
from tests.api_cases.cases import load_all
from tests.api_cases.comparing import differences
from tests.api_cases.in_process_door import InProcess
from tests.api_cases.running import define, run

pytestmark = pytest.mark.virtual_time

CASES = [pytest.param(case, id=case.id) for case in load_all() if not case.needs_http]


@pytest.fixture
async def door():
    tokens = {}
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens=tokens))
    await server.start()
    running = asyncio.create_task(server.run())
    yield InProcess(server, tokens)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("case", CASES)
async def test_a_case_is_answered_as_by_the_real_server(door, case):
    await define(door, case.kinds)

    answers = await run(door, case, "case-0000")

    assert differences(case, answers, records.of(case)) == []
