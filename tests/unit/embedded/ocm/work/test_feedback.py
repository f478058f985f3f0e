"""What the hub is told of the fields of objects, and of rules over them."""

import pytest

from fleetqueue.api import work_v1 as work
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.embedded.ocm.work.feedback import feedback
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


async def test_values_are_told_again_when_they_change(env):
    asked = [{"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".data.a"}]}]
    env.post(config_map(a="1"), manifestConfigs=[config_of("configmaps", "cm", feedbackRules=asked)])
    async with env.agent():
        await advance(1)
        first = env.values()
        env.worker.apply_as("somebody", ConfigMap, "cm", "default", data={"a": "2"})
        await advance(20)
        second = env.values()
        await env.pass_minutes()  # until the agent puts right what somebody changed

    assert first == {"a": "1"}
    assert second == {"a": "2"}


async def test_values_that_are_watched_are_told_at_once(env):
    asked = [{"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".data.a"}]}]
    config = config_of("configmaps", "cm", feedbackRules=asked, feedbackScrapeType="Watch")
    env.post(config_map(a="1"), manifestConfigs=[config])
    async with env.agent():
        await advance(2)
        env.worker.change(ConfigMap, "cm", "default", data={"a": "2"})
        await advance(0.1)
        told = env.values()
        watches = env.worker.open_watches
        env.change(manifestConfigs=[{**config, "feedbackScrapeType": "Poll"}])
        await advance(2)
        watches_later = env.worker.open_watches

    assert told == {"a": "2"}
    assert watches_later == watches - 1


async def test_a_complete_work_is_not_applied_again(env):
    rules = [{"condition": "Complete", "type": "CEL", "celExpressions": ["object.data.done == 'yes'"]}]
    env.post(config_map(done="yes", a="1"), manifestConfigs=[config_of("configmaps", "cm", conditionRules=rules)])
    async with env.agent():
        await advance(1)
        env.worker.change(ConfigMap, "cm", "default", data={"a": "2"})
        await env.pass_minutes(10)

    assert env.said()["Complete"] == ("True", "ConditionRulesAggregated", "Manifest is Complete")
    assert env.worker.get(ConfigMap, "cm", "default").data == {"done": "yes", "a": "2"}
