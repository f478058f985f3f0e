"""Whom fair shares let go, by which strategy, and why it is said that they must."""

from datetime import timedelta

import pytest

from fleetqueue.embedded.kueue.settings import LESS_THAN_INITIAL, LESS_THAN_OR_EQUAL_TO_FINAL, FairSharingSettings

from .fair_caches import FAIR, cohort_queue, decided, fair_cache, victims
from .objects import CPU, NOON, admitted, cohort, group, queue, quota, workload

RECLAIM = {"preemption": {"reclaimWithinCohort": "Any"}}
LOWER = {"preemption": {"reclaimWithinCohort": "LowerPriority"}}
BOTH = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}
FINAL_ONLY = FairSharingSettings(preemption_strategies=(LESS_THAN_OR_EQUAL_TO_FINAL,))
INITIAL_ONLY = FairSharingSettings(preemption_strategies=(LESS_THAN_INITIAL,))


def fair(*names):
    return [(name, "InCohortFairSharing") for name in names]


def three(*, weight=None, rules=RECLAIM, cpus=0):
    """Two queues that can only borrow, and one that lends six cpus."""
    return cohort_queue("q", cpus, weight=weight, **rules), cohort_queue("r", 0), cohort_queue("lender", 6)


def ones(queue_name, count, **said):
    """Some Workloads of one cpu, the first of them the newest."""
    return [
        admitted(f"{queue_name}{number}", to=queue_name, reserved=NOON - timedelta(seconds=number), **said)
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        pytest.param([*three(), *ones("r", 6), workload("w", cpu="1")], fair("r0"), id="the newest of who has most"),
        pytest.param([*three(), *ones("r", 6), workload("w", cpu="3")], fair("r0", "r1", "r2"), id="until it is even"),
        pytest.param([*three(), *ones("r", 6), workload("w", cpu="4")], [], id="not more than that"),
        pytest.param(
            [*three(weight="2"), *ones("r", 6), workload("w", cpu="4")],
            fair("r0", "r1", "r2", "r3"),
            id="more with a higher weight",
        ),
        pytest.param([*three(weight="0"), *ones("r", 6), workload("w")], [], id="nothing without a weight"),
        pytest.param([*three(rules={}), *ones("r", 6), workload("w")], [], id="not where it is not allowed"),
        pytest.param([*three(rules=LOWER), *ones("r", 6), workload("w")], [], id="priorities are kept"),
        pytest.param(
            [*three(rules=LOWER), *ones("r", 6), workload("w", priority=1)], fair("r0"), id="a lower priority goes"
        ),
        pytest.param(
            [*three(cpus=1), *ones("r", 6), admitted("x", to="r"), workload("w")],
            [("r0", "InCohortReclamation")],
            id="what is its own is taken back",
        ),
        pytest.param(
            [*three(rules=BOTH), *ones("q", 3), *ones("r", 3), workload("w", priority=1)],
            [("q0", "InClusterQueue")],
            id="its own, where others have no more",
        ),
        pytest.param(
            [*three(), cohort_queue("s", 0), *ones("r", 4), *ones("s", 2), workload("w", cpu="2")],
            fair("r0", "r1"),
            id="of several queues the one that has most",
        ),
        pytest.param(
            [*three(), cohort_queue("s", 0), *ones("r", 3), *ones("s", 3), workload("w", cpu="2")],
            fair("r0", "s0"),
            id="of equals each in turn",
        ),
    ],
)
def test_who_goes(objects, found):
    assert victims(fair_cache(*objects)) == found


BIG = [admitted("big", to="r", cpu="4"), admitted("small", to="r", cpu="2", reserved=NOON - timedelta(seconds=9))]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        pytest.param(FAIR, fair("small"), id="both: by the first"),
        pytest.param(
            FINAL_ONLY, fair("small"), id="one that leaves the other with as much, though it is not the first"
        ),
        pytest.param(INITIAL_ONLY, fair("big"), id="the first, whatever is left"),
    ],
)
def test_the_strategies_choose_differently(settings, found):
    queues = [*three()[:2], cohort_queue("lender", 7)]

    assert victims(fair_cache(*queues, *BIG, workload("w", cpu="3"), fair=settings)) == found


def test_by_the_share_at_the_end_both_may_have_the_same():
    objects = [*three(), *ones("r", 6), workload("w", cpu="3")]

    assert victims(fair_cache(*objects, fair=FINAL_ONLY)) == fair("r0", "r1", "r2")


def test_by_the_share_at_first_the_other_must_have_more():
    halves = [admitted("big", to="r", cpu="3"), admitted("other", to="s", cpu="3")]
    objects = [*three(), cohort_queue("s", 0), *halves, workload("w", cpu="3")]

    assert victims(fair_cache(*objects, fair=INITIAL_ONLY)) == []


@pytest.mark.parametrize(("settings", "found"), [(FAIR, fair("big")), (FINAL_ONLY, []), (INITIAL_ONLY, fair("big"))])
def test_the_second_strategy_helps_where_the_first_finds_nobody(settings, found):
    cache = fair_cache(*three(), admitted("big", to="r", cpu="6"), workload("w", cpu="4"), fair=settings)

    assert victims(cache) == found


