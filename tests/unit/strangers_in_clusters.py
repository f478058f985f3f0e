"""What every test of controllers has without asking: strangers in its clusters, whom nobody may touch."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from fleetqueue.api.meta import Object
from fleetqueue.api.requests import Request
from fleetqueue.api.scheme import Manifest
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.fleet import Fleet
from tests.invariants.strangers import Stranger, everybody

NewApi = Callable[[], ArrangedApi]
Known = list[tuple[Stranger, Manifest]]


@pytest.fixture
def counted() -> Sequence[type[Object]]:
    """The kinds of which the tests of a package count all that there are: no stranger is of them."""
    return ()


@pytest.fixture
def new_api(new_api: NewApi, judge: str, counted: Sequence[type[Object]]) -> Iterator[NewApi]:
    """Make the API of one more cluster, with strangers in it."""
    made: list[tuple[ArrangedApi, Known]] = []

    def make() -> ArrangedApi:
        api = new_api()
        made.append((api, arrived(api, counted) if judge == "embedded" else []))
        return api

    yield make
    for api, known in made:
        check(api, known)


@pytest.fixture
def broken(request: pytest.FixtureRequest) -> list[str]:
    """Name the invariants that the test breaks on purpose: `@pytest.mark.breaks(ONCE, why="...")`."""
    return [mark.args[0] for mark in request.node.iter_markers("breaks")]


@pytest.fixture(autouse=True)
def strangers_of_the_fleet(request: pytest.FixtureRequest, counted: Sequence[type[Object]]) -> Iterator[None]:
    """Let strangers be in every cluster of a fleet too."""
    fleet = request.getfixturevalue("fleet") if "fleet" in request.fixturenames else ()
    known = [(cluster, arrived(cluster, counted)) for cluster in (fleet if isinstance(fleet, Fleet) else ())]
    yield
    for cluster, some in known:
        check(cluster, some)


def arrived(api: ArrangedApi, counted: Sequence[type[Object]]) -> Known:
    """Put strangers into a cluster, where they are in nobody's way."""
    left_out = [kind.resource for kind in counted]
    some = [one for one in everybody() if one.namespace in ("", "kueue-system") and one.resource not in left_out]
    api.add(*(stranger.manifest for stranger in some))
    return [(stranger, made) for stranger in some if (made := look_at(api, stranger))]


def check(api: ArrangedApi, known: Known) -> None:
    touched = [stranger.touched(before, look_at(api, stranger)) for stranger, before in known]
    assert not any(touched), "\n".join(filter(None, touched))


def look_at(api: ArrangedApi, stranger: Stranger) -> Manifest | None:
    answer = api.server.ask(Request("GET", stranger.resource.path(stranger.namespace, stranger.name), {}))
    return answer.body if answer.status == 200 else None
