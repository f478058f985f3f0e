"""What each prioritizer gives to a cluster."""

from datetime import timedelta

import pytest

from fleetqueue.api.cluster_v1 import AddOnScore
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured
from fleetqueue.embedded.ocm.placement.plugins.prioritizers import (
    AddOnPrioritizer,
    Allocatable,
    Balance,
    Steady,
    balance_score,
    score_resources,
    wanted_prioritizers,
)
from fleetqueue.rules.allocatable_scores import approximately, share_score
from tests.unit.embedded.ocm.placement.objects import (
    NOW,
    built_in,
    by_score,
    cluster_manifest,
    decision_manifest,
    exactly,
    listed,
    managed_cluster,
    placement,
    score_manifest,
)


@pytest.mark.parametrize(
    ("count", "highest", "score"),
    [(0, 0, 100), (0, 9, 100), (1, 1, -100), (1, 2, 0), (1, 3, 32), (2, 3, -32), (2, 5, 18), (3, 4, -50), (7, 9, -54)],
)
def test_balance_as_the_real_one_computes_it(count, highest, score):
    assert balance_score(count, highest) == score


def test_balance_moves_all_where_the_highest_count_is_another():
    facts = listed()
    balance = Balance(facts)
    balance.moved()
    facts.decision_counts.put("other/d", "other/q", ["a", "elsewhere"])

    first = balance.moved()
    facts.decision_counts.put("other/e", "other/r", ["b"])
    second = balance.moved()

    assert first is None
    assert second == ["b"]
    assert balance.moved() == ()
    assert [balance.score(name) for name in "abc"] == [-100, -100, 100]


def test_steady_gives_to_those_that_are_chosen():
    facts = listed(
        [cluster_manifest("a"), cluster_manifest("b")],
        decisions=[decision_manifest("p-decision-1", "a"), decision_manifest("q-decision-1", "b", of="q")],
    )

    assert [Steady(facts).score(name) for name in "ab"] == [100, 0]


@pytest.mark.parametrize(
    ("amount", "least", "most", "score"),
    [(10, 7, 10, 100), (7, 7, 10, -100), (9, 7, 10, 33), (8, 7, 10, -33), (5, 5, 5, 100), (2.5, 1, 4, 0)],
)
def test_a_share_of_the_way_from_the_least_to_the_most(amount, least, most, score):
    assert share_score(amount, least, most) == score


@pytest.mark.parametrize(
    ("amount", "number"),
    [
        ("4", 4.0),
        (4, 4.0),
        ("3920m", 3920 * 0.001),
        ("64Gi", 64.0 * 2**30),
        ("0.5Gi", 2.0**29),
        ("1e3", 1e3),
        ("2k", 2e3),
    ],
)
def test_a_quantity_as_go_rounds_it(amount, number):
    assert approximately(amount) == number


def test_who_does_not_tell_its_amount_scores_nothing():
    cpu = Allocatable("ResourceAllocatableCPU")
    for name, amounts in (("a", {"cpu": "2"}), ("b", {"memory": "1Gi"}), ("c", {"cpu": "6"}), ("d", {"cpu": 5})):
        cpu.enter(managed_cluster(name, amounts=amounts), NOW)

    assert cpu.moved() is None
    assert [cpu.score(name) for name in "abcd"] == [-100, 0, 100, 50]


def test_amounts_move_all_only_where_the_ends_move():
    cpu = Allocatable("ResourceAllocatableCPU")
    for name, amount in (("a", "2"), ("b", "4"), ("c", "6")):
        cpu.enter(managed_cluster(name, amounts={"cpu": amount}), NOW)
    cpu.moved()

    cpu.enter(managed_cluster("b", amounts={"cpu": "5"}), NOW)
    within = cpu.moved()
    cpu.leave("c")
    beyond = cpu.moved()

    assert within == ()
    assert beyond is None
    assert [cpu.score(name) for name in "ab"] == [-100, 100]


