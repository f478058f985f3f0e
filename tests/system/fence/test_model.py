"""Every order of events, for small sizes: in which faults a fenced job runs once, and that planted mistakes are found.

The sizes: a Lease of 2 ticks where nothing else is said, and 1 tick each for a restarted agent's attempts, Kueue's
stopping, the pods' grace, a late message, and the agent's absence past its deadline. Next to the faults that a test
names, there is any number of cuts, evictions and false refusals. The slack of each is the least with which it holds:
3 ticks are one lost renewal, Kueue's time and one more lost renewal; an agent that is killed, suspended or set anew
needs more. What is shown holds for these sizes and these faults, not for others. Asking A, marking its Lease and
nominating B are one event here.

`FLEETQUEUE_MODEL=all` adds pairs of faults.
"""

import os
from dataclasses import replace

import pytest

from .exploration import explore
from .model import RUNNING, SHORT, Rules

SITUATIONS = {
    "it runs elsewhere after A was marked": lambda s: s.on_b and s.is_passed,
    "it runs elsewhere after A has answered": lambda s: s.on_b and s.sent == s.uid != "" and s.wait > 0,
    "an evicted job runs on A while the agent renews": lambda s: (
        s.pods == RUNNING and not s.nominated and s.sent == s.lease != "" and s.renewal is not None
    ),
    "the agent stops a copy": lambda s: s.copy is not None and s.copy.stopping_for >= 0,
    "the agent sees the mark": lambda s: s.knows_mark,
    "the agent takes the mark off": lambda s: s.renewal is not None and s.renewal.clears and s.renewal.answer == "ok",
}
ALONE = [
    pytest.param(Rules(6), {"kill": 1}, 100_000, id="an agent is killed, or its machine restarts"),
    pytest.param(Rules(5), {"suspend": 1}, 100_000, id="an agent is suspended"),
    pytest.param(Rules(3), {"drift": 1}, 60_000, id="clocks differ by a tick"),
    pytest.param(Rules(3), {"delete": 1}, 100_000, id="the Lease is deleted"),
    pytest.param(Rules(5), {"setting": 2}, 100_000, id="the duration is shortened and lengthened"),
    pytest.param(Rules(3), {"unseen": 1}, 60_000, id="the dispatcher does not see an eviction"),
]
PAIRS = [
    pytest.param(Rules(6), {"kill": 1, "drift": 1}, 200_000, id="an agent is killed and clocks differ"),
    pytest.param(Rules(8), {"kill": 1, "suspend": 1}, 300_000, id="an agent is killed and suspended"),
    pytest.param(Rules(5), {"suspend": 1, "drift": 1}, 200_000, id="an agent is suspended and clocks differ"),
    pytest.param(Rules(6), {"kill": 1, "leader": 1}, 200_000, id="an agent is killed and the leader changes"),
    pytest.param(Rules(6), {"kill": 1, "delete": 1}, 300_000, id="an agent is killed and the Lease is deleted"),
    pytest.param(Rules(3), {"leader": 1, "delete": 1}, 150_000, id="the leader changes and the Lease is deleted"),
]
OVERTAKEN = Rules(5, 8), {"overtaken": 1}
WITH_PAIRS = [*ALONE, *(PAIRS if os.environ.get("FLEETQUEUE_MODEL") == "all" else [])]


@pytest.mark.parametrize(("rules", "faults", "least"), WITH_PAIRS)
def test_with_these_faults_a_job_runs_once(rules, faults, least):
    found = explore(rules, faults, SITUATIONS)

    assert found.trace == []
    assert found.states > least
    assert found.situations == set(SITUATIONS)


def test_a_job_runs_once_when_a_renewal_arrives_after_a_later_one_that_is_for_longer():
    assert explore(*OVERTAKEN, after=SHORT).trace == []


def test_a_renewal_that_does_not_say_for_which_version_is_found():
    rules, faults = OVERTAKEN

    assert explore(replace(rules, renews_blindly=True), faults, after=SHORT).trace


@pytest.mark.parametrize(
    ("slack", "faults"),
    [
        pytest.param(0, {}, id="there is none"),
        pytest.param(2, {}, id="without faults"),
        pytest.param(5, {"kill": 1}, id="an agent is killed"),
        pytest.param(4, {"suspend": 1}, id="an agent is suspended"),
        pytest.param(2, {"drift": 1}, id="clocks differ"),
        pytest.param(4, {"setting": 2}, id="an agent is set anew"),
    ],
)
def test_a_slack_that_is_a_tick_too_short_is_found(slack, faults):
    assert explore(Rules(slack), faults).trace


@pytest.mark.parametrize(
    ("rules", "faults"),
    [
        pytest.param(Rules(6, adds_nominations=True), {}, id="a second cluster is nominated beside the first"),
        pytest.param(Rules(6, counts_only_renewals=True), {}, id="silence is counted from the renewal alone"),
        pytest.param(Rules(6, drops_when_refused=True), {}, id="a promise is dropped on a false NotFound"),
        pytest.param(
            Rules(5, 7, does_not_write_shorter=True), {"setting": 2}, id="a shorter duration is not written down"
        ),
        pytest.param(
            Rules(4, 7, believes_longer=True, does_not_write_shorter=True),
            {"setting": 1},
            id="a shorter duration counts only when it is acknowledged",
        ),
        pytest.param(Rules(3, counts_from_answer=True), {}, id="the deadline counts from the answer"),
        pytest.param(Rules(5, clock_stops_in_suspend=True), {"suspend": 1}, id="the clock stands still in suspend"),
        pytest.param(Rules(6, hub_counts_from_renew_time=True), {}, id="the hub counts from the Lease's renewTime"),
        pytest.param(Rules(6, leader_takes_old_as_expired=True), {"leader": 1}, id="a new leader does not count anew"),
        pytest.param(Rules(6, hub_does_not_look_again=True), {}, id="the hub does not read the Lease again"),
        pytest.param(Rules(6, passes_without_promise=True), {}, id="the hub does without a promise"),
        pytest.param(Rules(6, record_is_upgraded=True), {}, id="a promise is recorded that the copy does not carry"),
        pytest.param(Rules(6, does_not_record=True), {}, id="where a job was sent is not recorded"),
        pytest.param(Rules(6, renews_before_writing_down=True), {"kill": 1}, id="the uid is written down too late"),
        pytest.param(Rules(6, skips_silent=True), {}, id="a cluster that does not answer is skipped"),
        pytest.param(Rules(6, believes_other_boot=True), {"kill": 1}, id="the time of another boot is believed"),
        pytest.param(
            Rules(6, keeps_gone=True), {"unseen": 1}, id="since when there is no copy is kept when it is sent again"
        ),
        pytest.param(Rules(6, asks_only_for_copy=True), {}, id="a cluster without the copy counts as without pods"),
    ],
)
def test_a_planted_mistake_is_found(rules, faults):
    assert explore(rules, faults).trace


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(Rules(3, starts_again=True), id="what began to stop is started again by an acknowledged renewal"),
        pytest.param(Rules(3, does_not_finish=True), id="what began to stop is left once a renewal is acknowledged"),
        pytest.param(Rules(3, ignores_mark=True), id="the mark is not looked at"),
    ],
)
def test_without_faults_this_is_not_needed(rules):
    """It guards against agents that are missing for longer than the slack allows, which the model does not have."""
    assert explore(rules, {}).trace == []