def test_the_second_strategy_takes_one_of_each_queue():
    big = [admitted(f"big{number}", to="r", cpu="3") for number in range(2)]

    assert victims(fair_cache(*three(), *big, workload("w", cpu="5"))) == []


def test_shares_are_compared_below_the_cohort_that_both_stand_in():
    """In the tree the left half has most, so it is asked first; but q is in it, and compares itself with r there."""
    objects = [
        cohort("left", parent="root"),
        cohort("right", parent="root"),
        cohort_queue("q", 0, to="left", **RECLAIM),
        cohort_queue("r", 0, to="left"),
        cohort_queue("s", 0, to="right"),
        cohort_queue("lender", 6, to="root"),
        *ones("r", 4),
        *ones("s", 2),
    ]

    assert victims(fair_cache(*objects, workload("w", cpu="2"))) == fair("r0", "r1")


def test_a_cohort_with_less_takes_from_one_with_more():
    objects = [
        cohort("left", parent="root"),
        cohort("right", parent="root", fairSharing={"weight": "2"}),
        cohort_queue("q", 0, to="left", **RECLAIM),
        cohort_queue("s", 0, to="right"),
        cohort_queue("lender", 6, to="root"),
        *ones("s", 6),
    ]

    assert victims(fair_cache(*objects, workload("w", cpu="2"))) == fair("s0", "s1")
    assert victims(fair_cache(*objects, workload("w", cpu="3"))) == []


@pytest.mark.parametrize("settings", [FAIR, INITIAL_ONLY])
def test_who_is_not_needed_stays(settings):
    """The small one is chosen first, since r has most; with the big one gone, it can stay."""
    objects = [
        cohort_queue("q", 0, **LOWER),
        cohort_queue("r", 0),
        cohort_queue("s", 0),
        cohort_queue("lender", 10),
        admitted("rest", to="r", cpu="5", priority=9),
        admitted("small", to="r", cpu="1"),
        admitted("big", to="s", cpu="4"),
    ]

    assert victims(fair_cache(*objects, workload("w", cpu="3", priority=5), fair=settings)) == fair("big")


def test_of_queues_with_equal_shares_the_one_with_the_newest_is_asked_first():
    newer = [admitted(f"s{number}", to="s", reserved=NOON + timedelta(seconds=number)) for number in range(2)]
    objects = [*three()[:2], cohort_queue("s", 0), cohort_queue("lender", 4), *ones("r", 2), *newer]

    assert victims(fair_cache(*objects, workload("w"))) == fair("s1")


def test_of_a_queue_and_a_cohort_with_equal_shares_the_cohort_is_asked_first():
    objects = [
        cohort("left", parent="c"),
        cohort_queue("q", 0, **RECLAIM),
        cohort_queue("r", 0),
        cohort_queue("s", 0, to="left"),
        cohort_queue("lender", 4),
        *ones("r", 2),
        *(admitted(f"s{number}", to="s", reserved=NOON - timedelta(seconds=60)) for number in range(2)),
    ]

    assert victims(fair_cache(*objects, workload("w"))) == fair("s0")


def test_a_queue_preempts_its_own_in_a_cohort_that_does_not_borrow():
    lower = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    objects = [
        cohort("left", parent="root", groups=[group(default=quota(6))]),
        queue("q", group(default=quota(0, borrow=2)), cohort="left", **lower),
        cohort_queue("lender", 4, to="root"),
        *ones("q", 2),
    ]

    assert victims(fair_cache(*objects, workload("w", priority=1))) == [("q0", "InClusterQueue")]


@pytest.mark.parametrize(("is_on", "found"), [(True, [("r0", "InCohortReclamation")]), (False, [])])
def test_a_queue_within_its_quota_does_not_compare_shares_by_a_gate(is_on, found):
    """Queue q borrows gpus, so that its share is higher than that of r; its cpus are its own all the same."""
    settings = FairSharingSettings(preempts_within_nominal=is_on)
    gpus = [quota(1), quota(0, resource="gpu")]
    q = queue("q", group(default=gpus), cohort="c", **RECLAIM)
    lender = queue("lender", group(default=[quota(5), quota(2, resource="gpu")]), cohort="c")
    cache = fair_cache(q, cohort_queue("r", 0), lender, *ones("r", 6), fair=settings)
    cache.queue("q").add_all({CPU._replace(resource="gpu"): 2})
    cache.set_workload(workload("w"))

    assert victims(cache) == found


def test_alone_a_queue_preempts_its_own():
    lower = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    cache = fair_cache(queue("q", **lower), *ones("q", 4), workload("w", cpu="2", priority=1))

    assert victims(cache) == [("q0", "InClusterQueue"), ("q1", "InClusterQueue")]


def test_a_search_leaves_no_trace_in_the_quota():
    cache = fair_cache(*three(rules=BOTH), *ones("r", 6), workload("w", cpu="4"))
    before = [dict(cache.queue(name).usage) for name in ("q", "r", "lender")]

    decided(cache)

    assert [cache.queue(name).usage[CPU] for name in ("q", "r")] == [0, before[1][CPU]]
    assert cache.queue("q").available(CPU) == 0
