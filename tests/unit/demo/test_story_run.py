"""StoryRun: expectations are waited for, written down, and the first that fails ends the story."""

import asyncio

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.demo.expectations import ExpectationFailed
from fleetqueue.demo.story_run import SingleRunMonitor, is_running
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import settle

from .conftest import job, workload


def check(name: str, status: str, reason: str, message: str = "") -> dict:
    conditions = [condition("Active", status, reason, message)]
    return kueue.AdmissionCheck.manifest(name, status={"conditions": conditions})


async def test_an_expectation_is_waited_for_and_written_down(story):
    asyncio.get_running_loop().call_later(3, lambda: story.hub.add(check("multikueue-demo1", "True", "Active")))

    await story.run.expect("S1-2", lambda: story.run.says(kueue.AdmissionCheck, "multikueue-demo1", "True", "Active"))

    (outcome,) = story.run.record.outcomes
    assert (outcome.id, outcome.held, outcome.seconds) == ("S1-2", True, 3.0)


async def test_an_expectation_that_fails_says_what_was_seen(story):
    with pytest.raises(ExpectationFailed, match=r"S1-2 did not hold.*not within 60 s; nothing there"):
        await story.run.expect("S1-2", lambda: False, why_not=lambda: "nothing there")

    assert not story.run.record.all_held


async def test_a_judgement_is_written_down_at_once(story):
    story.run.judge("K-1", True)

    with pytest.raises(ExpectationFailed, match="a second copy"):
        story.run.judge("ONCE", False, "a second copy")
    assert [outcome.held for outcome in story.run.record.outcomes] == [True, False]


@pytest.mark.parametrize(
    ("status", "reason", "message", "holds"),
    [
        pytest.param("True", "Active", "", True, id="whatever the message"),
        pytest.param("True", "Active", "fine", True, id="this message"),
        pytest.param("True", "Active", "other", False, id="another message"),
        pytest.param("False", "Active", "", False, id="another status"),
        pytest.param("True", "Other", "", False, id="another reason"),
    ],
)
async def test_says(story, status, reason, message, holds):
    story.hub.add(check("a", "True", "Active", "fine"))
    await settle()

    assert story.run.says(kueue.AdmissionCheck, "a", status, reason, message) is holds


@pytest.mark.parametrize(("generation", "holds"), [(1, True), (2, False)])
async def test_only_what_is_said_of_the_present_generation_counts(story, generation, holds):
    said = check("a", "True", "Active")
    said["status"]["conditions"][0]["observedGeneration"] = generation
    story.hub.add(said)
    await settle()

    assert story.run.says(kueue.AdmissionCheck, "a", "True", "Active") is holds


async def test_an_object_that_is_not_there_says_nothing(story):
    assert not story.run.says(kueue.AdmissionCheck, "a", "True", "Active")


def event(name: str, reason: str, note: str, *, ours: bool = True) -> dict:
    return Event.manifest(
        name,
        "default",
        reason=reason,
        note=note,
        eventTime=f"2026-01-01T00:00:0{name[-1]}.000000Z",
        reportingController="fleetqueue.dev/controller" if ours else "kueue",
        reportingInstance="fleetqueue-0",
        action=reason,
        type="Normal",
        regarding={"kind": "AdmissionCheck", "name": "gpu"},
    )


async def test_reasons_are_told_once_and_in_order(story):
    story.hub.add(event("e2", "DrainStarted", "c3 drains"), event("e1", "SelectionChanged", "selected c2"))
    story.hub.add(event("e3", "Other", "not ours", ours=False))
    await settle()

    await story.run.tell_why("gpu", reason="DrainStarted")
    story.hub.add(event("e4", "DrainEnded", "c3 is empty"))
    await story.run.tell_why("gpu", reason="DrainEnded")

    assert story.printer.reasons == [
        "AdmissionCheck gpu: selected c2",
        "AdmissionCheck gpu: c3 drains",
        "AdmissionCheck gpu: c3 is empty",
    ]


async def test_a_reason_that_never_comes_does_not_end_the_story(story):
    await story.run.tell_why("gpu", reason="DrainEnded")

    assert story.printer.reasons == []


async def test_a_command_is_told_with_what_it_reads_so_that_it_can_be_typed(story):
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n"

    await story.run.do("kubectl apply -f - --context kind-hub", stdin=manifest)
    await story.run.do("kubectl get configmaps -n ns --context kind-hub")

    assert story.printer.commands == [
        f"kubectl apply -f - --context kind-hub <<EOF\n{manifest}EOF",
        "kubectl get configmaps -n ns --context kind-hub",
    ]


def view(**kwargs) -> Job:
    return Job.view(job(**kwargs))


RUNS, WAITS, ENDED = view(suspend=False), view(suspend=True), view(suspend=False, complete=True)


@pytest.mark.parametrize(
    ("found", "runs"),
    [
        pytest.param(RUNS, True, id="unsuspended"),
        pytest.param(WAITS, False, id="suspended"),
        pytest.param(ENDED, False, id="ended"),
    ],
)
def test_is_running(found, runs):
    assert is_running(found) is runs


@pytest.mark.parametrize(
    ("changes", "doubles"),
    [
        pytest.param([("a", None, RUNS), ("b", None, WAITS)], 0, id="one runs, one waits"),
        pytest.param([("a", None, RUNS), ("b", None, RUNS)], 1, id="both run"),
        pytest.param([("a", None, RUNS), ("a", RUNS, None), ("b", None, RUNS)], 0, id="one after the other"),
        pytest.param([("a", None, RUNS), ("a", RUNS, WAITS), ("b", None, RUNS)], 0, id="suspended before the other"),
        pytest.param([("a", None, RUNS), ("a", RUNS, ENDED), ("b", None, RUNS)], 0, id="ended before the other"),
        pytest.param([("a", None, RUNS), ("a", RUNS, RUNS)], 0, id="the same copy, changed"),
        pytest.param([("a", None, RUNS), ("b", None, RUNS), ("a", RUNS, None)], 1, id="for a moment only"),
    ],
)
def test_doubles_are_remembered(changes, doubles):
    monitor = SingleRunMonitor()

    for cluster, old, new in changes:
        monitor.see(cluster, old, new)

    assert len(monitor.doubles) == doubles


def test_copies_that_are_gone_are_remembered():
    monitor, copy = SingleRunMonitor(), kueue.Workload.view(workload("w"))

    monitor.see("a", None, copy)
    monitor.see("b", None, copy)
    monitor.see("b", copy, None)

    assert monitor.copies == {"default/w": {"a", "b"}}
