"""Events have two faces: whoever looks sees all of them, with the face that was asked for."""

import asyncio

import pytest

from fleetqueue.embedded.apiserver.registry.builtin import built_in
from fleetqueue.embedded.apiserver.registry.deletion import DeleteOptions
from fleetqueue.embedded.apiserver.registry.list_options import list_options
from tests.unit.embedded.apiserver.registry.conftest import a_write

pytestmark = pytest.mark.virtual_time

FACES = {served.resource.group: served for served in built_in() if served.resource.plural == "events"}
OLD, NEW = FACES[""], FACES["events.k8s.io"]
ABOUT = {"kind": "Pod", "namespace": "ns", "name": "p"}


@pytest.fixture
async def both(store):
    """One event of each face."""
    old = {"metadata": {"name": "old"}, "involvedObject": ABOUT, "reason": "Started", "message": "m", "count": 2}
    new = {
        "metadata": {"name": "new"},
        "regarding": ABOUT,
        "reason": "Started",
        "note": "n",
        "type": "Normal",
        "action": "Start",
        "eventTime": "2024-01-02T03:04:05.123456Z",
        "reportingController": "example.dev/c",
        "reportingInstance": "c-1",
    }
    await store.create(OLD, "ns", old, a_write())
    await store.create(NEW, "ns", new, a_write())


@pytest.mark.parametrize(("face", "field"), [(OLD, "message"), (NEW, "note")])
async def test_a_list_has_all_with_one_face(reading, both, face, field):
    listed = await reading.list(face, "ns", list_options(face, {}))

    said = {entry.object["metadata"]["name"]: entry.object[field] for entry in listed.entries}
    assert said == {"old": "m", "new": "n"}
    assert {entry.object["apiVersion"] for entry in listed.entries} == {face.resource.api_version}


@pytest.mark.parametrize(
    ("face", "selector"), [(OLD, "involvedObject.name=p"), (NEW, "regarding.name=p"), (OLD, "reason=Started")]
)
async def test_a_field_selector_asks_the_face(reading, both, face, selector):
    listed = await reading.list(face, "ns", list_options(face, {"fieldSelector": selector}))

    assert len(listed.entries) == 2


async def test_a_watch_tells_changes_with_its_face(store, reading, both):
    events = reading.watch(NEW, "ns", list_options(NEW, {"resourceVersion": str(store.storage.revision)}, watch=True))
    following = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)

    await store.update(OLD, "ns", "old", lambda live: {**live, "count": 3}, a_write())

    event = await following
    assert (event.type, event.entry.object["deprecatedCount"]) == ("MODIFIED", 3)
    assert "count" not in event.entry.object
    await events.aclose()


async def test_an_event_goes_through_either_face(store, both):
    entry, is_gone = await store.delete(NEW, "ns", "old", DeleteOptions(), a_write())

    assert (entry.object["note"], is_gone) == ("m", True)
    assert store.storage.head(OLD.key("ns", "old")) is None
