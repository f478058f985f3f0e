"""The controller keeps decisions and status right, writes only differences, and survives what fails halfway."""

from datetime import timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions, errors
from fleetqueue.api.events_v1 import Event
from fleetqueue.testing.virtual_time import advance, settle

from .objects import (
    NAMESPACE,
    asking_for,
    built_in,
    by_score,
    decision_manifest,
    exactly,
    placement_manifest,
    set_manifest,
)

DECISION = f"placementdecisions/{NAMESPACE}/p-decision-1"
STATUS = f"patch placements/{NAMESPACE}/p/status"


async def test_a_new_placement_gets_its_decision_and_its_status(env):
    env.add_clusters("a", "b", "c")
    env.api.add(placement_manifest(numberOfClusters=2))

    async with env.working():
        await settle()

    assert env.decided() == ["a", "b"]
    assert env.writes == [f"create {DECISION}", f"patch {DECISION}/status", STATUS]
    assert env.status().number_of_selected_clusters == 2
    assert conditions.is_true(env.status().conditions, cluster.PLACEMENT_SATISFIED)


async def test_it_is_quiet_the_second_time(env, follow):
    env.add_clusters("a", "b")
    env.api.add(placement_manifest())
    await follow(env.controller)
    await env.reconcile()
    env.api.writes.clear()

    await env.reconcile()

    assert env.api.writes == []


async def test_it_is_quiet_after_a_restart(env, api):
    env.add_clusters("a", "b")
    api.add(placement_manifest(numberOfClusters=1))
    async with env.working():
        await settle()
    api.writes.clear()

    async with env.working_anew():
        await advance(3600)

    assert api.writes == []


async def test_a_changed_score_moves_the_decision_and_nothing_else(env):
    env.add_clusters("a", "b", "c")
    env.score("a", 10)
    env.score("b", 20)
    env.api.add(placement_manifest(numberOfClusters=1, prioritizerPolicy=exactly(by_score())))

    async with env.working():
        await settle()
        env.api.writes.clear()
        env.score("a", 30)
        await settle()

    assert env.decided() == ["a"]
    assert env.writes == [f"patch {DECISION}/status"]


async def test_a_changed_score_that_changes_nothing_writes_nothing(env):
    env.add_clusters("a", "b")
    env.score("a", 10)
    env.score("b", 20)
    env.api.add(placement_manifest(numberOfClusters=1, prioritizerPolicy=exactly(by_score())))

    async with env.working():
        await settle()
        env.api.writes.clear()
        env.score("a", 19)
        await settle()

    assert env.api.writes == []


async def test_a_score_expires_without_anybody_telling(env):
    env.add_clusters("a", "b")
    env.api.add(placement_manifest(numberOfClusters=1, prioritizerPolicy=exactly(by_score())))
    env.score("a", 10)
    env.score("b", 20)

    async with env.working():
        soon = conditions.timestamp(clock.now() + timedelta(seconds=30))
        env.api.change(cluster.AddOnPlacementScore, "usage", "b", status={"validUntil": soon})
        await advance(29)
        before = env.decided()
        await advance(2)

    assert (before, env.decided()) == (["b"], ["a"])


async def test_a_toleration_ends_without_anybody_telling(env):
    taint = {"key": "gpu", "effect": "NoSelect", "timeAdded": conditions.timestamp(clock.now())}
    env.add_clusters("a", taints=[taint])
    env.api.add(placement_manifest(tolerations=[{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}]))

    async with env.working():
        before = env.decided()
        await advance(61)

    assert (before, env.decided()) == (["a"], [])


async def test_a_crowded_placement_is_looked_at_again_after_ten_minutes(env):
    env.add_clusters("a", "b")
    env.api.add(placement_manifest(numberOfClusters=1, prioritizerPolicy=exactly(built_in("Balance"))))

    async with env.working():
        before = env.decided()
        env.api.add(decision_manifest("other", "a", of="q"))
        await advance(500)
        meanwhile = env.decided()
        await advance(101)

    assert (before, meanwhile, env.decided()) == (["a"], ["a"], ["b"])


async def test_placements_that_come_together_see_what_the_one_before_chose(env):
    env.add_clusters("a", "b", "c")
    env.api.add(*(placement_manifest(name, numberOfClusters=1) for name in ("p", "q", "r")))

    async with env.working():
        await settle()

    assert [env.decided(f"{name}-decision-1") for name in "pqr"] == [["a"], ["b"], ["c"]]


