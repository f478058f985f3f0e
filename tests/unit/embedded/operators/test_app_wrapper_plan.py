"""What becomes of an AppWrapper next."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.operators import app_wrapper_plan as plans
from fleetqueue.embedded.operators.app_wrapper_components import BadComponent, component_object
from fleetqueue.embedded.operators.app_wrapper_status import patience

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOTE = "workload.codeflare.dev.appwrapper/"
PODS = {"metadata": {"labels": {"mine": "yes"}}, "spec": {"containers": [], "tolerations": [{"key": "a"}]}}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"parallelism": 2, "template": PODS}}


def condition(kind, status="True", ago=0):
    since = (NOON - timedelta(seconds=ago)).isoformat()
    return {"type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": since}


def wrapper(phase="Running", *conditions, annotations=None, component="True", infos=None, **status):
    spec = {"components": [{"template": JOB, **({"podSetInfos": infos} if infos else {})}]}
    of_component = {
        "name": "j",
        "kind": "Job",
        "apiVersion": "batch/v1",
        "podSets": [{"path": "template.spec.template", "replicas": 2}],
        "conditions": [condition("ResourcesDeployed", component)],
    }
    told = [condition("ResourcesDeployed", ago=30), condition("Unhealthy", "False", ago=30), *conditions]
    told = [*{one["type"]: one for one in told}.values()]
    metadata = {"name": "w", "namespace": "ns", "uid": "u", "annotations": annotations or {}}
    whole = {"phase": phase, "conditions": told, "componentStatus": [of_component], **status}
    return {"metadata": metadata, "spec": spec, "status": whole}


def pods(*phases):
    return [Pod.view({"metadata": {"name": "p"}, "status": {"phase": phase}}) for phase in phases]


def job(**condition_status):
    told = [{"type": kind, "status": status} for kind, status in condition_status.items()]
    return {**JOB, "status": {"conditions": told}}


def told(plan):
    return {one["type"]: f"{one['status']} {one['reason']}" for one in plan.status["conditions"]}


@pytest.mark.parametrize(
    ("raw", "seen", "phase", "says", "again_in"),
    [
        pytest.param(
            wrapper(),
            plans.Seen([job()], pods("Running", "Succeeded")),
            "Running",
            "True SufficientPodsReady",
            60,
            id="ready",
        ),
        pytest.param(wrapper(), plans.Seen([job()], pods("Running")), "Running", None, 5, id="pods are missing"),
        pytest.param(
            wrapper("Running", condition("PodsReady")),
            plans.Seen([job()], pods("Running", "Pending")),
            "Running",
            "False InsufficientPodsReady",
            5,
            id="a pod is not ready any more",
        ),
        pytest.param(
            wrapper(), plans.Seen([job()], pods("Succeeded", "Succeeded")), "Succeeded", None, None, id="all succeeded"
        ),
        pytest.param(
            wrapper(), plans.Seen([job()], pods("Succeeded", "Failed")), "Running", None, 5, id="a pod failed"
        ),
        pytest.param(
            wrapper(), plans.Seen([None], pods("Running")), "Failed", None, None, id="a component was deleted"
        ),
        pytest.param(wrapper(), plans.Seen([job(Failed="True")], []), "Resetting", None, None, id="a component failed"),
        pytest.param(
            wrapper(resettingCount=3), plans.Seen([job(Failed="True")], []), "Failed", None, None, id="once too often"
        ),
        pytest.param(
            wrapper(annotations={f"{NOTE}retryLimit": "0"}),
            plans.Seen([job(Failed="True")], []),
            "Failed",
            None,
            None,
            id="no other try is wanted",
        ),
        pytest.param(
            wrapper("Running", condition("Unhealthy", ago=61)),
            plans.Seen([job()], pods("Failed")),
            "Resetting",
            None,
            None,
            id="failed pods for too long",
        ),
        pytest.param(
            wrapper("Running", condition("ResourcesDeployed", ago=61)),
            plans.Seen([job()], pods("Running")),
            "Resetting",
            None,
            None,
            id="pods are missing for too long",
        ),
        pytest.param(
            wrapper("Running", condition("ResourcesDeployed", ago=61)),
            plans.Seen([job()], pods("Running", "Pending")),
            "Running",
            None,
            5,
            id="pods start for as long",
        ),
    ],
)
def test_one_that_runs(raw, seen, phase, says, again_in):
    plan = plans.running(raw, seen, NOON)

    assert (plan.status["phase"], told(plan).get("PodsReady"), plan.again_in) == (phase, says, again_in)


def test_one_that_succeeded_gives_its_quota_back_and_keeps_what_it_made():
    plan = plans.running(
        wrapper("Running", condition("QuotaReserved")), plans.Seen([job()], pods("Succeeded") * 2), NOON
    )

    assert told(plan)["QuotaReserved"] == "False Succeeded"
    assert told(plan)["ResourcesDeployed"] == "True Succeeded"


def test_before_components_are_made_it_is_written_which():
    raw = wrapper("Resuming", component="False")

    plan = plans.begins_to_make(raw, NOON)

    assert plan.status["componentStatus"][0]["conditions"][0]["status"] == "Unknown"
    assert plans.begins_to_make({**raw, "status": plan.status}, NOON) is None
    assert plans.unmade({**raw, "status": plan.status}) == [0]


@pytest.mark.parametrize(
    ("raw", "outcome", "phase", "again_in"),
    [
        pytest.param(wrapper("Resuming"), {"names": {0: "j"}, "problem": ""}, "Running", None, id="made"),
        pytest.param(wrapper("Resuming"), {"names": {}, "problem": "busy"}, "Resuming", 1, id="not yet"),
        pytest.param(
            wrapper("Resuming", condition("ResourcesDeployed", ago=61)),
            {"names": {}, "problem": "busy"},
            "Resetting",
            None,
            id="not for too long",
        ),
        pytest.param(
            wrapper("Resuming"), {"names": {}, "problem": "bad", "is_fatal": True}, "Failed", None, id="never"
        ),
    ],
)
def test_after_components_were_made_or_not(raw, outcome, phase, again_in):
    plan = plans.made(raw, **outcome, now=NOON)

    assert (plan.status["phase"], plan.again_in) == (phase, again_in)


def test_a_component_that_was_refused_is_not_there_and_is_not_written_again():
    raw = wrapper("Resuming", component="Unknown")

    plan = plans.made(raw, {}, "no", NOON, refused=0)
    refused = {**raw, "status": plan.status}

    assert plan.status["componentStatus"][0]["conditions"][0]["status"] == "False"
    assert plans.unmade(refused) == [0]
    assert plans.begins_to_make(refused, NOON) is None


@pytest.mark.parametrize(
    ("phase", "after", "quota"),
    [
        pytest.param("Suspending", "Suspended", "False Suspended", id="it was suspended"),
        pytest.param("Resetting", "Resetting", "True R", id="it is tried again"),
        pytest.param("Failed", "Failed", "False Failed", id="it failed"),
        pytest.param("Succeeded", "Succeeded", "True R", id="it succeeded some time ago"),
        pytest.param("Terminating", "Terminating", "False Terminating", id="it goes"),
    ],
)
def test_when_nothing_is_left_of_components(phase, after, quota):
    raw = wrapper(phase, condition("QuotaReserved"), condition("PodsReady"))

    some_left, all_gone = plans.unmade_after(raw, [0], 1, NOON), plans.unmade_after(raw, [0], 0, NOON)

    assert (told(some_left)["DeletingResources"], some_left.again_in) == ("True DeletionInitiated", 5)
    assert told(some_left)["ResourcesDeployed"] == "True R"
    assert told(all_gone)["DeletingResources"] == "False DeletionComplete"
    assert told(all_gone)["ResourcesDeployed"].startswith("False")
    assert (all_gone.status["phase"], told(all_gone)["QuotaReserved"]) == (after, quota)


@pytest.mark.parametrize(
    ("raw", "again_in"),
    [
        pytest.param(wrapper("Suspending"), None, id="suspended: at once"),
        pytest.param(wrapper("Failed"), None, id="failed: at once"),
        pytest.param(
            wrapper("Failed", annotations={f"{NOTE}deletionOnFailureGracePeriodDuration": "2m"}),
            120,
            id="failed: later",
        ),
        pytest.param(wrapper("Succeeded", annotations={f"{NOTE}successTTLDuration": "1m"}), 30, id="succeeded: later"),
        pytest.param(wrapper("Succeeded", annotations={f"{NOTE}successTTLDuration": "10s"}), None, id="succeeded: now"),
    ],
)
def test_how_long_components_stay(raw, again_in):
    plan = plans.waits_to_delete(raw, NOON)

    assert (None if plan is None else plan.again_in) == again_in


def test_another_try_comes_after_a_pause():
    soon = plans.reset(wrapper("Resetting", condition("Unhealthy", ago=30)), NOON)
    late = plans.reset(wrapper("Resetting", condition("Unhealthy", ago=91)), NOON)

    assert (soon.status["phase"], soon.again_in) == ("Resetting", 60)
    assert (late.status["phase"], told(late)["ResourcesDeployed"]) == ("Resuming", "True Resuming")


@pytest.mark.parametrize(("ago", "is_forced"), [(599, False), (600, True)])
def test_what_does_not_go_is_forced_after_some_time(ago, is_forced):
    assert plans.forces(wrapper("Suspending", condition("DeletingResources", ago=ago)), NOON) is is_forced


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("odd", 60), ("-1s", 0)])
def test_patience_is_what_an_annotation_says(text, seconds):
    period = "failureGracePeriodDuration"

    assert patience(wrapper(annotations={f"{NOTE}{period}": text}), period) == seconds


def test_a_component_is_made_with_what_its_pods_are_given():
    info = {
        "labels": {"l": "v"},
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "b"}],
        "schedulingGates": [{"name": "g"}],
    }

    obj = component_object(wrapper(infos=[info]), 0)

    template = obj["spec"]["template"]
    assert obj["metadata"]["labels"] == {"workload.codeflare.dev/appwrapper": "w"}
    assert [owner["uid"] for owner in obj["metadata"]["ownerReferences"]] == ["u"]
    assert template["metadata"]["labels"] == {"mine": "yes", "l": "v", "workload.codeflare.dev/appwrapper": "w"}
    assert template["spec"]["nodeSelector"] == {"zone": "a"}
    assert template["spec"]["tolerations"] == [{"key": "a"}, {"key": "b"}]
    assert template["spec"]["schedulingGates"] == [{"name": "g"}]


def test_a_component_that_contradicts_what_its_pods_are_given_cannot_be_made():
    with pytest.raises(BadComponent, match="conflict updating labels: conflict for key=mine, value1=yes, value2=no"):
        component_object(wrapper(infos=[{"labels": {"mine": "no"}}]), 0)
