"""The books: where a Workload stands after each change, what is assumed, and who is told."""

import pytest

from fleetqueue.embedded.kueue.scheduling.adjusting import summary
from fleetqueue.embedded.kueue.scheduling.books import Books
from fleetqueue.embedded.kueue.scheduling.queues import Requeue
from fleetqueue.embedded.kueue.scheduling.settings import SchedulingSettings
from fleetqueue.embedded.kueue.scheduling.standings import Usage

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
    local_queue,
    pod_set,
    queue,
    quota,
    workload,
)
from .test_adjusting import limit_range


class Heard:
    """Books that note what they ask for."""

    def __init__(self):
        self.books = Books(SchedulingSettings())
        self.stirred, self.retried, self.told = 0, [], set()
        self.books.stir = self._stir
        self.books.retry = self.retried.append
        self.books.subscribe(lambda kind, key: self.told.add((kind, key)))

    def _stir(self):
        self.stirred += 1

    def forget(self):
        self.stirred, self.retried, self.told = 0, [], set()
        self.books.retry = self.retried.append


@pytest.fixture
def heard():
    """A queue of four cpus with all that it needs."""
    found = Heard()
    found.books.set_namespace(NAMESPACE, {})
    found.books.set_flavor(flavor())
    found.books.set_cluster_queue(queue())
    found.books.set_local_queue(local_queue())
    found.forget()
    return found


@pytest.fixture
def books(heard):
    return heard.books


def heads(books):
    return [work.view.name for work in books.heads()]


def test_a_new_workload_waits_and_stirs(heard):
    heard.books.set_workload(workload("a"))

    assert heard.books.of_cluster_queue("q") == Usage(pending=1)
    assert heard.books.of_local_queue("team/q") == Usage(pending=1)
    assert heard.stirred
    assert heard.told == {("ClusterQueue", "q"), ("LocalQueue", "team/q")}


def test_an_admitted_workload_holds_its_quota(books):
    books.set_workload(admitted("a", cpu="3"))

    expected = Usage(0, 1, 1, {CPU: 3000}, {CPU: 3000})
    assert books.of_cluster_queue("q") == books.of_local_queue("team/q") == expected
    assert books.queue("q").available(CPU) == 1000


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda books: books.drop_workload("team/a"), id="deleted"),
        pytest.param(
            lambda books: books.set_workload(workload("a", conditions=[condition("Finished", "True")])), id="finished"
        ),
        pytest.param(lambda books: books.set_workload(workload("a", active=False)), id="deactivated"),
        pytest.param(
            lambda books: books.set_workload(workload("a", conditions=[condition("QuotaReserved", "False")])),
            id="stopped",
        ),
    ],
)
def test_who_gives_quota_back_has_others_asked_again(heard, end):
    heard.books.set_workload(admitted("a"))
    heard.forget()

    end(heard.books)

    assert heard.books.queue("q").available(CPU) == 4000
    assert heard.retried == ["q"]
    assert heard.stirred


def test_pods_that_are_done_give_quota_back(heard):
    given = admitted("a", cpu="3").status
    sets = pod_set(count=3, requests={"cpu": "1"})
    admission = {"clusterQueue": "q", "podSetAssignments": [_three_cpus()]}
    told = [condition("QuotaReserved", "True")]
    heard.books.set_workload(workload("a", sets, conditions=told, status={"admission": admission}))
    heard.forget()

    done = {"admission": admission, "reclaimablePods": [{"name": "main", "count": 2}]}
    heard.books.set_workload(workload("a", sets, conditions=told, status=done))

    assert given.admission is not None
    assert heard.books.queue("q").available(CPU) == 3000
    assert heard.retried == ["q"]


def _three_cpus():
    return {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "3"}, "count": 3}


def test_a_local_queue_on_hold_sends_its_workloads_away_and_takes_them_back(books):
    books.set_workload(workload("a"))

    books.set_local_queue(local_queue(stop="Hold"))
    held = books.of_cluster_queue("q").pending
    books.set_local_queue(local_queue())

    assert (held, heads(books)) == (0, ["a"])


