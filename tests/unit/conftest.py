"""What every unit test can ask for: a hub in memory, and virtual time.

A test that uses `api`, `hub` or `follow`, or that is marked `virtual_time`, lives on a loop whose time jumps.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack

import pytest
from hypothesis import settings

from fleetqueue import clock
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.embedded_server import EmbeddedServer
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, running

settings.register_profile("unit", deadline=None)  # two busy cores are no defect
settings.load_profile("unit")

Follow = Callable[..., Awaitable[None]]
NewApi = Callable[[], ArrangedApi]
NAMESPACES = ("fleetqueue-system", "kueue-system", "c1", "cluster1", "ns", "team-a")
"""Where controllers write in tests that arrange nothing there."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "virtual_time: time jumps instead of passing; no sockets, no child processes")


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": VirtualTimeLoop} if lives_in_virtual_time(item) else {"real": asyncio.new_event_loop}


def lives_in_virtual_time(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return item.get_closest_marker("virtual_time") is not None or "api" in fixtures


@pytest.fixture(autouse=True)
def _clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let virtual tests read the time that their loop shows."""
    if not lives_in_virtual_time(request.node):
        yield
        return
    with clock.use(VirtualClock()):
        yield


@pytest.fixture
def new_api() -> Iterator[NewApi]:
    """Make the API of one more cluster, such as a worker's: `worker = new_api()`."""
    servers = []

    def make() -> ArrangedApi:
        servers.append(EmbeddedServer())
        api = ArrangedApi(servers[-1])
        api.namespace(*NAMESPACES)
        return api

    yield make
    for server in servers:
        server.check()


@pytest.fixture
def api(new_api: NewApi) -> ArrangedApi:
    """A hub's API: arrange objects and faults here, and look at `writes`."""
    return new_api()


@pytest.fixture
def hub(api: ArrangedApi) -> Cluster:
    """A controller's view of that hub; nothing is followed yet."""
    return Cluster("hub", Client(api))


@pytest.fixture
async def follow(hub: Cluster) -> AsyncIterator[Follow]:
    """`await follow(controller)` fills the caches that it needs, and keeps them right while the test runs."""
    async with AsyncExitStack() as stack:

        async def follow(*controllers: Controller) -> None:
            for controller in controllers:
                controller.subscribe()
            await stack.enter_async_context(running(hub.run()))
            await hub.synced()

        yield follow
