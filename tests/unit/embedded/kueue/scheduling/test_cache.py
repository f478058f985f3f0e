"""The cache: where a Workload stands after each change, what is assumed, and who is told."""

import pytest

from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import summary
from fleetqueue.embedded.kueue.scheduling.queue_usage import QueueUsageStats
from fleetqueue.embedded.kueue.settings import SchedulingSettings

from .objects import (
    CPU,
    NAMESPACE,
    admitted,
    check,
    cohort,
    condition,
    flavor,
    group,
    holder,
    limit_range,
    local_queue,
    pod_set,
    queue,
    quota,
    workload,
)


class Heard:
    """Cache that note what they ask for."""

    def __init__(self):
        self.cache = Cache(SchedulingSettings())
        self.stirred, self.retried, self.told = 0, [], set()
        self.cache.on_pending = self._stir
        self.cache.retry = self.retried.append
        self.cache.subscribe(lambda kind, key: self.told.add((kind, key)))

    def _stir(self):
        self.stirred += 1

    def forget(self):
        self.stirred, self.retried, self.told = 0, [], set()
        self.cache.retry = self.retried.append


@pytest.fixture
def heard():
    """A queue of four cpus with all that it needs."""
    found = Heard()
    found.cache.set_namespace(NAMESPACE, {})
    found.cache.set_flavor(flavor())
    found.cache.set_cluster_queue(queue())
    found.cache.set_local_queue(local_queue())
    found.forget()
    return found


@pytest.fixture
def cache(heard):
    return heard.cache


def heads(cache):
    return [work.view.name for work in cache.heads()]


def test_a_new_workload_waits_and_stirs(heard):
    heard.cache.set_workload(workload("a"))

    assert heard.cache.of_cluster_queue("q") == QueueUsageStats(pending=1)
    assert heard.cache.of_local_queue("team/q") == QueueUsageStats(pending=1)
    assert heard.stirred
    assert heard.told == {("ClusterQueue", "q"), ("LocalQueue", "team/q")}


def test_an_admitted_workload_holds_its_quota(cache):
    cache.set_workload(admitted("a", cpu="3"))

    expected = QueueUsageStats(0, 1, 1, {CPU: 3000}, {CPU: 3000})
    assert cache.of_cluster_queue("q") == cache.of_local_queue("team/q") == expected
    assert cache.queue("q").available(CPU) == 1000


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda cache: cache.drop_workload("team/a"), id="deleted"),
        pytest.param(
            lambda cache: cache.set_workload(workload("a", conditions=[condition("Finished", "True")])), id="finished"
        ),
        pytest.param(lambda cache: cache.set_workload(workload("a", active=False)), id="deactivated"),
        pytest.param(
            lambda cache: cache.set_workload(workload("a", conditions=[condition("QuotaReserved", "False")])),
            id="stopped",
        ),
    ],
)
def test_who_gives_quota_back_has_others_asked_again(heard, end):
    heard.cache.set_workload(admitted("a"))
    heard.forget()

    end(heard.cache)

    assert heard.cache.queue("q").available(CPU) == 4000
    assert heard.retried == ["q"]
    assert heard.stirred


def test_pods_that_are_done_give_quota_back(heard):
    given = admitted("a", cpu="3").status
    sets = pod_set(count=3, requests={"cpu": "1"})
    admission = {"clusterQueue": "q", "podSetAssignments": [_three_cpus()]}
    told = [condition("QuotaReserved", "True")]
    heard.cache.set_workload(workload("a", sets, conditions=told, status={"admission": admission}))
    heard.forget()

    done = {"admission": admission, "reclaimablePods": [{"name": "main", "count": 2}]}
    heard.cache.set_workload(workload("a", sets, conditions=told, status=done))

    assert given.admission is not None
    assert heard.cache.queue("q").available(CPU) == 3000
    assert heard.retried == ["q"]


def _three_cpus():
    return {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "3"}, "count": 3}


def test_a_local_queue_on_hold_sends_its_workloads_away_and_takes_them_back(cache):
    cache.set_workload(workload("a"))

    cache.set_local_queue(local_queue(stop="Hold"))
    held = cache.of_cluster_queue("q").pending
    cache.set_local_queue(local_queue())

    assert (held, heads(cache)) == (0, ["a"])


def test_a_local_queue_that_goes_takes_its_workloads_along(heard):
    heard.cache.set_workload(workload("a"))
    heard.forget()

    heard.cache.drop_local_queue("team/q")

    assert heard.cache.of_cluster_queue("q").pending == 0
    assert heard.told == {("ClusterQueue", "q"), ("LocalQueue", "team/q")}


