"""One cycle: who of several heads gets what, and what becomes of the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, EntryStatus, can_shrink, largest
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.settings import SchedulingSettings

from .objects import (
    CPU,
    NAMESPACE,
    NOON,
    admitted,
    condition,
    flavor,
    group,
    local_queue,
    pod_set,
    queue,
    quota,
    workload,
)


def two(nominal, **said):
    return group(default=quota(nominal, **said))


def snapshot(*queues, workloads=()):
    cache = Cache(SchedulingSettings())
    cache.set_namespace(NAMESPACE, {})
    cache.set_flavor(flavor())
    for each in queues:
        cache.set_cluster_queue(each)
        cache.set_local_queue(local_queue(each.name))
    for each in workloads:
        cache.set_workload(each)
    return cache


def outcome(cache, number=1):
    entries = Cycle(cache, number, NOON).run(cache.heads())
    return {entry.work.view.name: entry for entry in entries}


def fates(cache):
    return {name: entry.status for name, entry in outcome(cache).items()}


PAIR = (queue("q", two(2), cohort="c"), queue("r", two(2), cohort="c"))


def test_a_head_that_fits_is_admitted_with_its_flavors():
    found = outcome(snapshot(queue(), workloads=[workload("a")]))["a"]

    assert found.status is EntryStatus.ADMITTED
    assert found.assignment.parts[0].manifest == {
        "name": "main",
        "flavors": {"cpu": "default"},
        "resourceUsage": {"cpu": "1"},
        "count": 1,
    }


def test_a_cycle_leaves_no_trace_in_the_quota():
    cache = snapshot(*PAIR, workloads=[workload("a", cpu="2"), workload("b", cpu="2", to="r")])

    outcome(cache)

    assert [cache.queue(name).available(CPU) for name in "qr"] == [4000, 4000]


def test_who_borrows_comes_last():
    cache = snapshot(*PAIR, workloads=[workload("a", cpu="4", priority=9), workload("b", cpu="2", to="r")])

    found = outcome(cache)

    assert found["b"].status is EntryStatus.ADMITTED
    assert (found["a"].status, found["a"].why) == (EntryStatus.SKIPPED, Requeue.FAILED_AFTER_NOMINATION)
    assert found["a"].message == "Workload no longer fits after processing another workload"


def test_the_higher_priority_comes_first_among_borrowers():
    cache = snapshot(*PAIR, workloads=[workload("a", cpu="3"), workload("b", cpu="3", to="r", priority=1)])

    assert fates(cache) == {"a": EntryStatus.SKIPPED, "b": EntryStatus.ADMITTED}


def test_only_one_preempts_whom_both_want():
    rules = {"reclaimWithinCohort": "Any"}
    cache = snapshot(
        queue("q", two(2), cohort="c", preemption=rules),
        queue("r", two(2), cohort="c", preemption=rules),
        queue("s", two(2), cohort="c"),
        workloads=[admitted("big", to="s", cpu="6"), workload("a", cpu="2", age=2), workload("b", cpu="2", to="r")],
    )

    found = outcome(cache)

    assert found["a"].status is EntryStatus.PREEMPTS
    assert found["a"].why is Requeue.PENDING_PREEMPTION
    assert [target.key for target in found["a"].targets] == ["team/big"]
    assert found["b"].message == "Workload has overlapping preemption targets with another workload"


def test_what_a_head_waits_for_is_kept_free():
    cache = snapshot(
        queue("q", two(2), cohort="c", preemption={"withinClusterQueue": "LowerPriority"}),
        queue("r", two(2), cohort="c"),
        workloads=[admitted("x", cpu="1", priority=9), workload("a", cpu="4"), workload("b", cpu="3", to="r")],
    )
    cache.set_cluster_queue(
        queue("q", two(4, borrow=0), cohort="c", preemption={"withinClusterQueue": "LowerPriority"})
    )

    found = outcome(cache)

    assert found["a"].why is Requeue.NO_CANDIDATES
    assert found["b"].status is EntryStatus.SKIPPED


def test_fewer_pods_are_admitted_where_that_is_allowed():
    asked = workload("a", pod_set(count=9, least=2, requests={"cpu": "1"}))

    found = outcome(snapshot(queue(), workloads=[asked]))["a"]

    assert (found.status, found.assignment.parts[0].count) == (EntryStatus.ADMITTED, 4)


@pytest.mark.parametrize(
    ("view", "spec", "message", "why"),
    [
        pytest.param(
            workload("a", status={"admissionChecks": [{"name": "c", "state": "Retry"}]}),
            {},
            "The workload has failed admission checks",
            Requeue.GENERIC,
            id="a check said no",
        ),
        pytest.param(
            workload("a"),
            {"namespaceSelector": {"matchLabels": {"x": "y"}}},
            "workload namespace doesn't match ClusterQueue selector",
            Requeue.NAMESPACE_MISMATCH,
            id="another namespace",
        ),
        pytest.param(
            workload("a", cpu="5"),
            {},
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously "
            "considered podsets requests (0) + current podset request (5) > maximum capacity (4)",
            Requeue.NO_FIT,
            id="too much",
        ),
    ],
)
def test_who_is_not_admitted_is_told_why(view, spec, message, why):
    found = outcome(snapshot(queue("q", **spec), workloads=[view]))["a"]

    assert (found.status, found.message, found.why) == (EntryStatus.PENDING, message, why)


def test_a_queue_that_closes_while_its_head_is_taken():
    cache = snapshot(queue(), workloads=[workload("a")])
    heads = cache.heads()
    cache.drop_flavor("default")

    (found,) = Cycle(cache, 1, NOON).run(heads)

    assert found.message == "ClusterQueue q is inactive"


def test_a_queue_that_goes_while_its_head_is_taken():
    cache = snapshot(queue(), workloads=[workload("a")])
    heads = cache.heads()
    cache.drop_cluster_queue("q")

    (found,) = Cycle(cache, 1, NOON).run(heads)

    assert found.message == "ClusterQueue q not found"


def test_a_search_for_flavors_starts_anew_after_a_change():
    rules = {
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "flavorFungibility": {"whenCanPreempt": "MayStopSearch"},
    }
    both = group(default=quota(2), two=quota(2))
    held = [admitted("x", cpu="2"), admitted("y", cpu="2", flavor="two", priority=20)]
    cache = snapshot(queue("q", both, **rules), workloads=[*held, workload("a", cpu="2", priority=5)])
    cache.set_flavor(flavor("two"))
    (head,) = cache.heads()
    Cycle(cache, 1, NOON).run([head])
    tried = head.tried
    soon = Cycle(cache, 2, NOON).run([head])

    cache.drop_workload("team/y")
    head.tried = tried
    later = Cycle(cache, 5, NOON).run([head])

    assert [given.flavor for given in soon[0].assignment.parts[0].given.values()] == ["two"]
    assert [target.key for target in later[0].targets] == ["team/x"]


def test_conditions_of_others_do_not_matter():
    view = workload("a", conditions=[condition("PodsReady", "False")])

    assert fates(snapshot(queue(), workloads=[view])) == {"a": EntryStatus.ADMITTED}


def sets(*sizes):
    return pod_sets([pod_set(f"s{number}", count=count, least=least) for number, (count, least) in enumerate(sizes)])


@pytest.mark.parametrize(
    ("sizes", "answer"),
    [
        pytest.param([(3, None)], False, id="nobody said so"),
        pytest.param([(3, 3)], False, id="all are the fewest"),
        pytest.param([(3, None), (3, 1)], True, id="one of them may"),
    ],
)
def test_can_shrink(sizes, answer):
    assert can_shrink(sets(*sizes)) is answer


@pytest.mark.parametrize(
    ("sizes", "room", "found"),
    [
        pytest.param([(10, 3)], 4, [4], id="as many as fit"),
        pytest.param([(10, 3)], 2, None, id="not even the fewest fit"),
        pytest.param([(10, 3)], 3, [3], id="just the fewest"),
        pytest.param([(10, 0), (10, 0)], 10, [5, 5], id="several shrink alike"),
        pytest.param([(4, None), (8, 4)], 9, [4, 5], id="one shrinks alone"),
    ],
)
def test_largest(sizes, room, found):
    assert largest(sets(*sizes), lambda counts: counts if sum(counts) <= room else None) == found


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60))
def test_nothing_larger_would_fit(count, least, room):
    least = min(least, count - 1)

    found = largest(sets((count, least)), lambda counts: counts if sum(counts) <= room else None)

    assert found == (None if room < least else [min(room, count)])
