"""What the hub is told of the fields of objects, and of rules over them."""

import pytest

from fleetqueue.api import work_v1 as work
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.embedded.ocm.work.condition_rules import evaluated
from fleetqueue.embedded.ocm.work.feedback import feedback
from fleetqueue.fleets.work_expressions import evaluate
from fleetqueue.testing.builders import ended_job
from fleetqueue.testing.virtual_time import advance

from .objects import config_map, config_of

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "status": {"replicas": 2, "readyReplicas": 1, "conditions": [{"type": "Available", "status": "True"}]},
}


def paths(**named):
    given = [work.JsonPath(name=name, path=path) for name, path in named.items()]
    return [work.FeedbackRule(type="JSONPaths", json_paths=tuple(given))]


@pytest.mark.parametrize(
    ("rules", "values", "status"),
    [
        pytest.param([], [], ("True", "NoStatusFeedbackSynced"), id="nothing is asked for"),
        pytest.param(
            [work.FeedbackRule(type="WellKnownStatus")],
            [("ReadyReplicas", 1), ("Replicas", 2)],
            ("True", "StatusFeedbackSynced"),
            id="well-known values, as far as they are there",
        ),
        pytest.param(
            paths(available='.status.conditions[?(@.type=="Available")].status', nothing=".status.nothing"),
            [("available", "True")],
            ("True", "StatusFeedbackSynced"),
            id="a filter, and a field that is missing",
        ),
        pytest.param(
            paths(whole=".status", ready=".status.readyReplicas"),
            [("ready", 1)],
            ("False", "StatusFeedbackSyncFailed"),
            id="a map is no value",
        ),
    ],
)
def test_feedback(rules, values, status):
    told, said = feedback(DEPLOYMENT, rules)

    found = [(each["name"], next(v for k, v in each["fieldValue"].items() if k != "type")) for each in told]
    assert found == values
    assert (said.status, said.reason) == status


def test_feedback_of_a_kind_without_well_known_values_is_an_error():
    _, said = feedback(config_map(), [work.FeedbackRule(type="WellKnownStatus")])

    what = "cannot find the wellknown statuses for resource with gvk /v1, Kind=ConfigMap"
    assert said.message == f"Sync status feedback failed with error {what}"


def rule(**parts):
    return work.ConditionRule(condition="Complete", **parts)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(
            rule(type="CEL", cel_expressions=("object.data.done == 'yes'",)),
            ("True", "ConditionRuleEvaluated", "Manifest is Complete"),
            id="an expression that holds",
        ),
        pytest.param(
            rule(type="CEL", cel_expressions=("nonsense",)),
            (
                "False",
                "ConditionRuleExpressionError",
                "ERROR: <input>:1:1: undeclared reference to 'nonsense' (in container '')\n | nonsense\n | ^",
            ),
            id="an expression that cannot be read",
        ),
        pytest.param(
            rule(type="CEL", cel_expressions=("'text'",)),
            ("False", "ConditionRuleExpressionError", "expected bool result, got string"),
            id="an expression that is no condition",
        ),
        pytest.param(
            rule(type="CEL", cel_expressions=("object.data.done == 'yes'",), message_expression="'all done'"),
            ("True", "ConditionRuleEvaluated", "all done"),
            id="a message by an expression",
        ),
        pytest.param(
            rule(type="Other"),
            ("Unknown", "ConditionRuleInvalid", "unrecognized condition rule type Other"),
            id="a kind of rule that nobody knows",
        ),
    ],
)
def test_condition_rules(given, said):
    [found] = evaluated(config_map(done="yes"), [given], evaluate, 3)

    assert (found.status, found.reason, found.message) == said
    assert found.observed_generation == 3


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        pytest.param("Job", {}, ("False", "Job is not finished"), id="a job that runs"),
        pytest.param(
            "Job", ended_job("Failed", "2026-01-01T00:00:00Z"), ("True", "Job is finished"), id="a job that failed"
        ),
        pytest.param("Pod", {"phase": "Running"}, ("False", "Pod is in phase Running"), id="a pod that runs"),
        pytest.param("Pod", {"phase": "Succeeded"}, ("True", "Pod is in phase Succeeded"), id="a pod that ended"),
    ],
)
def test_well_known_conditions(kind, status, said):
    obj = {"apiVersion": "batch/v1" if kind == "Job" else "v1", "kind": kind, "status": status}

    [found] = evaluated(obj, [rule(type="WellKnownConditions")], evaluate, 1)

    assert (found.status, found.message) == said


async def test_values_are_told_again_when_they_change(stage):
    asked = [{"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".data.a"}]}]
    stage.post(config_map(a="1"), manifestConfigs=[config_of("configmaps", "cm", feedbackRules=asked)])
    async with stage.agent():
        await advance(1)
        first = stage.values()
        stage.worker.apply_as("somebody", ConfigMap, "cm", "default", data={"a": "2"})
        await advance(20)
        second = stage.values()
        await stage.pass_minutes()  # until the agent puts right what somebody changed

    assert first == {"a": "1"}
    assert second == {"a": "2"}


async def test_values_that_are_watched_are_told_at_once(stage):
    asked = [{"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".data.a"}]}]
    config = config_of("configmaps", "cm", feedbackRules=asked, feedbackScrapeType="Watch")
    stage.post(config_map(a="1"), manifestConfigs=[config])
    async with stage.agent():
        await advance(2)
        stage.worker.change(ConfigMap, "cm", "default", data={"a": "2"})
        await advance(0.1)
        told = stage.values()
        watches = stage.worker.open_watches
        stage.change(manifestConfigs=[{**config, "feedbackScrapeType": "Poll"}])
        await advance(2)
        watches_later = stage.worker.open_watches

    assert told == {"a": "2"}
    assert watches_later == watches - 1


async def test_a_complete_work_is_not_applied_again(stage):
    rules = [{"condition": "Complete", "type": "CEL", "celExpressions": ["object.data.done == 'yes'"]}]
    stage.post(config_map(done="yes", a="1"), manifestConfigs=[config_of("configmaps", "cm", conditionRules=rules)])
    async with stage.agent():
        await advance(1)
        stage.worker.change(ConfigMap, "cm", "default", data={"a": "2"})
        await stage.pass_minutes(10)

    assert stage.said()["Complete"] == ("True", "ConditionRulesAggregated", "Manifest is Complete")
    assert stage.worker.get(ConfigMap, "cm", "default").data == {"done": "yes", "a": "2"}
