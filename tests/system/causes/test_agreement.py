"""`explain` and our controllers never tell two stories of one job: a change of one wording alone is noticed.

That they agree is asked of every cause, in `Place.expect`.
"""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fleetqueue.admin import chains, check_causes, dispatch_causes, explanations, job_causes, placement_verdicts
from fleetqueue.admin.hub_state import EXPLAINING
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.testing.virtual_time import advance

from .agreement import NOMINATED, RUNS_ON_HUB, Told
from .world import ONLY_LAST, Place, mended, tell

# The first test plays all cases, one after the other on one fleet.
pytestmark = pytest.mark.timeout(300)

EVENTS = Path(__file__).parents[3] / "docs" / "en" / "reference" / "conditions-and-events.md"
NO_CAUSE = {
    "UnknownPolicy": "it warns of an annotation when the job is sent, and nothing waits for it",
    "Fenced": "the job may be nominated for another cluster from then on",
    "TakenBack": "the entry of our check says the same until Kueue has evicted it, and then Kueue says why it waits",
    "EvictionFinished": "it has got out of what it waited for",
}
"""Events on Workloads that are no reason why a job waits."""


async def placement_missing(place: Place) -> None:
    await place.hub.delete(cluster.Placement.resource, place.name, KUEUE_NAMESPACE)
    await place.submit()
    await place.expect("PlacementMissing")
    (placement,) = [one for one in place.checks() if one["kind"] == "Placement"]
    await place.hub.create(cluster.Placement.resource, placement)


async def parameters_invalid(place: Place) -> None:
    await place.patch(kueue.AdmissionCheck, place.name, {"spec": {"parameters": None}})
    await place.submit()
    await place.expect("CheckParametersInvalid")
    await place.do_as_told()


async def set_empty(place: Place) -> None:
    await place.patch_placement({"numberOfClusters": 0})
    await place.submit()
    await place.expect("NumberIsZero")
    await place.patch_placement({"numberOfClusters": None})


async def queue_stopped(place: Place) -> None:
    await place.patch_queue({"stopPolicy": "Hold"}, *place.workers)
    await place.submit()
    await place.expect("WorkerQueueStopped", within=120)
    await place.patch_queue({"stopPolicy": "None"}, *place.workers)


async def quota_short(place: Place) -> None:
    await place.patch_placement(ONLY_LAST)
    await place.patch_queue(place.quota("90"))
    await place.submit("first", cpu="4", run_for="300s")
    await advance(60)
    await place.submit(cpu="2")
    await place.expect("WorkerQuotaShort")


async def runs_on_hub(place: Place) -> None:
    await place.patch_queue({"admissionChecksStrategy": {"admissionChecks": [{"name": place.name}]}})
    await place.submit()
    await place.expect("RunsOnHub")
    await place.patch_queue(
        {"admissionChecksStrategy": {"admissionChecks": [{"name": place.name}, {"name": f"{place.name}-mk"}]}}
    )
    await place.submit_again()


CASES = {
    case.__name__: case
    for case in (placement_missing, parameters_invalid, set_empty, queue_stopped, quota_short, runs_on_hub)
}
PLANTED = {
    "placement_missing": (placement_verdicts, "no_placement", lambda name, namespace: "nobody has made it"),
    "parameters_invalid": (check_causes.messages, "bad_parameters", lambda: ("InvalidParameters", "name a Placement")),
    "set_empty": (chains, "message_of", lambda conditions, kind: "no cluster at all"),
    "queue_stopped": (dispatch_causes, "_once", lambda said, note: "its queue is stopped"),
    "quota_short": (explanations, "_said_of_members", lambda workload, hub: {}),
    "runs_on_hub": (job_causes.messages, "runs_on_hub", lambda: "it runs here"),
}
"""By case: a function of `explain` that words it otherwise than the controllers did."""


@pytest.fixture(scope="module")
def told():
    return tell({name: partial(mended, case) for name, case in CASES.items()})


@pytest.fixture(params=CASES)
def moment(told, request):
    """A job that waits, with what was told of it."""
    seen = told[request.param]
    if isinstance(seen, Exception):
        raise seen
    return seen[0].moment


def test_what_the_controllers_tell_stands_in_what_explain_says(moment):
    assert moment.told
    assert moment.unsaid() == []


def test_a_change_of_the_controllers_words_alone_is_noticed(moment):
    others = [Told(one.by, f"rephrased: {one.text}") for one in moment.told]

    assert replace(moment, told=others).unsaid() == others


def test_a_change_of_the_words_of_explain_alone_is_noticed(moment, request, monkeypatch):
    where, name, words = PLANTED[request.node.callspec.params["moment"]]
    monkeypatch.setattr(where, name, words)

    assert moment.unsaid() != []


def test_other_words_of_the_dispatcher_are_not_known_to_explain_as_the_same_cause(monkeypatch):
    """The cause is known by parts of the message, which both have from one place."""
    monkeypatch.setattr(messages, "queue_stopped", lambda queue: f"nobody is let into {queue.name}")

    seen = tell({"other_words": partial(mended, queue_stopped)})["other_words"]

    assert isinstance(seen, AssertionError)


def test_every_event_on_a_workload_is_read_by_explain_or_no_reason_to_wait():
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]+) \|", EVENTS.read_text(), re.MULTILINE)
    on_workloads = {reason for reason, on in rows if on.startswith("Workload") and on != "Workload on a worker"}

    assert on_workloads == {*EXPLAINING, NOMINATED, RUNS_ON_HUB, *NO_CAUSE}
