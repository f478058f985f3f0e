"""Random sequences of applies, updates and patches end, step by step, as they did on the real server."""

import pytest

from fleetqueue.embedded.apiserver.admission.chain import Chain
from fleetqueue.embedded.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded import new_server
from fleetqueue.testing.virtual_time import running
from tests.api_cases.in_process_door import InProcess
from tests.unit.embedded.apiserver.patching.random_sequences import define, plays, recorded, run

PLAYS = [pytest.param(play, id=play.name) for play in plays()]
REAL = recorded()


@pytest.fixture
async def door():
    tokens = {}
    server = await new_server(Secrets(tokens=tokens))
    # As on the real server that was asked: what admission adds is not judged here.
    server.store.admission = Chain(NamespaceLifecycle(server._namespace))
    async with running(server.run()):
        yield InProcess(server, tokens)


@pytest.mark.parametrize("play", PLAYS)
async def test_every_step_ends_as_on_the_real_server(door, play):
    await define(door, [play])

    answers = await run(door, play)

    assert answers == REAL[play.name]