async def test_a_group_that_disappears_takes_its_decision_along(env):
    group = {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "yes"}}}}
    env.add_clusters("a", labels={"canary": "yes"})
    env.add_clusters("b")
    env.api.add(placement_manifest(decisionStrategy={"groupStrategy": {"decisionGroups": [group]}}))

    async with env.working():
        before = env.decided("p-decision-1"), env.decided("p-decision-2")
        env.api.change(cluster.ManagedCluster, "a", metadata={"labels": {"canary": "no"}})
        await settle()

    assert before == (["a"], ["b"])
    assert (env.decided("p-decision-1"), env.decided("p-decision-2")) == (["a", "b"], None)
    first = env.api.get(cluster.PlacementDecision, "p-decision-1", NAMESPACE)
    assert first.metadata.labels[cluster.DECISION_GROUP_NAME_LABEL] == ""


async def test_a_decision_of_that_name_is_brought_to_what_it_should_be(env):
    env.add_clusters("a")
    foreign = decision_manifest("p-decision-1", "x", of="")
    foreign["metadata"]["labels"] = {"mine": "yes"}
    env.api.add(foreign, placement_manifest())

    async with env.working():
        await settle()

    found = env.api.get(cluster.PlacementDecision, "p-decision-1", NAMESPACE)
    assert env.decided() == ["a"]
    assert set(found.metadata.labels) == {
        cluster.PLACEMENT_LABEL,
        cluster.DECISION_GROUP_INDEX_LABEL,
        cluster.DECISION_GROUP_NAME_LABEL,
    }


async def test_a_decision_that_somebody_deletes_is_made_again(env):
    env.add_clusters("a")
    env.api.add(placement_manifest())

    async with env.working():
        env.api.remove(cluster.PlacementDecision, "p-decision-1", NAMESPACE)
        await settle()

    assert env.decided() == ["a"]


async def test_conditions_of_others_are_left_alone(env):
    other = {
        "type": "Seen", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2025-12-31T00:00:00Z",
    }  # fmt: skip
    env.api.add(placement_manifest() | {"status": {"conditions": [other]}})

    async with env.working():
        await settle()

    raw = env.api.raw(cluster.Placement, "p", NAMESPACE)["status"]["conditions"]
    assert [each["type"] for each in raw] == ["Seen", cluster.PLACEMENT_MISCONFIGURED, cluster.PLACEMENT_SATISFIED]
    assert raw[0] == other


async def test_a_condition_keeps_its_date_while_its_status_stays(env):
    env.api.add(placement_manifest())

    async with env.working():
        since = conditions.find(env.status().conditions, cluster.PLACEMENT_SATISFIED).last_transition_time
        await advance(5)
        env.api.remove(cluster.ManagedClusterSetBinding, "s", NAMESPACE)
        await settle()

    satisfied = conditions.find(env.status().conditions, cluster.PLACEMENT_SATISFIED)
    assert (satisfied.reason, satisfied.last_transition_time) == ("NoManagedClusterSetBindings", since)


# What is left alone


@pytest.mark.parametrize("value", ["true", "false"])
async def test_a_placement_may_be_left_alone(env, value):
    env.add_clusters("a")
    env.api.add(placement_manifest(annotations={cluster.SCHEDULING_DISABLED: value}))

    async with env.working():
        await settle()

    assert (env.decided() is None) is (value == "true")


async def test_a_name_that_no_label_can_hold_is_refused(env, follow):
    env.api.add(placement_manifest("p" * 64))
    await follow(env.controller)

    with pytest.raises(errors.TerminalError, match="longer than a label can be"):
        await env.controller.reconcile(f"{NAMESPACE}/{'p' * 64}")

    assert env.api.writes == []


async def test_a_set_that_cannot_be_read_leaves_the_decisions_as_they_are(env):
    env.add_clusters("a")
    env.api.add(placement_manifest())

    async with env.working():
        selector = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
        broken = {"selectorType": "LabelSelector", "labelSelector": selector}
        env.api.change(cluster.ManagedClusterSet, "s", spec={"clusterSelector": broken})
        await settle()
        env.add_clusters("b")
        await settle()
        before = env.decided()
        env.api.change(cluster.ManagedClusterSet, "s", spec=set_manifest(selectorType="LabelSelector")["spec"])
        env.api.change(cluster.ManagedClusterSet, "s", spec={"clusterSelector": {"labelSelector": None}})
        await settle()

    assert before == ["a"]
    assert env.decided() == []


