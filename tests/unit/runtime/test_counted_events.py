"""Events that repeat: counted as kube-controller-manager does, or as a series as the scheduler does."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.events_v1 import Event
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.runtime.counted_events import BURST, DIFFERENT, EVENTS, REFILL_SECONDS, REMEMBERED, CountingRecorder
from fleetqueue.runtime.events import SERIES_SECONDS, SeriesRecorder
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def client():
    server = await new_server(Secrets(tokens={"admin": User("admin", (MASTERS,))}))
    return Client(InProcessDoor(server, RequestCredentials(token="admin")))


@pytest.fixture
def counting(client):
    return CountingRecorder(client, "job-controller")


@pytest.fixture
def scheduler(client):
    return SeriesRecorder(client, "default-scheduler")


def a_pod(name="pod", uid="u1", version="7"):
    raw = core.Pod.manifest(name, "default")
    raw["metadata"] |= {"uid": uid, "resourceVersion": version}
    return core.Pod.view(raw)


async def written(client, resource=EVENTS):
    return (await client.list(resource, "default")).items


# Counted


async def test_an_event_is_written_with_core_v1_in_the_name_of_its_component(client, counting):
    await counting.normal(a_pod(), "Created", "Container created", part="spec.containers{main}")

    (event,) = await written(client)
    assert event["metadata"]["name"].startswith("pod.")
    assert {field: event[field] for field in event if field not in ("apiVersion", "kind", "metadata")} == {
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "pod",
            "namespace": "default",
            "uid": "u1",
            "resourceVersion": "7",
            "fieldPath": "spec.containers{main}",
        },
        "type": "Normal",
        "reason": "Created",
        "message": "Container created",
        "source": {"component": "job-controller"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "eventTime": None,
        "reportingComponent": "job-controller",
        "reportingInstance": "",
    }


async def test_a_kubelet_names_its_node(client):
    await CountingRecorder(client, "kubelet", "node-1").warning(a_pod(), "BackOff", "later")

    (event,) = await written(client)
    assert event["source"] == {"component": "kubelet", "host": "node-1"}
    assert event["reportingInstance"] == "node-1"


async def test_what_repeats_is_counted(client, counting):
    for _ in range(3):
        await counting.warning(a_pod(), "FailedCreate", "exceeded quota")
        await advance(60)

    (event,) = await written(client)
    assert event["count"] == 3
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z")


async def test_an_event_that_the_server_has_forgotten_is_written_anew_with_its_count(client, counting):
    await counting.normal(a_pod(), "R", "n")
    await client.delete_collection(EVENTS, "default")

    await counting.normal(a_pod(), "R", "n")

    (event,) = await written(client)
    assert event["count"] == 2


async def test_many_sentences_with_one_reason_are_summed_up(client, counting):
    for number in range(DIFFERENT + 3):
        await counting.normal(a_pod(), "SuccessfulCreate", f"Created pod: {number}")

    events = await written(client)
    (combined,) = [event for event in events if event["message"].startswith("(combined")]
    assert len(events) == DIFFERENT
    assert combined["count"] == 4
    assert combined["message"] == "(combined from similar events): Created pod: 12"


async def test_after_ten_minutes_sentences_stand_for_themselves_again(client, counting):
    for number in range(DIFFERENT - 1):
        await counting.normal(a_pod(), "R", str(number))
    await advance(601)

    await counting.normal(a_pod(), "R", "another")

    assert "another" in [event["message"] for event in await written(client)]


async def test_about_one_object_only_so_much_is_said(client, counting):
    for number in range(BURST + 10):
        await counting.warning(a_pod(), f"Reason{number}", "n")
    within = len(await written(client))
    await counting.warning(a_pod("other", "u2"), "R", "n")
    await counting.normal(a_pod(), "R", "n")
    await advance(REFILL_SECONDS)
    await counting.warning(a_pod(), "Late", "n")

    assert within == BURST
    assert len(await written(client)) == BURST + 3


async def test_what_is_remembered_is_bounded(client, counting):
    for number in range(REMEMBERED + 10):
        await counting.normal(a_pod(uid=str(number)), "R", "n")

    assert len(counting._counted) == len(counting._similar) == len(counting._allowances) == REMEMBERED


# Series


async def test_the_second_time_makes_a_series(client, scheduler):
    for _ in range(2):
        await scheduler.warning(a_pod(), "FailedScheduling", "no node", action="Scheduling")
        await advance(10)

    (event,) = await written(client, Event.resource)
    assert (event["reportingController"], event["reportingInstance"]) == ("default-scheduler", "default-scheduler")
    assert (event["reason"], event["action"], event["note"]) == ("FailedScheduling", "Scheduling", "no node")
    assert event["series"] == {"count": 2, "lastObservedTime": "2026-01-01T00:00:10.000000Z"}


async def test_further_times_are_counted_and_written_now_and_then(client, scheduler):
    for _ in range(80):
        await scheduler.warning(a_pod(), "FailedScheduling", "no node")
        await advance(10)

    (event,) = await written(client, Event.resource)
    assert event["series"]["count"] == 2 + 2 * SERIES_SECONDS // 10


async def test_another_version_of_the_object_is_another_event(client, scheduler):
    await scheduler.warning(a_pod(version="7"), "FailedScheduling", "no node")
    await scheduler.warning(a_pod(version="8"), "FailedScheduling", "no node")

    assert len(await written(client, Event.resource)) == 2


async def test_after_a_silence_a_series_has_ended(client, scheduler):
    await scheduler.warning(a_pod(), "FailedScheduling", "no node")
    await advance(SERIES_SECONDS + 1)
    await scheduler.warning(a_pod(), "FailedScheduling", "no node")

    assert [event.get("series") for event in await written(client, Event.resource)] == [None, None]
    assert len(scheduler._series) == 1


async def test_a_series_that_the_server_has_forgotten_is_written_anew(client, scheduler):
    await scheduler.normal(a_pod(), "R", "first")
    (first,) = await written(client, Event.resource)
    await client.delete_collection(EVENTS, "default")
    await advance(10)

    await scheduler.normal(a_pod(), "R", "second")

    (event,) = await written(client, Event.resource)
    assert event["series"]["count"] == 2
    assert (event["note"], event["eventTime"]) == ("first", first["eventTime"])
    assert event["metadata"]["name"] == first["metadata"]["name"]


@pytest.mark.parametrize("kind", [CountingRecorder, SeriesRecorder])
async def test_an_event_that_cannot_be_written_stops_nothing(kind):
    class Cut:
        async def request(self, request, *, timeout):
            raise errors.Unreachable("cut")

    recorder = kind(Client(Cut()), "job-controller")

    for _ in range(3):
        await recorder.normal(a_pod(), "R", "n")
