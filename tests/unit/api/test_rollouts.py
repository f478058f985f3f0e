"""In which order a change reaches clusters."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from fleetqueue.api import rollouts
from fleetqueue.api.rollouts import ClusterStatus, GroupKey, RolloutStrategy

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GROUPS = {GroupKey(0): ["a", "b"], GroupKey(1, "canary"): ["c", "d"]}


def strategy(kind="All", **config):
    part = {"All": "all", "Progressive": "progressive", "ProgressivePerGroup": "progressivePerGroup"}[kind]
    return msgspec.convert({"type": kind, part: config}, RolloutStrategy)


def known(**statuses):
    """Say of each cluster how it is; `ago` is how many seconds it has been so."""
    return [
        ClusterStatus(name, status, NOW - timedelta(seconds=ago))
        for name, (status, ago) in ((n, s if isinstance(s, tuple) else (s, 0)) for n, s in statuses.items())
    ]


@pytest.mark.parametrize(
    ("given", "seen", "next_ones"),
    [
        pytest.param(strategy(), {}, "abcd", id="all at once"),
        pytest.param(strategy(), {"a": "Failed", "b": "Succeeded"}, "acd", id="failures never stop all"),
        pytest.param(strategy("Progressive", maxConcurrency=2), {}, "ab", id="two at a time"),
        pytest.param(strategy("Progressive", maxConcurrency="25%"), {}, "a", id="a share at a time"),
        pytest.param(strategy("Progressive"), {}, "abcd", id="without a number, all"),
        pytest.param(
            strategy("Progressive", maxConcurrency=2), {"a": "Succeeded", "b": "Progressing"}, "bc", id="one is done"
        ),
        pytest.param(
            strategy("Progressive", maxConcurrency=3), {"a": "Failed"}, "a", id="a failure stops, none being allowed"
        ),
        pytest.param(
            strategy("Progressive", maxConcurrency=3, maxFailures=1),
            {"a": "Failed"},
            "abc",
            id="one failure is allowed",
        ),
        pytest.param(
            strategy("Progressive", maxConcurrency=1, mandatoryDecisionGroups=[{"groupName": "canary"}]),
            {},
            "cd",
            id="a mandatory group first, as a whole",
        ),
        pytest.param(
            strategy("Progressive", maxConcurrency=1, mandatoryDecisionGroups=[{"groupIndex": 1}]),
            {"c": "Succeeded", "d": "Succeeded"},
            "a",
            id="then the others",
        ),
        pytest.param(strategy("ProgressivePerGroup"), {}, "ab", id="the first group"),
        pytest.param(
            strategy("ProgressivePerGroup"), {"a": "Succeeded", "b": "Progressing"}, "b", id="a group is not done"
        ),
        pytest.param(
            strategy("ProgressivePerGroup"), {"a": "Succeeded", "b": "Succeeded"}, "cd", id="the second group"
        ),
        pytest.param(
            strategy("ProgressivePerGroup", maxFailures=1),
            {"a": "Succeeded", "b": "Failed"},
            "bcd",
            id="a group with an allowed failure is done",
        ),
        pytest.param(
            strategy("Progressive", maxConcurrency=1, minSuccessTime="1m"),
            {"a": ("Succeeded", 30)},
            "a",
            id="a success must last",
        ),
        pytest.param(
            strategy("Progressive", maxConcurrency=1, minSuccessTime="1m"),
            {"a": ("Succeeded", 61)},
            "b",
            id="a success that lasted",
        ),
    ],
)
def test_who_is_next(given, seen, next_ones):
    rollout = rollouts.plan(given, GROUPS, known(**seen), NOW)

    assert "".join(sorted(each.cluster for each in rollout.clusters)) == next_ones


def test_what_takes_too_long_has_timed_out():
    given = strategy("Progressive", progressDeadline="10m", maxConcurrency=4)

    rollout = rollouts.plan(given, GROUPS, known(a=("Progressing", 700), b=("Progressing", 60)), NOW)

    assert [each.cluster for each in rollout.timed_out] == ["a"]
    assert [each.cluster for each in rollout.clusters] == ["b"]
    assert rollout.recheck_after == 540


def test_clusters_that_are_no_longer_chosen_are_told_of():
    rollout = rollouts.plan(strategy(), GROUPS, known(z="Succeeded"), NOW)

    assert [each.cluster for each in rollout.removed] == ["z"]


def test_a_share_must_be_written_as_one():
    with pytest.raises(ValueError, match="'3' is an invalid maximum threshold value: string is not a percentage"):
        rollouts.plan(strategy("Progressive", maxConcurrency="3"), GROUPS, [], NOW)