def test_a_local_queue_that_goes_takes_its_workloads_along(heard):
    heard.books.set_workload(workload("a"))
    heard.forget()

    heard.books.drop_local_queue("team/q")

    assert heard.books.of_cluster_queue("q").pending == 0
    assert heard.told == {("ClusterQueue", "q"), ("LocalQueue", "team/q")}


def test_a_queue_that_goes_has_its_relatives_asked_again(heard):
    heard.books.set_cluster_queue(queue(cohort="c"))
    heard.books.set_cluster_queue(queue("r", cohort="c"))
    heard.forget()

    heard.books.drop_cluster_queue("q")

    assert heard.retried == ["/c"]


def test_workloads_wait_for_a_cluster_queue_that_is_not_there_yet(books):
    books.set_local_queue(local_queue("later"))
    books.set_workload(workload("a", to="later"))
    before = heads(books)

    books.set_cluster_queue(queue("later"))

    assert (before, heads(books)) == ([], ["a"])
    assert books.of_local_queue("team/later").pending == 1


def test_a_cluster_queue_that_comes_back_finds_what_is_held(books):
    books.set_workload(admitted("a", cpu="3"))

    books.drop_cluster_queue("q")
    books.set_cluster_queue(queue())

    assert books.queue("q").available(CPU) == 1000


@pytest.mark.parametrize(
    ("close", "reopen"),
    [
        pytest.param(
            lambda books: books.drop_flavor("default"),
            lambda books: books.set_flavor(flavor()),
            id="without its flavor",
        ),
        pytest.param(
            lambda books: books.set_cluster_queue(queue(stopPolicy="Hold")),
            lambda books: books.set_cluster_queue(queue()),
            id="on hold",
        ),
        pytest.param(
            lambda books: books.set_cluster_queue(
                queue(admissionChecksStrategy={"admissionChecks": [{"name": "slow"}]})
            ),
            lambda books: books.set_check(check("slow")),
            id="without its check",
        ),
    ],
)
def test_a_closed_queue_keeps_its_line_and_opens_again(heard, close, reopen):
    heard.books.set_workload(workload("a"))
    close(heard.books)
    closed = heads(heard.books), heard.books.is_closed("q"), heard.books.of_cluster_queue("q").pending
    heard.forget()

    reopen(heard.books)

    assert closed == ([], True, 1)
    assert heads(heard.books) == ["a"]
    assert heard.stirred


def test_a_queue_in_a_circle_is_closed(books):
    books.set_cohort(cohort("c", parent="d"))
    books.set_cohort(cohort("d", parent="c"))

    books.set_cluster_queue(queue(cohort="c"))

    assert books.is_closed("q")


def test_the_parked_of_the_whole_tree_are_woken(books):
    books.set_cluster_queue(queue(cohort="c"))
    books.set_cluster_queue(queue("r", cohort="c"))
    books.set_workload(workload("a"))
    (head,) = books.heads()
    books.back(head, Requeue.NO_FIT)

    books.wake("/c")

    assert heads(books) == ["a"]


def test_who_is_not_selected_is_not_woken_until_its_namespace_is(heard):
    selective = queue(namespaceSelector={"matchLabels": {"team": "a"}})
    heard.books.set_cluster_queue(selective)
    heard.books.set_workload(workload("a"))
    (head,) = heard.books.heads()
    heard.books.back(head, Requeue.NAMESPACE_MISMATCH)
    heard.books.wake("q")
    before = heads(heard.books)
    heard.forget()

    heard.books.set_namespace(NAMESPACE, {"team": "a"})
    heard.books.wake("q")

    assert heard.retried == ["q"]
    assert (before, heads(heard.books)) == ([], ["a"])


def test_what_is_assumed_counts_before_it_is_seen(books):
    books.set_workload(workload("a", cpu="3"))
    books.heads()

    books.assume(holder("a", cpu="3"), is_admitted=False)

    assert books.of_cluster_queue("q") == Usage(0, 1, 0, {CPU: 3000}, {})