def test_a_queue_that_goes_has_its_relatives_asked_again(heard):
    heard.cache.set_cluster_queue(queue(cohort="c"))
    heard.cache.set_cluster_queue(queue("r", cohort="c"))
    heard.forget()

    heard.cache.drop_cluster_queue("q")

    assert heard.retried == ["/c"]


def test_workloads_wait_for_a_cluster_queue_that_is_not_there_yet(cache):
    cache.set_local_queue(local_queue("later"))
    cache.set_workload(workload("a", to="later"))
    before = heads(cache)

    cache.set_cluster_queue(queue("later"))

    assert (before, heads(cache)) == ([], ["a"])
    assert cache.of_local_queue("team/later").pending == 1


def test_a_cluster_queue_that_comes_back_finds_what_is_held(cache):
    cache.set_workload(admitted("a", cpu="3"))

    cache.drop_cluster_queue("q")
    cache.set_cluster_queue(queue())

    assert cache.queue("q").available(CPU) == 1000


@pytest.mark.parametrize(
    ("close", "reopen"),
    [
        pytest.param(
            lambda cache: cache.drop_flavor("default"),
            lambda cache: cache.set_flavor(flavor()),
            id="without its flavor",
        ),
        pytest.param(
            lambda cache: cache.set_cluster_queue(queue(stopPolicy="Hold")),
            lambda cache: cache.set_cluster_queue(queue()),
            id="on hold",
        ),
        pytest.param(
            lambda cache: cache.set_cluster_queue(
                queue(admissionChecksStrategy={"admissionChecks": [{"name": "slow"}]})
            ),
            lambda cache: cache.set_check(check("slow")),
            id="without its check",
        ),
    ],
)
def test_a_closed_queue_keeps_its_line_and_opens_again(heard, close, reopen):
    heard.cache.set_workload(workload("a"))
    close(heard.cache)
    closed = heads(heard.cache), heard.cache.is_closed("q"), heard.cache.of_cluster_queue("q").pending
    heard.forget()

    reopen(heard.cache)

    assert closed == ([], True, 1)
    assert heads(heard.cache) == ["a"]
    assert heard.stirred


def test_a_queue_in_a_circle_is_closed(cache):
    cache.set_cohort(cohort("c", parent="d"))
    cache.set_cohort(cohort("d", parent="c"))

    cache.set_cluster_queue(queue(cohort="c"))

    assert cache.is_closed("q")


def test_the_parked_of_the_whole_tree_are_woken(cache):
    cache.set_cluster_queue(queue(cohort="c"))
    cache.set_cluster_queue(queue("r", cohort="c"))
    cache.set_workload(workload("a"))
    (head,) = cache.heads()
    cache.back(head, Requeue.NO_FIT)

    cache.wake("/c")

    assert heads(cache) == ["a"]


def test_who_is_not_selected_is_not_woken_until_its_namespace_is(heard):
    selective = queue(namespaceSelector={"matchLabels": {"team": "a"}})
    heard.cache.set_cluster_queue(selective)
    heard.cache.set_workload(workload("a"))
    (head,) = heard.cache.heads()
    heard.cache.back(head, Requeue.NAMESPACE_MISMATCH)
    heard.cache.wake("q")
    before = heads(heard.cache)
    heard.forget()

    heard.cache.set_namespace(NAMESPACE, {"team": "a"})
    heard.cache.wake("q")

    assert heard.retried == ["q"]
    assert (before, heads(heard.cache)) == ([], ["a"])


def test_what_is_assumed_counts_before_it_is_seen(cache):
    cache.set_workload(workload("a", cpu="3"))
    cache.heads()

    cache.assume(holder("a", cpu="3"), is_admitted=False)

    assert cache.of_cluster_queue("q") == QueueUsageStats(0, 1, 0, {CPU: 3000}, {})


def test_an_assumption_outlives_what_was_seen_before_it_was_written(cache):
    cache.set_workload(workload("a", version=1))
    cache.heads()
    cache.assume(holder("a"), is_admitted=True)

    cache.set_workload(workload("a", version=2, conditions=[condition("QuotaReserved", "False", "Pending")]))
    cache.confirm("team/a", "3")
    before = cache.of_cluster_queue("q")
    cache.set_workload(admitted("a", version=3))

    assert (before.pending, before.reserving) == (0, 1)
    assert cache.of_cluster_queue("q").admitted == 1


def test_what_is_seen_before_the_write_is_answered_counts_when_it_is(cache):
    cache.set_workload(workload("a", version=1))
    cache.heads()
    cache.assume(holder("a"), is_admitted=True)

    cache.set_workload(workload("a", version=4, conditions=[condition("Finished", "True")]))
    cache.confirm("team/a", "3")

    assert cache.of_cluster_queue("q") == QueueUsageStats()


