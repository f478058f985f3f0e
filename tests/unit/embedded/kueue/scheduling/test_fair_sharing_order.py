"""Who comes first in a cycle with fair sharing."""

import pytest

from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource
from fleetqueue.embedded.kueue.settings import FairSharingSettings

from .fair_caches import cohort_queue, fair_cache, fates
from .objects import CPU, admitted, cohort, group, queue, quota, workload

PAIR = (cohort_queue("q", 0), cohort_queue("r", 0), cohort_queue("lender", 4))


@pytest.mark.parametrize(
    ("objects", "first"),
    [
        pytest.param(
            [
                *PAIR,
                admitted("x", to="q", cpu="1"),
                workload("a", to="q", cpu="2", age=9),
                workload("b", to="r", cpu="2"),
            ],
            "b",
            id="who has less goes first",
        ),
        pytest.param(
            [*PAIR, workload("a", to="q", cpu="3", age=9), workload("b", to="r", cpu="2")],
            "b",
            id="what the head asks for counts",
        ),
        pytest.param(
            [*PAIR, workload("a", to="q", cpu="3"), workload("b", to="r", cpu="3", priority=1)],
            "b",
            id="of equals the higher priority",
        ),
        pytest.param(
            [*PAIR, workload("a", to="q", cpu="3"), workload("b", to="r", cpu="3", age=1)],
            "b",
            id="then the older",
        ),
        pytest.param(
            [
                cohort_queue("q", 0),
                cohort_queue("r", 0, weight="2"),
                PAIR[2],
                workload("a", to="q", cpu="2", age=9),
                workload("b", to="r", cpu="3"),
            ],
            "b",
            id="by weight",
        ),
        pytest.param(
            [
                cohort_queue("q", 0, weight="0"),
                cohort_queue("r", 0),
                PAIR[2],
                workload("a", to="q", cpu="2", age=9),
                workload("b", to="r", cpu="4"),
            ],
            "b",
            id="who has no weight comes last",
        ),
        pytest.param(
            [
                cohort("left", parent="root"),
                cohort("right", parent="root"),
                cohort_queue("q", 0, to="left"),
                cohort_queue("r", 0, to="right"),
                cohort_queue("lender", 4, to="root"),
                cohort_queue("busy", 0, to="left"),
                admitted("x", to="busy", cpu="2"),
                workload("a", to="q", cpu="1", age=9),
                workload("b", to="r", cpu="2"),
            ],
            "b",
            id="the cohorts are compared, not the queues in them",
        ),
    ],
)
def test_who_comes_first(objects, first):
    found = fates(fair_cache(*objects))

    assert found.pop(first) == "ADMITTED"
    assert set(found.values()) == {"SKIPPED"}


def two_resources(name, cpus, gpus):
    quotas = [quota(cpus), quota(gpus, resource="gpu")]
    return queue(name, group(default=quotas), cohort="c")


@pytest.mark.parametrize(("prioritizes", "first"), [(True, "a"), (False, "b")])
def test_who_borrows_nothing_that_it_asks_for_goes_first_by_a_gate(prioritizes, first):
    """Queue q borrows gpus, but asks for cpus that are its own; r borrows a few cpus, and has the lower share."""
    fair = FairSharingSettings(prioritizes_non_borrowing=prioritizes)
    queues = [two_resources("q", 4, 0), two_resources("r", 0, 0), two_resources("lender", 4, 4)]
    cache = fair_cache(*queues, fair=fair)
    cache.queue("q").add_all({FlavorResource("default", "gpu"): 3})
    cache.queue("lender").add_all({CPU: 3000})
    cache.set_workload(workload("a", to="q", cpu="4"))
    cache.set_workload(workload("b", to="r", cpu="2"))

    found = fates(cache)

    assert found == {"a": "SKIPPED", "b": "SKIPPED", first: "ADMITTED"}


def test_the_next_is_chosen_by_what_the_one_before_took():
    cache = fair_cache(
        *(cohort_queue(name, 0) for name in ("q", "r")),
        cohort("left", parent="c"),
        cohort_queue("in-left", 0, to="left"),
        cohort_queue("also-left", 0, to="left"),
        cohort_queue("lender", 3),
        workload("a", to="in-left", cpu="1", age=9),
        workload("b", to="also-left", cpu="1", age=8),
        workload("d", to="q", cpu="1", age=1),
        workload("e", to="r", cpu="1"),
    )

    found = fates(cache)

    assert found == {"a": "ADMITTED", "b": "SKIPPED", "d": "ADMITTED", "e": "ADMITTED"}


def test_queues_that_have_nothing_in_common_are_all_served():
    alone = queue("alone", group(default=quota(1)))

    found = fates(fair_cache(alone, *PAIR, workload("a", to="alone"), workload("b", to="q")))

    assert found == {"a": "ADMITTED", "b": "ADMITTED"}


def test_a_tournament_leaves_no_trace_in_the_quota():
    cache = fair_cache(*PAIR, workload("a", to="q", cpu="2"), workload("b", to="r", cpu="2"))

    fates(cache)

    assert [cache.queue(name).available(CPU) for name in ("q", "r")] == [4000, 4000]
