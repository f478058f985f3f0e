"""The way of a pod into another cluster follows what is mounted; a kubeconfig for somewhere else ends the program."""

import asyncio

import pytest
import yaml

from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.client import Client
from fleetqueue.embedded.nodes.programs import ProgramAccount, ProgramContext
from fleetqueue.fleets.pods.transports import MountedDoor, while_same
from fleetqueue.testing.virtual_time import settle

pytestmark = pytest.mark.virtual_time

PATH = "/hub/kubeconfig"
USER = {"client-certificate": "tls.crt", "client-key": "tls.key"}
REQUEST = Request("GET", "/version", {})


def files(certificate, server="https://hub"):
    config = {
        "clusters": [{"name": "hub", "cluster": {"server": server}}],
        "users": [{"name": "agent", "user": USER}],
        "contexts": [{"name": "c", "context": {"cluster": "hub", "user": "agent"}}],
        "current-context": "c",
    }
    content = {PATH: yaml.safe_dump(config), "/hub/tls.crt": certificate, "/hub/tls.key": "key"}
    return {path: text.encode() for path, text in content.items()}


class Hub:
    """A hub that notes who came."""

    def __init__(self):
        self.opened, self.closed, self.refuses = [], [], False

    def dial(self, connection):
        if self.refuses:
            raise errors.Unreachable("no way")
        shown = connection.client_certificate.decode()
        self.opened.append(shown)
        return Client(OneDoor(self, shown))


class OneDoor:
    def __init__(self, hub, shown):
        self.hub, self.shown = hub, shown

    async def request(self, request, *, timeout):
        return Response(200, self.shown)

    async def close(self):
        self.hub.closed.append(self.shown)


@pytest.fixture
def hub():
    return Hub()


@pytest.fixture
def place():
    return ProgramContext("ns", "pod", "main", (), (), {}, files("first"), ProgramAccount("ns", "a"), client=None)


async def who(door):
    return (await door.request(REQUEST, timeout=1)).body


async def test_a_renewed_certificate_is_shown_from_then_on(hub, place):
    door = MountedDoor(place, PATH, hub.dial)
    before = await who(door)
    place.refresh(files("second"))

    assert (before, await who(door), await who(door)) == ("first", "second", "second")
    assert (hub.opened, hub.closed) == (["first", "second"], ["first"])


async def test_other_files_that_change_open_nothing_anew(hub, place):
    door = MountedDoor(place, PATH, hub.dial)
    place.refresh({**place.files, "/else": b"x"})
    await who(door)

    assert hub.opened == ["first"]


async def test_a_certificate_that_is_missing_or_half_there_changes_nothing(hub, place):
    door = MountedDoor(place, PATH, hub.dial)
    place.refresh({path: content for path, content in place.files.items() if path != "/hub/tls.key"})

    assert await who(door) == "first"
    assert hub.opened == ["first"]


async def test_a_hub_that_cannot_be_opened_anew_is_tried_again(hub, place):
    door = MountedDoor(place, PATH, hub.dial)
    place.refresh(files("second"))
    hub.refuses = True
    with pytest.raises(errors.Unreachable):
        await who(door)
    hub.refuses = False

    assert await who(door) == "second"


@pytest.mark.parametrize(
    ("mounted", "ends"),
    [(files("second"), False), (files("first", server="https://another"), True)],
    ids=["another certificate", "another hub"],
)
async def test_a_program_ends_with_its_kubeconfig_and_not_with_its_certificate(place, mounted, ends):
    program = asyncio.create_task(while_same(place, PATH, asyncio.Event().wait()))
    await settle()
    place.refresh(mounted)
    await settle()
    ended = program.done()
    program.cancel()
    await asyncio.wait({program})

    assert ended is ends


async def test_a_program_that_fails_says_so(place):
    async def fail():
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await while_same(place, PATH, fail())
