"""What every unit test can ask for: a hub, and virtual time.

A test that uses `api`, `hub` or `follow`, or that is marked `virtual_time`, lives on a loop whose time jumps. Its hub
is our own API server; in the lane `pytest -m real` the same test has a real one, of which it must see the same.
"""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings

from fleetqueue import clock
from fleetqueue.client import Client
from fleetqueue.real.layout import find
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.testing import plugin
from fleetqueue.testing.arranged_api import ArrangedApi, Server
from fleetqueue.testing.embedded_server import EmbeddedServer
from fleetqueue.testing.real_server import RealServer
from fleetqueue.testing.real_servers import RealServers
from fleetqueue.testing.virtual_time import START, VirtualClock, VirtualTimeLoop, running

# Every run tries the same examples; `make properties` searches on. Two busy cores are no defect.
settings.register_profile("unit", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("FLEETQUEUE_EXAMPLES", "unit"))

Follow = Callable[..., Awaitable[None]]
NewApi = Callable[[], ArrangedApi]
NAMESPACES = ("fleetqueue-system", "kueue-system", "ns", "team-a")
"""Where controllers write in tests that arrange nothing there."""
MOST_REAL = 3
PRODUCT = Path(__file__).parent / "controllers"
"""Whose tests ask a real server in every `make test`; those of other parts do in `make real`."""


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.is_registered(plugin):  # as a checkout whose metadata are older than the plugin
        config.pluginmanager.register(plugin, "fleetqueue")
    config.addinivalue_line("markers", "virtual_time: time jumps instead of passing; no sockets, no child processes")
    config.addinivalue_line("markers", "embedded_only(why): cannot be asked of a real server")
    config.addinivalue_line("markers", "breaks(invariant, why): what must hold in every test does not hold in this one")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let what a test asks of an API be answered by our own server and, in the lane `-m real`, by a real one."""
    if "judge" in metafunc.fixturenames and inspect.iscoroutinefunction(metafunc.function):
        length = [] if metafunc.definition.path.is_relative_to(PRODUCT) else [pytest.mark.long]
        judges = ["embedded", pytest.param("real", marks=[pytest.mark.real, *length])]
        metafunc.parametrize("judge", judges, ids=[pytest.HIDDEN_PARAM, "real"], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot be asked of a real server."""
    left_out = [item for item in items if item.get_closest_marker("embedded_only") and is_judged_by(item, "real")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def is_judged_by(item: pytest.Item, judge: str) -> bool:
    return getattr(item, "callspec", None) is not None and item.callspec.params.get("judge") == judge


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": VirtualTimeLoop} if lives_in_virtual_time(item) else {"real": asyncio.new_event_loop}


def lives_in_virtual_time(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return item.get_closest_marker("virtual_time") is not None or "judge" in fixtures


@pytest.fixture
def judge(request: pytest.FixtureRequest) -> str:
    """Whose server answers: `embedded` or `real`."""
    return getattr(request, "param", "embedded")


@pytest.fixture(autouse=True)
def _clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let virtual tests read the time that their loop shows; a real server's own clock is not far from it at first."""
    if not lives_in_virtual_time(request.node):
        yield
        return
    is_real = "judge" in request.fixturenames and request.getfixturevalue("judge") == "real"
    with clock.use(VirtualClock(start=datetime.now(UTC).replace(microsecond=0) if is_real else START)):
        yield


@pytest.fixture(scope="session")
def real_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServers]:
    layout = find()
    if layout is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    servers = RealServers(layout, tmp_path_factory.mktemp("real"), NAMESPACES)
    yield servers
    servers.stop()


@pytest.fixture
def new_server(judge: str, request: pytest.FixtureRequest) -> Iterator[Callable[[], Server]]:
    """Make one more server. Of real ones a machine bears only a few: workers after the second are embedded."""
    made: list[EmbeddedServer | RealServer] = []

    def make() -> Server:
        is_real = judge == "real" and len(made) < MOST_REAL
        made.append(request.getfixturevalue("real_servers")[len(made)] if is_real else EmbeddedServer(NAMESPACES))
        return made[-1]

    yield make
    for server in made:
        server.end()


@pytest.fixture
def new_api(new_server: Callable[[], Server]) -> NewApi:
    """Make the API of one more cluster, such as a worker's: `worker = new_api()`."""
    return lambda: ArrangedApi(new_server())


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
