"""Rules of custom kinds hold, break and are refused as on the real server, with all values of their sort."""

import asyncio

import orjson
import pytest

from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import MemoryLog
from fleetqueue.apiserver.storage.storage import ClusterStorage
from tests.api_cases.in_process_door import InProcess
from tests.unit.apiserver.validation.ruled import RECORDED, SORTS, record_sort

REAL = orjson.loads(RECORDED.read_bytes())


@pytest.fixture
async def door():
    tokens = {}
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens=tokens))
    await server.start()
    running = asyncio.create_task(server.run())
    yield InProcess(server, tokens)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("number", range(len(SORTS)), ids=lambda number: str(SORTS[number]["of"])[:60])
async def test_every_rule_says_what_it_says_on_the_real_server(door, number):
    answers = await record_sort(door, number, SORTS[number])

    assert answers == REAL[number]