def add_on(*scores):
    facts = listed([cluster_manifest("a"), cluster_manifest("b")], scores)
    prioritizer = AddOnPrioritizer(AddOnScore(resource_name="usage", score_name="gpu"), facts)
    for name in "ab":
        prioritizer.enter(facts.cluster(name), NOW)
    return prioritizer


@pytest.mark.parametrize(
    ("scores", "score"),
    [
        pytest.param([score_manifest("a", gpu=-70)], -70, id="as it is"),
        pytest.param([], 0, id="no object"),
        pytest.param([score_manifest("a", cpu=5)], 0, id="no score of that name"),
        pytest.param([score_manifest("a", name="other", gpu=5)], 0, id="an object of another name"),
        pytest.param([score_manifest("a", gpu=5, until=1)], 5, id="still valid"),
        pytest.param([score_manifest("a", gpu=5, until=0)], 5, id="valid up to this very moment"),
        pytest.param([score_manifest("a", gpu=5, until=-1)], 0, id="expired"),
    ],
)
def test_an_add_on_score(scores, score):
    assert add_on(*scores).score("a") == score


def test_expired_scores_are_warned_of_together():
    prioritizer = add_on(score_manifest("b", gpu=1, until=-5), score_manifest("a", gpu=1, until=-1))

    assert prioritizer.warning == "AddOnPlacementScores a/usage b/usage expired in plugin AddOn/usage/gpu"
    prioritizer.leave("a")
    prioritizer.leave("b")
    assert prioritizer.warning == ""


def test_a_score_tells_until_when_it_holds():
    prioritizer = add_on(score_manifest("a", gpu=1, until=30))

    assert prioritizer.until("a") == NOW + timedelta(seconds=30)
    assert prioritizer.until("b") is None


def counted(policy):
    return [
        (each.prioritizer.name, each.weight)
        for each in wanted_prioritizers(placement(prioritizerPolicy=policy), listed())
    ]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({}, [("Balance", 1), ("Steady", 1)], id="the defaults"),
        pytest.param({"mode": ""}, [("Balance", 1), ("Steady", 1)], id="no mode is additive"),
        pytest.param(exactly(), [], id="exactly nothing"),
        pytest.param(
            {"configurations": [built_in("Steady", 3)]}, [("Balance", 1), ("Steady", 3)], id="a default is weighed"
        ),
        pytest.param({"configurations": [built_in("Balance", 0)]}, [("Steady", 1)], id="a default is left out"),
        pytest.param(
            {"configurations": [built_in("ResourceAllocatableCPU", -2)]},
            [("Balance", 1), ("Steady", 1), ("ResourceAllocatableCPU", -2)],
            id="added to the defaults",
        ),
        pytest.param(
            exactly(built_in("Steady", 1), built_in("Steady", 4)), [("Steady", 4)], id="the last of two counts"
        ),
        pytest.param(
            exactly(by_score("gpu", 2), by_score("gpu", 2)),
            [("AddOn/usage/gpu", 2), ("AddOn/usage/gpu", 2)],
            id="equal add-on scores both count",
        ),
        pytest.param(
            exactly(built_in("Spread", 0), by_score("gpu", 0)), [], id="what has no weight is not even looked at"
        ),
    ],
)
def test_what_counts(policy, expected):
    assert counted(policy) == expected


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"mode": "Some"}, ":incorrect prioritizer policy mode: Some"),
        (exactly(built_in("Spread")), ":incorrect builtin prioritizer: Spread"),
        (exactly(built_in("")), ":incorrect builtin prioritizer: "),
        (exactly({"scoreCoordinate": {"type": "AddOn"}}), ":addOn should not be empty"),
    ],
)
def test_a_policy_that_cannot_work(policy, said):
    with pytest.raises(Misconfigured) as problem:
        counted(policy)

    assert str(problem.value) == said


def test_the_score_objects_that_are_looked_at():
    policy = exactly(by_score("gpu"), built_in("Steady"), by_score("ms", resource="latency"))

    assert list(score_resources(placement(prioritizerPolicy=policy))) == ["usage", "latency"]
