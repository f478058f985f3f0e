"""Queues that share, and two waves of Workloads, as drawn, and what holds of them: also asked with planted mistakes."""

from hypothesis import strategies as st

from fleetqueue.embedded.kueue.settings import BOTH_STRATEGIES, FairSharingSettings

from .fair_caches import cohort_queue, fair_cache
from .fair_play import OVERTAKES, Play
from .objects import cohort

RULES = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}
STRATEGIES = st.sampled_from([(BOTH_STRATEGIES[0],), (BOTH_STRATEGIES[1],), BOTH_STRATEGIES])
FAIR = st.builds(FairSharingSettings, preemption_strategies=STRATEGIES)
QUEUES = [f"q{number}" for number in range(4)]
TREES = st.sampled_from([("c", "c", "c", "c"), ("left", "left", "right", "c"), ("left", "right", "left", "right")])
WEIGHTS = st.sampled_from(["0", "0.5", "1", "3"])


def jobs(cpus, priorities, **limits):
    one = {"to": st.sampled_from(QUEUES), "cpu": cpus, "priority": priorities}
    return st.lists(st.fixed_dictionaries(one), **limits)


CROWDS = {
    "early": jobs(st.integers(1, 2), st.integers(0, 1), min_size=4, max_size=16),
    "late": jobs(st.integers(1, 6), st.integers(0, 2), min_size=1, max_size=10),
    "quotas": st.tuples(*[st.integers(0, 6)] * 4),
    "weights": st.tuples(*[WEIGHTS] * 4),
    "tree": TREES,
}
OF_ONE_PRIORITY = jobs(st.integers(1, 5), st.just(0), min_size=1, max_size=12)
EQUALS = {"early": OF_ONE_PRIORITY, "late": OF_ONE_PRIORITY, "quotas": st.tuples(*[st.integers(0, 6)] * 4)}


def tree_play(quotas, weights, tree, fair):
    halves = [cohort("left", parent="c"), cohort("right", parent="c", fairSharing={"weight": "2"})]
    made = zip(QUEUES, quotas, tree, weights, strict=True)
    return Play(fair_cache(*halves, *(cohort_queue(n, q, to=t, weight=w, **RULES) for n, q, t, w in made), fair=fair))


def keep_room(early, late, quotas, weights, tree, fair):
    """`Play` looks itself, after each preemption, whether there is room, and whether anybody is admitted twice."""
    play = tree_play(quotas, weights, tree, fair)

    for _ in play.waves(early, late):
        assert play.usage() <= play.room


def come_to_an_end(early, late, quotas, weights, tree, fair):
    """`Play` looks itself whether nothing changes any more."""
    play = tree_play(quotas, weights, tree, fair)

    for wave in (early, late):
        play.submit_all(wave)
        play.settle()


def keep_order(early, late, quotas, fair):
    strategies = ("StrictFIFO", "StrictFIFO", "BestEffortFIFO", "BestEffortFIFO")
    made = zip(QUEUES, quotas, strategies, strict=True)
    play = Play(fair_cache(*(cohort_queue(n, q, queueingStrategy=s) for n, q, s in made), fair=fair))

    for _ in play.waves(early, late):
        assert [play.overtakers(name) for name in QUEUES[:2]] == [[], []], OVERTAKES
