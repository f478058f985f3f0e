"""The pytest plugin: the fixture `fleet`, and virtual time for the tests that use it.

It comes with the package. What it needs is imported by the first test that asks for a fleet.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fleetqueue.testing.fleet import Fleet

MISSING = "the fixture `fleet` needs pytest-asyncio 1.4 or newer: pip install 'pytest-asyncio>=1.4'"
NOT_ASYNC = "a test that uses the fixture `fleet` must be `async def`"
HAS_ASYNCIO = find_spec("pytest_asyncio") is not None
LoopFactories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "fleet(workers=2, seed=0, parts=True): how many workers the fixture `fleet` has, the seed of all chance in it, "
        "and whether Kubernetes' own controllers and a node run in each cluster",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> Generator[None, Any, Any]:
    """Let an `async def` test that asks for a fleet be one of pytest-asyncio, in its strict mode too."""
    if HAS_ASYNCIO and inspect.iscoroutinefunction(obj) and "fleet" in inspect.signature(obj).parameters:
        if _is_ours(collector):
            pytest.mark.asyncio(obj)
    return (yield)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Generator[None, Any, LoopFactories]:
    """Give such a test a loop whose time jumps, and any other the one that it would have had."""
    others: LoopFactories | None = yield
    if "fleet" in getattr(item, "fixturenames", ()) and _is_ours(item):
        from fleetqueue.testing.virtual_time import VirtualTimeLoop

        return {"virtual": VirtualTimeLoop}
    return others or {"default": asyncio.new_event_loop}


@pytest.fixture
def fleet_seed(request: pytest.FixtureRequest) -> int:
    """The seed of all chance in the fleet. Parametrize it to try several: `parametrize("fleet_seed", range(9))`."""
    return int(_options(request).get("seed", 0))


async def _fleet(request: pytest.FixtureRequest, fleet_seed: int) -> AsyncIterator["Fleet"]:
    """A hub and two workers in this process, with nothing on them, on a clock that the test moves.

    `@pytest.mark.fleet(workers=9, seed=3, parts=False)` makes it another one.
    """
    from fleetqueue import clock
    from fleetqueue.testing.fleet import Fleet
    from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop

    if not isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
        pytest.fail(MISSING if inspect.iscoroutinefunction(request.function) else NOT_ASYNC, pytrace=False)
    options = _options(request)
    with clock.use(VirtualClock(fleet_seed)):
        async with Fleet.open(options.get("workers", 2), parts=options.get("parts", True)) as fleet:
            yield fleet


def _is_ours(node: pytest.Collector | pytest.Item) -> bool:
    """Tell whether `fleet` means our fixture to a test, and not one of its own."""
    definitions = node.session._fixturemanager.getfixturedefs("fleet", node) or ()
    return any(definition.func.__module__ == __name__ for definition in definitions[-1:])


def _options(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    marker = request.node.get_closest_marker("fleet")
    return marker.kwargs if marker is not None else {}


if HAS_ASYNCIO:
    import pytest_asyncio

    fleet = pytest_asyncio.fixture(name="fleet")(_fleet)
else:

    @pytest.fixture
    def fleet() -> None:
        """Say what is missing."""
        pytest.fail(MISSING, pytrace=False)