# What fails halfway


@pytest.mark.parametrize("what", [f"create {DECISION}", f"patch {DECISION}/status", STATUS])
@pytest.mark.parametrize("applied", [False, True], ids=["refused", "the answer is lost"])
async def test_a_write_that_fails_is_made_up_for(env, what, applied):
    env.add_clusters("a")
    env.api.add(placement_manifest())
    env.api.fail_on(what, errors.Unreachable("cut"), times=1, applied=applied)

    async with env.working():
        await advance(1)

    assert env.decided() == ["a"]
    assert conditions.is_true(env.status().conditions, cluster.PLACEMENT_SATISFIED)


async def test_the_status_waits_for_the_decisions(env, follow):
    env.add_clusters("a")
    env.api.add(placement_manifest())
    env.api.fail_on(f"patch {DECISION}/status", errors.ServerError("boom"))
    await follow(env.controller)

    with pytest.raises(errors.ServerError):
        await env.controller.reconcile(f"{NAMESPACE}/p")

    assert env.status().conditions == ()


async def test_an_event_that_cannot_be_written_stops_nothing(env):
    env.add_clusters("a")
    env.api.add(placement_manifest())
    env.api.fail_on("create events/*", errors.ServerError("boom"))

    async with env.working():
        await settle()

    assert env.decided() == ["a"]


async def test_a_placement_that_chases_itself_does_not_keep_the_process_busy(env):
    env.add_clusters("a", "b")
    env.api.add(placement_manifest(numberOfClusters=1, prioritizerPolicy=exactly(built_in("Steady", -1))))

    async with env.working():
        await advance(10)

    assert 200 < len(env.writes) < 700


async def test_work_goes_on_where_the_cache_never_shows_what_was_written(env):
    env.add_clusters("a")
    async with env.working():
        env.api.fail_on("watch placementdecisions", errors.Unreachable("cut"))
        env.api.end_watches()
        env.api.add(placement_manifest())
        await advance(60)

        assert env.decided() == ["a"]
        assert env.status().number_of_selected_clusters == 1


# What is told


def told(api):
    events = [api.raw(Event, event.name, event.namespace) for event in api.list(Event)]
    return sorted((event["type"], event["reason"], event.get("note", "")) for event in events)


async def test_what_was_decided_is_told_with_the_scores_that_came_of_it(env):
    env.add_clusters("a", "b")
    env.api.add(placement_manifest(numberOfClusters=1))

    async with env.working():
        await settle()

    assert told(env.api) == [
        ("Normal", "DecisionCreate", "Decision p-decision-1 is created with placement p in namespace team"),
        ("Normal", "DecisionUpdate", "Decision p-decision-1 is updated with placement p in namespace team"),
        ("Normal", "ScoreUpdate", "a:200 b:100 "),
    ]
    events = [env.api.raw(Event, event.name, NAMESPACE) for event in env.api.list(Event)]
    assert {event["reportingController"] for event in events} == {"placement-controller"}
    assert {event["regarding"]["kind"] for event in events} == {"Placement"}
    assert {event["related"]["name"] for event in events} == {"p-decision-1"}


async def test_an_expired_score_is_warned_of(env):
    env.add_clusters("a", "b")
    env.score("a", 50)
    env.api.change(cluster.AddOnPlacementScore, "usage", "a", status={"validUntil": "2025-12-31T00:00:00Z"})
    env.api.add(placement_manifest(prioritizerPolicy=exactly(by_score())))

    async with env.working():
        await settle()

    warnings = [note for kind, _, note in told(env.api) if kind == "Warning"]
    assert warnings == [
        "Decision p-decision-1 is updated with placement p in namespace team:"
        " AddOnPlacementScores a/usage expired in plugin AddOn/usage/gpu"
    ]


async def test_a_deleted_decision_is_told(env):
    env.add_clusters("a")
    env.api.add(decision_manifest("left-over", "a"), placement_manifest(predicates=[asking_for({"no": "body"})]))

    async with env.working():
        await settle()

    assert ("Normal", "DecisionDelete", "Decision left-over is deleted with placement p in namespace team") in told(
        env.api
    )
