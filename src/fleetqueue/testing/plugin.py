"""The pytest plugin: the fixtures `fleet` (virtual time, no sockets) and `live_fleet` (real time, over TLS).

It comes with the package. What it needs is imported by the first test that asks for a fleet.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from fleetqueue.testing.fleet import Fleet
    from fleetqueue.testing.live_fleet import LiveFleet

MISSING: Final = "the fixture `fleet` needs pytest-asyncio 1.4 or newer: pip install 'pytest-asyncio>=1.4'"
NOT_ASYNC: Final = "a test that uses the fixture `fleet` must be `async def`; `live_fleet` is for others"
HAS_ASYNCIO = find_spec("pytest_asyncio") is not None
OPTIONS: Final[Mapping[str, Any]] = {"workers": 2, "scenario": "none", "seed": 0}
"""What the marker can say, and what is so without it."""
LoopFactories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "fleet(workers=2, scenario='none', seed=0): how many workers the fixtures `fleet` and `live_fleet` have, what "
        "is on them ('none', 'multikueue'; for `fleet` also 'api'), and the seed of all chance in `fleet`",
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
    return int(_options(request, "api", "none", "multikueue")["seed"])


async def _fleet(request: pytest.FixtureRequest, fleet_seed: int) -> AsyncIterator["Fleet"]:
    """A hub and two workers in this process, with nothing on them, on a clock that the test moves.

    `@pytest.mark.fleet(workers=9, scenario="multikueue", seed=3)` makes it another one.
    """
    from fleetqueue.testing.fleet import Fleet
    from fleetqueue.testing.virtual_time import VirtualTimeLoop

    if not isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
        pytest.fail(MISSING if inspect.iscoroutinefunction(request.function) else NOT_ASYNC, pytrace=False)
    options = _options(request, "api", "none", "multikueue")
    async with Fleet.open(options["workers"], scenario=options["scenario"], seed=fleet_seed) as fleet:
        yield fleet


@pytest.fixture
def live_fleet(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator["LiveFleet"]:
    """A hub and two workers in a process of their own, over TLS and in real time, for any client and any program.

    `@pytest.mark.fleet(workers=9, scenario="multikueue")` makes it another one. KUBECONFIG is that of the fleet while
    the test runs.
    """
    from fleetqueue.testing.live_fleet import LiveFleet

    options = _options(request, "none", "multikueue")
    with LiveFleet.open(options["workers"], scenario=options["scenario"]) as fleet:
        monkeypatch.setenv("KUBECONFIG", str(fleet.kubeconfig))
        yield fleet


def _is_ours(node: pytest.Collector | pytest.Item) -> bool:
    """Tell whether `fleet` means our fixture to a test, and not one of its own."""
    definitions = node.session._fixturemanager.getfixturedefs("fleet", node) or ()
    return any(definition.func.__module__ == __name__ for definition in definitions[-1:])


def _options(request: pytest.FixtureRequest, *scenarios: str) -> Mapping[str, Any]:
    """Return what the markers of a test say, of its class and its module too; the nearest one counts."""
    options = dict(OPTIONS)
    for marker in reversed(list(request.node.iter_markers("fleet"))):
        if marker.args or marker.kwargs.keys() - OPTIONS.keys():
            pytest.fail(f"@pytest.mark.fleet takes these options by name: {', '.join(OPTIONS)}", pytrace=False)
        options.update(marker.kwargs)
    if options["scenario"] not in scenarios:
        pytest.fail(f"there is no scenario {options['scenario']!r} here, only {', '.join(scenarios)}", pytrace=False)
    return options


if HAS_ASYNCIO:
    import pytest_asyncio

    fleet = pytest_asyncio.fixture(name="fleet")(_fleet)
else:

    @pytest.fixture
    def fleet() -> None:
        """Say what is missing."""
        pytest.fail(MISSING, pytrace=False)
