"""Which prioritizers count, and how much."""

import pytest

from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured
from fleetqueue.embedded.ocm.placement.plugins.weights import score_resources, wanted_prioritizers

from .objects import built_in, by_score, exactly, listed, placement


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