def test_an_assumption_outlives_what_was_seen_before_it_was_written(books):
    books.set_workload(workload("a", version=1))
    books.heads()
    books.assume(holder("a"), is_admitted=True)

    books.set_workload(workload("a", version=2, conditions=[condition("QuotaReserved", "False", "Pending")]))
    books.confirm("team/a", "3")
    before = books.of_cluster_queue("q")
    books.set_workload(admitted("a", version=3))

    assert (before.pending, before.reserving) == (0, 1)
    assert books.of_cluster_queue("q").admitted == 1


def test_what_is_seen_before_the_write_is_answered_counts_when_it_is(books):
    books.set_workload(workload("a", version=1))
    books.heads()
    books.assume(holder("a"), is_admitted=True)

    books.set_workload(workload("a", version=4, conditions=[condition("Finished", "True")]))
    books.confirm("team/a", "3")

    assert books.of_cluster_queue("q") == Usage()


def test_an_assumption_that_could_not_be_written_is_taken_back(heard):
    heard.books.set_workload(workload("a"))
    heard.books.heads()
    heard.books.assume(holder("a"), is_admitted=True)

    heard.books.forget("team/a")

    assert heard.books.of_cluster_queue("q") == Usage(pending=1)
    assert heads(heard.books) == ["a"]


def test_a_workload_that_is_deleted_meanwhile_leaves_nothing(books):
    books.set_workload(workload("a"))
    books.heads()
    books.assume(holder("a"), is_admitted=True)

    books.drop_workload("team/a")
    books.confirm("team/a", "3")

    assert books.of_cluster_queue("q") == books.of_local_queue("team/q") == Usage()


def test_a_head_that_changed_while_it_was_decided_on_comes_back_changed(books):
    books.set_workload(workload("a", cpu="5"))
    (head,) = books.heads()
    books.set_workload(workload("a", cpu="1", version=2))

    books.back(head, Requeue.FAILED_AFTER_NOMINATION)

    assert [work.parts[0].requests for work in books.heads()] == [{"cpu": 1000}]


def test_a_head_that_was_sent_to_another_queue_goes_there(books):
    books.set_cluster_queue(queue("r"))
    books.set_local_queue(local_queue("r"))
    books.set_workload(workload("a"))
    (head,) = books.heads()
    books.set_workload(workload("a", to="r", version=2))

    books.back(head, Requeue.NO_FIT)

    assert books.of_cluster_queue("q").pending == 0
    assert books.in_order("r") == ["team/a"]


def test_a_head_that_was_deleted_does_not_come_back(books):
    books.set_workload(workload("a"))
    (head,) = books.heads()
    books.drop_workload("team/a")

    books.back(head, Requeue.NO_FIT)

    assert books.of_cluster_queue("q") == Usage()


def test_a_preemption_is_remembered_until_it_shows(books):
    books.set_workload(admitted("a"))
    victim = holder("a")

    books.preempt(victim)
    before = books.is_being_preempted(victim)
    books.set_workload(admitted("a", evicted=True))

    assert before
    assert not books.is_being_preempted(victim)


def test_a_limit_range_that_comes_changes_who_waits(books):
    books.set_workload(workload("a", pod_set()))

    books.set_limits(NAMESPACE, summary([limit_range({"type": "Container", "defaultRequest": {"cpu": "2"}})]))

    assert [work.parts[0].requests for work in books.heads()] == [{"cpu": 2000}]


def test_a_runtime_class_that_comes_changes_who_waits(books):
    books.set_workload(workload("a", pod_set(requests={"cpu": "1"}, runtimeClassName="slow")))

    books.set_overhead("slow", {"cpu": "1"})

    assert [work.parts[0].requests for work in books.heads()] == [{"cpu": 2000}]


def test_less_quota_is_counted_and_takes_nothing_away(books):
    books.set_workload(admitted("a", cpu="3"))

    books.set_cluster_queue(queue("q", group(default=quota(2))))

    assert books.queue("q").available(CPU) == -1000


def test_a_queue_whose_status_changed_is_not_asked_again(heard):
    heard.books.set_cluster_queue(queue())

    assert (heard.retried, heard.stirred) == ([], 0)
