"""Events say a thing once, about the right object, and never stand in the way."""

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event
from fleetqueue.client import Client
from fleetqueue.runtime.events import MAX_NOTE, QUIET_SECONDS, Recorder
from fleetqueue.testing.virtual_time import advance


@pytest.fixture
def recorder(api):
    return Recorder(Client(api))


def workload(name="w", uid="u1"):
    raw = kueue.Workload.manifest(name, "team-a")
    raw["metadata"] |= {"uid": uid, "resourceVersion": "7"}
    return kueue.Workload.view(raw)


def events(api):
    return [api.raw(Event, event.name, event.namespace) for event in api.list(Event)]


async def test_an_event_says_what_happened_to_whom(api, recorder):
    await recorder.normal(workload(), "Nominated", "cluster c1 was nominated")

    (event,) = events(api)
    assert event["metadata"]["namespace"] == "team-a"
    assert event["metadata"]["name"].startswith("w.")
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Nominated", "Nominated")
    assert event["note"] == "cluster c1 was nominated"
    assert event["eventTime"] == f"{clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"
    assert event["regarding"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "name": "w",
        "namespace": "team-a",
        "uid": "u1",
        "resourceVersion": "7",
    }


async def test_an_event_names_the_part_that_says_it(api):
    await Recorder(Client(api), "placement-controller", "placement-controller-0").normal(workload(), "Nominated", "c1")

    (event,) = events(api)
    assert event["reportingController"] == "placement-controller"
    assert event["reportingInstance"] == "placement-controller-0"


async def test_an_event_about_a_cluster_wide_object_is_kept_in_default(api, recorder):
    await recorder.warning(kueue.AdmissionCheck.view(kueue.AdmissionCheck.manifest("ac")), "NoClusters", "none")

    (event,) = events(api)
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["regarding"]
    assert event["type"] == "Warning"


async def test_the_same_sentence_is_said_once_in_ten_minutes(api, recorder):
    for _ in range(10):
        await recorder.normal(workload(), "Nominated", "c1")
        await advance(QUIET_SECONDS / 10)
    within = len(events(api))

    await recorder.normal(workload(), "Nominated", "c1")

    assert (within, len(events(api))) == (1, 2)


@pytest.mark.parametrize(
    ("about", "reason", "note"),
    [
        pytest.param(workload(), "Nominated", "c2", id="another note"),
        pytest.param(workload(), "Placed", "c1", id="another reason"),
        pytest.param(workload(uid="u2"), "Nominated", "c1", id="another object of that name"),
    ],
)
async def test_another_sentence_is_said_at_once(api, recorder, about, reason, note):
    await recorder.normal(workload(), "Nominated", "c1")

    await recorder.normal(about, reason, note)

    assert len(events(api)) == 2


@pytest.mark.parametrize("failure", [errors.Forbidden("events is forbidden"), errors.Unreachable("refused")])
async def test_an_event_that_cannot_be_written_stops_nothing(api, recorder, failure):
    api.fail_on("create events/*", failure)

    await recorder.normal(workload(), "Nominated", "c1")

    assert events(api) == []


@pytest.mark.parametrize("letter", ["x", "集"])
async def test_a_long_note_is_cut_to_the_bytes_that_kubernetes_takes(api, recorder, letter):
    await recorder.normal(workload(), "Nominated", letter * 2000)

    (event,) = events(api)
    assert MAX_NOTE - 10 <= len(event["note"].encode()) <= MAX_NOTE
    assert event["note"].endswith(" ...")


@pytest.mark.parametrize("name", ["w" * 253, "w" * 199 + "-" + "w" * 50, "w" * 199 + "." + "w" * 50])
async def test_an_object_with_a_long_name_gets_an_event_with_a_valid_name(api, recorder, name):
    await recorder.normal(workload(name), "Nominated", "c1")

    (event,) = events(api)
    assert len(event["metadata"]["name"]) <= 253
    assert event["regarding"]["name"] == name


async def test_what_was_said_long_ago_is_forgotten(api, recorder):
    for number in range(100):
        await recorder.normal(workload(), "Nominated", f"c{number}")
        await advance(QUIET_SECONDS)

    assert len(recorder._said) <= 2