def test_an_assumption_that_could_not_be_written_is_taken_back(heard):
    heard.cache.set_workload(workload("a"))
    heard.cache.heads()
    heard.cache.assume(holder("a"), is_admitted=True)

    heard.cache.forget("team/a")

    assert heard.cache.of_cluster_queue("q") == QueueUsageStats(pending=1)
    assert heads(heard.cache) == ["a"]


def test_a_workload_that_is_deleted_meanwhile_leaves_nothing(cache):
    cache.set_workload(workload("a"))
    cache.heads()
    cache.assume(holder("a"), is_admitted=True)

    cache.drop_workload("team/a")
    cache.confirm("team/a", "3")

    assert cache.of_cluster_queue("q") == cache.of_local_queue("team/q") == QueueUsageStats()


def test_a_head_that_changed_while_it_was_decided_on_comes_back_changed(cache):
    cache.set_workload(workload("a", cpu="5"))
    (head,) = cache.heads()
    cache.set_workload(workload("a", cpu="1", version=2))

    cache.back(head, Requeue.FAILED_AFTER_NOMINATION)

    assert [work.parts[0].requests for work in cache.heads()] == [{"cpu": 1000}]


def test_a_head_that_was_sent_to_another_queue_goes_there(cache):
    cache.set_cluster_queue(queue("r"))
    cache.set_local_queue(local_queue("r"))
    cache.set_workload(workload("a"))
    (head,) = cache.heads()
    cache.set_workload(workload("a", to="r", version=2))

    cache.back(head, Requeue.NO_FIT)

    assert cache.of_cluster_queue("q").pending == 0
    assert [work.key for work in cache.queue_manager.queues["r"].all()] == ["team/a"]


def test_a_head_that_was_deleted_does_not_come_back(cache):
    cache.set_workload(workload("a"))
    (head,) = cache.heads()
    cache.drop_workload("team/a")

    cache.back(head, Requeue.NO_FIT)

    assert cache.of_cluster_queue("q") == QueueUsageStats()


def test_a_preemption_is_remembered_until_it_shows(cache):
    cache.set_workload(admitted("a"))
    victim = holder("a")

    cache.preempt(victim)
    before = cache.is_being_preempted(victim)
    cache.set_workload(admitted("a", evicted=True))

    assert before
    assert not cache.is_being_preempted(victim)


def test_a_limit_range_that_comes_changes_who_waits(cache):
    cache.set_workload(workload("a", pod_set()))

    cache.set_limits(NAMESPACE, summary([limit_range({"type": "Container", "defaultRequest": {"cpu": "2"}})]))

    assert [work.parts[0].requests for work in cache.heads()] == [{"cpu": 2000}]


def test_a_limit_range_that_goes_has_those_tried_again_that_it_refused(cache):
    cache.set_limits(NAMESPACE, summary([limit_range({"type": "Container", "max": {"cpu": "1"}})]))
    cache.set_workload(workload("a", cpu="2"))
    [refused] = cache.heads()
    cache.back(refused, Requeue.GENERIC)

    cache.set_limits(NAMESPACE, summary([]))

    assert [(work.view.name, work.wrong) for work in cache.heads()] == [("a", "")]


def test_a_runtime_class_that_comes_changes_who_waits(cache):
    cache.set_workload(workload("a", pod_set(requests={"cpu": "1"}, runtimeClassName="slow")))

    cache.set_overhead("slow", {"cpu": "1"})

    assert [work.parts[0].requests for work in cache.heads()] == [{"cpu": 2000}]


def test_who_gives_quota_back_and_backs_off_is_not_queued_before_it_says_something_else(cache):
    later = {"requeueState": {"count": 1, "requeueAt": "2999-01-01T00:00:00Z"}}
    cache.set_workload(admitted("a"))

    cache.set_workload(workload("a", version=3, status=later))
    at_first = cache.of_cluster_queue("q").pending
    cache.set_workload(workload("a", version=4, status=later))

    assert (at_first, cache.of_cluster_queue("q").pending) == (0, 1)


def test_less_quota_is_counted_and_takes_nothing_away(cache):
    cache.set_workload(admitted("a", cpu="3"))

    cache.set_cluster_queue(queue("q", group(default=quota(2))))

    assert cache.queue("q").available(CPU) == -1000


def test_a_queue_whose_status_changed_is_not_asked_again(heard):
    heard.cache.set_cluster_queue(queue())

    assert (heard.retried, heard.stirred) == ([], 0)
