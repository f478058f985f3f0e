"""What tests of the API server ask: a server that two people may use, and the door that recorded cases go through."""

import pytest

from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.fleets.embedded_cluster import CONVERTERS, new_server
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.testing.virtual_time import running
from tests.conformance.api_cases.in_process_door import InProcess


@pytest.fixture
async def server():
    """A server with an administrator, and with alice, who may nothing."""
    return await new_server(Secrets(tokens={"admin": User("admin", (MASTERS,)), "alice": User("alice")}))


@pytest.fixture
def client(server):
    return Client(InProcessDoor(server, RequestCredentials(token="admin")))


@pytest.fixture
def alice(server):
    return Client(InProcessDoor(server, RequestCredentials(token="alice")))


@pytest.fixture
async def door():
    """A way to a server of its own, for whomever a case names; it warns of nothing that a real one does not."""
    tokens = {}
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens=tokens), CONVERTERS)
    await server.start()
    async with running(server.run()):
        yield InProcess(server, tokens)
