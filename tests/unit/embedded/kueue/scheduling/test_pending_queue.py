"""The queue of one ClusterQueue: who is next, who is inadmissible, who is requeued."""

from datetime import timedelta

import pytest

from fleetqueue.embedded.kueue.scheduling.pending_queue import STRICT, PendingQueue, Requeue
from fleetqueue.embedded.kueue.scheduling.workload_info import Tried

from .objects import NOON, condition, pod_set, work


def line(*works, strategy="BestEffortFIFO"):
    queue = PendingQueue("q", strategy)
    for each in works:
        queue.put(each, NOON)
    return queue


def taken(queue):
    """Take everybody, one after the other, for good."""
    names = []
    while (head := queue.take()) is not None:
        names.append(head.view.name)
        queue.remove(head.key)
    return names


def different(name, **said):
    """A Workload that is not like the others."""
    return work(name, pod_set(requests={"cpu": "1"}, nodeSelector={"only": name}), **said)


@pytest.mark.parametrize(
    ("works", "names"),
    [
        pytest.param([work("a", age=1), work("b", age=2)], ["b", "a"], id="the oldest first"),
        pytest.param([work("a", age=2), work("b", age=1, priority=1)], ["b", "a"], id="a higher priority before that"),
        pytest.param([work("b"), work("a")], ["a", "b"], id="by uid in the same second"),
        pytest.param(
            [work("a", age=9, conditions=[condition("Evicted", "True", "PodsReadyTimeout")]), work("b", age=1)],
            ["b", "a"],
            id="whose pods were not ready goes behind",
        ),
        pytest.param(
            [work("a", age=9, conditions=[condition("Evicted", "True", "AdmissionCheck")]), work("b", age=1)],
            ["b", "a"],
            id="whom a check sent away goes behind",
        ),
        pytest.param(
            [work("a", age=9, conditions=[condition("Evicted", "True", "Preempted")]), work("b", age=1)],
            ["a", "b"],
            id="who was preempted keeps its place",
        ),
    ],
)
def test_order(works, names):
    assert taken(line(*works)) == names


def test_all_shows_the_same_order_and_takes_nobody():
    queue = line(work("a", age=1), work("b", age=2), work("c", age=3))
    head = queue.take()

    assert [each.view.name for each in queue.all()] == ["c", "b", "a"]
    assert head is not None
    assert len(queue) == 3


def test_a_head_that_does_not_fit_is_parked_with_all_that_are_alike():
    queue = line(work("a", age=3), work("b", age=2), different("c", age=1))
    head = queue.take()

    stays = queue.back(head, Requeue.NO_FIT, NOON)

    assert not stays
    assert (queue.inadmissible, taken(queue)) == (2, ["c"])


def test_one_that_is_alike_is_parked_as_it_comes():
    queue = line(work("a"))
    queue.back(queue.take(), Requeue.NO_FIT, NOON)

    is_to_be_tried = queue.put(work("b"), NOON)

    assert not is_to_be_tried
    assert queue.inadmissible == 2


def test_a_strict_queue_keeps_its_head():
    queue = line(work("a", age=2), work("b", age=1), strategy=STRICT)

    stays = queue.back(queue.take(), Requeue.NO_FIT, NOON)

    assert stays
    assert taken(queue) == ["a", "b"]


def test_a_strict_queue_parks_whom_it_does_not_select():
    queue = line(work("a", age=2), work("b", age=1), strategy=STRICT)

    queue.back(queue.take(), Requeue.NAMESPACE_MISMATCH, NOON)

    assert taken(queue) == ["b"]


@pytest.mark.parametrize(
    "why", [Requeue.FAILED_AFTER_NOMINATION, Requeue.PENDING_PREEMPTION, Requeue.PREEMPTION_FAILED]
)
def test_who_was_nominated_stays_in_line(why):
    queue = line(work("a"))

    assert queue.back(queue.take(), why, NOON)
    assert taken(queue) == ["a"]


def test_who_waits_for_its_victims_goes_first():
    queue = line(work("a", age=2), different("b", age=9, priority=-1))
    queue.remove("team/a")
    head = queue.take()
    queue.back(head, Requeue.PENDING_PREEMPTION, NOON)
    queue.put(work("a", age=2), NOON)

    assert taken(queue) == ["b", "a"]


def test_the_parked_are_woken():
    queue = line(work("a", age=2), work("b", age=1))
    queue.back(queue.take(), Requeue.NO_FIT, NOON)

    assert queue.wake(lambda work: True)
    assert taken(queue) == ["a", "b"]
    assert not queue.wake(lambda work: True)


def test_only_those_are_woken_who_may_be_tried():
    queue = line(work("a"), work("b"))
    queue.back(queue.take(), Requeue.NO_FIT, NOON)

    queue.wake(lambda work: work.view.name == "b")

    assert taken(queue) == ["b"]


def test_a_change_while_a_head_is_decided_on_keeps_it_in_line():
    queue = line(work("a"))
    head = queue.take()

    queue.wake(lambda work: True)

    assert queue.back(head, Requeue.NO_FIT, NOON)


def test_a_head_with_flavors_left_to_try_stays_in_line():
    queue = line(work("a"))
    head = queue.take()
    head.tried = Tried([{"cpu": 0}], 1, 1, head.shape)

    assert queue.back(head, Requeue.NO_CANDIDATES, NOON)


def test_a_parked_one_that_only_says_why_stays_parked():
    queue = line(work("a"))
    queue.back(queue.take(), Requeue.NO_FIT, NOON)

    is_to_be_tried = queue.put(work("a", conditions=[condition("QuotaReserved", "False", "Pending")]), NOON)

    assert not is_to_be_tried
    assert queue.inadmissible == 1


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(work("a", cpu="500m"), id="it asks for less"),
        pytest.param(work("a", priority=3), id="another priority"),
        pytest.param(work("a", conditions=[condition("Requeued", "True")]), id="its back-off has ended"),
        pytest.param(work("a", status={"reclaimablePods": [{"name": "main", "count": 1}]}), id="it needs fewer pods"),
    ],
)
def test_a_parked_one_that_changed_is_tried(changed):
    queue = line(work("a"))
    queue.back(queue.take(), Requeue.GENERIC, NOON)

    assert queue.put(changed, NOON)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"conditions": [condition("Requeued", "False")]}, id="held back by a condition"),
        pytest.param({"status": {"requeueState": {"requeueAt": "2026-01-01T12:00:01Z"}}}, id="until a moment to come"),
    ],
)
def test_who_backs_off_is_not_tried(told):
    queue = line()

    is_to_be_tried = queue.put(work("a", **told), NOON)

    assert not is_to_be_tried
    assert taken(queue) == []


def test_a_back_off_ends():
    queue = line()
    status = {"requeueState": {"requeueAt": "2026-01-01T12:00:01Z"}}

    assert queue.put(work("a", status=status), NOON + timedelta(seconds=1))


def test_what_changes_while_a_head_is_decided_on_waits_for_the_decision():
    queue = line(work("a"))
    queue.take()

    assert not queue.put(work("a", cpu="2"), NOON)
    assert len(queue) == 1


def test_a_heap_does_not_grow_with_those_who_come_and_go():
    queue = line(*(work(f"w{number:02d}") for number in range(20)))

    for _ in range(50):
        queue.back(queue.take(), Requeue.NO_FIT, NOON)
        queue.wake(lambda work: True)

    assert len(queue) == 20
    assert sum(map(len, queue._heaps.values())) < 200
    assert len(taken(queue)) == 20
