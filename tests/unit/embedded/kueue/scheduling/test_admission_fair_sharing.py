"""What LocalQueues have consumed: how the past fades, what penalties do, and whose Workloads come first for it."""

import math
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.kueue.scheduling.admission_fair_sharing import (
    UsageLedger,
    decayed,
    entry_penalty,
    scaled,
    units,
    weighted_usage,
)
from fleetqueue.embedded.kueue.scheduling.amounts import written_exactly
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.settings import AdmissionFairSharingSettings, SchedulingSettings

from .objects import NAMESPACE, NOON, admitted, condition, flavor, local_queue, queue, workload

HOUR = 3600.0
HALVING = AdmissionFairSharingSettings(half_life=HOUR, sampling_interval=HOUR)
BY_USAGE = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


def cpu(value):
    return {"cpu": Decimal(value)}


@pytest.mark.parametrize(
    ("seconds", "consumed"),
    [
        pytest.param(0, "8", id="at once nothing"),
        pytest.param(HOUR, "6", id="after a half-life it is half of both"),
        pytest.param(2 * HOUR, "5", id="after two a quarter is left of the past"),
        pytest.param(-5, "8", id="time does not run backwards"),
    ],
)
def test_the_past_fades(seconds, consumed):
    assert decayed(cpu(8), cpu(4), seconds, HOUR) == cpu(consumed)


def test_without_a_half_life_nothing_fades_and_nothing_is_added():
    assert decayed(cpu(8), cpu(4), 9, 0.0) == cpu(8)
    assert entry_penalty(cpu(4), AdmissionFairSharingSettings()) == cpu(0)


def test_a_penalty_is_what_one_interval_would_add():
    settings = AdmissionFairSharingSettings(half_life=HOUR, sampling_interval=2 * HOUR)

    assert entry_penalty(cpu(4), settings) == cpu(3)


@given(st.integers(0, 10**15), st.lists(st.floats(0, 1), max_size=50))
def test_amounts_do_not_grow_longer_when_they_are_multiplied(value, factors):
    amounts = cpu(value)
    for factor in factors:
        amounts = scaled(amounts, factor)

    assert -amounts["cpu"].as_tuple().exponent <= 9
    assert 0 <= amounts["cpu"] <= value


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1e5), st.floats(0, 1e5))
def test_it_does_not_matter_how_often_a_constant_usage_is_sampled(past, used, one, other):
    at_once = decayed(cpu(past), cpu(used), one + other, HOUR)
    in_two = decayed(decayed(cpu(past), cpu(used), one, HOUR), cpu(used), other, HOUR)

    assert float(at_once["cpu"]) == pytest.approx(float(in_two["cpu"]), abs=1e-6)


@pytest.mark.parametrize(
    ("weight", "weights", "usage"),
    [
        pytest.param(1.0, {}, 6.0, id="all resources count the same"),
        pytest.param(1.0, {"cpu": 2.0, "gpu": 0.0}, 8.0, id="or as much as is said"),
        pytest.param(2.0, {}, 3.0, id="divided by the weight of the queue"),
        pytest.param(0.0, {}, math.inf, id="without a weight it comes last"),
    ],
)
def test_the_usage_is_one_number(weight, weights, usage):
    assert weighted_usage({"cpu": Decimal(4), "gpu": Decimal(2)}, weight, weights) == usage


@pytest.mark.parametrize(
    ("value", "text"),
    [("0", "0"), ("1.5", "1500m"), ("2000", "2k"), ("0.333333333", "333333333n"), ("0.00025", "250u")],
)
def test_amounts_are_written_exactly(value, text):
    assert written_exactly(Decimal(value)) == text


def at(seconds):
    return NOON + timedelta(seconds=seconds)


def test_a_penalty_counts_until_it_is_settled_and_only_once():
    ledger = UsageLedger(HALVING)
    ledger.charge("a", "w", cpu(4), NOON)
    ledger.charge("a", "w", cpu(4), NOON)
    charged = ledger.usage("a")
    ledger.settle("a", "w", cpu(4), NOON)
    settled = ledger.usage("a")
    ledger.settle("a", "w", cpu(4), NOON)

    assert (charged, settled, ledger.usage("a")) == (2.0, 2.0, 2.0)


def test_a_penalty_is_forgotten_where_nobody_was_admitted():
    ledger = UsageLedger(HALVING)
    ledger.charge("a", "w", cpu(4), NOON)
    ledger.discharge("a", "w")

    assert ledger.usage("a") == 0.0


def test_a_sample_is_taken_when_it_is_time():
    ledger = UsageLedger(HALVING)
    first, soon = ledger.sample("a", cpu(4), None, NOON)
    early, later = ledger.sample("a", cpu(4), None, at(1800))
    due, again = ledger.sample("a", cpu(4), None, at(3600))

    assert (first.consumed, first.at, soon) == (cpu(0), NOON, 3600)
    assert (early, later) == (first, 1800)
    assert (due.consumed, due.at, again) == (cpu(2), at(3600), 3600)


def test_a_sample_is_taken_at_once_for_a_penalty_and_once():
    ledger = UsageLedger(HALVING)
    ledger.sample("a", cpu(0), None, NOON)
    ledger.charge("a", "w", cpu(4), at(10))
    found, _ = ledger.sample("a", cpu(0), None, at(11))
    again, _ = ledger.sample("a", cpu(0), None, at(12))

    assert (found.consumed, found.at) == (cpu(0), at(11))
    assert again == found


def test_what_a_status_says_counts_once_after_a_restart():
    ledger = UsageLedger(HALVING)
    ledger.settle("a", "w", cpu(0), NOON)
    found, _ = ledger.sample("a", cpu(0), cpu(3), NOON)
    ledger.sample("a", cpu(0), cpu(3), at(1))

    assert found.consumed == cpu(3)
    assert ledger.usage("a") == 3.0


def test_without_a_half_life_a_sample_forgets():
    ledger = UsageLedger(AdmissionFairSharingSettings(sampling_interval=60))
    found, _ = ledger.sample("a", cpu(4), cpu(3), NOON)

    assert (found.consumed, ledger.usage("a")) == ({}, 0.0)


def test_requests_are_counted_in_whole_units():
    assert units({"cpu": 1500, "memory": 2**30}) == {"cpu": Decimal("1.5"), "memory": Decimal(2**30)}


class Sharing:
    """A ClusterQueue that two LocalQueues lead to, `a` and `b`."""

    def __init__(self, settings=HALVING, **spec):
        self.cache = Cache(SchedulingSettings(admission_fair_sharing=settings))
        self.cache.set_namespace(NAMESPACE, {})
        self.cache.set_flavor(flavor())
        self.cache.set_cluster_queue(queue("q", **{**BY_USAGE, **spec}))
        for name in "ab":
            self.cache.set_local_queue(local_queue(name, to="q"))

    def usages(self):
        return [self.cache.ledger.usage(f"{NAMESPACE}/{name}") for name in "ab"]

    def heads(self):
        """Take everybody, one after the other, for good."""
        names = []
        while heads := self.cache.heads():
            names.append(heads[0].view.name)
            self.cache.drop_workload(heads[0].key)
        return names

    def consume(self, name, cpus):
        self.cache.ledger.settle(f"{NAMESPACE}/{name}", "", {}, NOON)
        self.cache.ledger.sample(f"{NAMESPACE}/{name}", {}, cpu(cpus), NOON)


def waiting(sharing, *works):
    for each in works:
        sharing.cache.set_workload(each)
    return sharing


def three():
    return workload("a1", to="a", age=9), workload("a2", to="a", age=8, priority=5), workload("b1", to="b", age=1)


def test_who_has_consumed_less_comes_first_before_all_priorities():
    sharing = waiting(Sharing(), *three())
    sharing.consume("a", 1)

    assert sharing.heads() == ["b1", "a2", "a1"]


@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        pytest.param(HALVING, {"admissionScope": {"admissionMode": "NoAdmissionFairSharing"}}, id="not asked for"),
        pytest.param(None, {}, id="not configured"),
    ],
)
def test_elsewhere_usage_does_not_matter(settings, spec):
    sharing = waiting(Sharing(settings, **spec), *three())
    sharing.consume("a", 1)

    assert sharing.heads() == ["a2", "a1", "b1"]


def test_who_waits_for_a_preemption_goes_first_only_among_equals():
    sharing = waiting(Sharing(), *three())
    (head,) = sharing.cache.heads()
    sharing.cache.back(head, Requeue.PENDING_PREEMPTION)
    sharing.cache.set_workload(workload("a3", to="a", age=8, priority=9))
    (among_equals,) = sharing.cache.heads()
    sharing.cache.back(among_equals, Requeue.FAILED_AFTER_NOMINATION)
    sharing.consume("a", 1)

    assert (head.view.name, among_equals.view.name) == ("a2", "a2")
    assert sharing.heads() == ["b1", "a2", "a3", "a1"]


def test_weights_of_local_queues_count():
    sharing = waiting(Sharing(), *three())
    sharing.cache.set_local_queue(local_queue("a", to="q", fairSharing={"weight": "4"}))
    sharing.consume("a", 2)
    sharing.consume("b", 1)

    assert sharing.heads() == ["a2", "a1", "b1"]


def test_who_waits_is_shown_in_the_same_order():
    sharing = waiting(Sharing(), *three())
    sharing.consume("a", 1)

    assert [work.view.name for work in sharing.cache.queue_manager.queues["q"].all()] == ["b1", "a2", "a1"]


def assume(sharing):
    """Give the head quota, as the scheduler does."""
    (head,) = sharing.cache.heads()
    sharing.cache.assume(head, is_admitted=False)
    sharing.cache.charge(head)
    return head


def test_who_is_given_quota_counts_at_once_and_the_next_is_another():
    sharing = waiting(Sharing(), *three())
    first = assume(sharing)

    assert first.view.name == "a2"
    assert sharing.usages() == [0.5, 0.0]
    assert sharing.heads() == ["b1", "a1"]


def test_an_admission_that_could_not_be_written_costs_nothing():
    sharing = waiting(Sharing(), workload("w", to="a"))
    head = assume(sharing)
    sharing.cache.forget(head.key)

    assert sharing.usages() == [0.0, 0.0]


RESERVED = [condition("QuotaReserved", "True")]
GIVEN = {
    "admission": {
        "clusterQueue": "q",
        "podSetAssignments": [{"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}}],
    }
}


@pytest.mark.parametrize(
    ("then", "usage"),
    [
        pytest.param({"conditions": RESERVED, "status": GIVEN}, 0.5, id="it waits for checks"),
        pytest.param(
            {"conditions": [*RESERVED, condition("Admitted", "True")], "status": GIVEN}, 0.5, id="it is admitted"
        ),
        pytest.param({"conditions": RESERVED, "status": GIVEN, "active": False}, 0.5, id="it is about to give back"),
        pytest.param({"active": False}, 0.0, id="it was deactivated"),
        pytest.param({"conditions": [condition("Finished", "True")]}, 0.0, id="it has finished"),
        pytest.param({}, 0.5, id="it was evicted and waits again"),
    ],
)
def test_what_becomes_of_a_penalty(then, usage):
    sharing = waiting(Sharing(), workload("w", to="a"))
    head = assume(sharing)
    sharing.cache.confirm(head.key, "2")

    sharing.cache.set_workload(workload("w", to="a", **{"version": 3, **then}))

    assert sharing.usages() == [pytest.approx(usage, abs=0.01), 0.0]


def test_a_workload_that_is_deleted_costs_nothing():
    sharing = waiting(Sharing(), workload("w", to="a"))
    head = assume(sharing)
    sharing.cache.drop_workload(head.key)

    assert sharing.usages() == [0.0, 0.0]


def victims(sharing, preemptor):
    sharing.cache.set_workload(preemptor)
    (entry,) = Cycle(sharing.cache, 1, NOON, local_usage=sharing.cache.local_usage).run(sharing.cache.heads())
    return [target.candidate.work.view.name for target in entry.targets]


@pytest.mark.parametrize(("consumed", "victim"), [({}, "new"), ({"a": 5}, "old"), ({"b": 5}, "new")])
def test_those_of_the_queue_that_has_consumed_more_are_preempted_first(consumed, victim):
    sharing = Sharing(preemption={"withinClusterQueue": "LowerPriority"})
    for name, to, age in (("old", "a", 60), ("new", "b", 0)):
        reserved = NOON - timedelta(seconds=age)
        sharing.cache.set_workload(admitted(name, to="q", local=to, cpu="2", reserved=reserved))
    for name, cpus in consumed.items():
        sharing.consume(name, cpus)

    assert victims(sharing, workload("w", to="b", cpu="2", priority=1)) == [victim]


@given(
    halves=st.lists(st.sampled_from("ab"), min_size=1, max_size=12),
    weight=st.sampled_from(["1", "2", "3"]),
)
def test_queues_take_turns_by_their_weights(halves, weight):
    """Whoever has submitted first, and however many: one after the other, as their weights say."""
    sharing = Sharing()
    sharing.cache.set_local_queue(local_queue("a", to="q", fairSharing={"weight": weight}))
    for number in range(12):
        for name in ("a", "b") if halves[0] == "a" else ("b", "a"):
            sharing.cache.set_workload(workload(f"{name}{number}", to=name, age=99 - number))
    served = [assume(sharing).view.name[0] for _ in range(int(weight) + 1)]

    assert sorted(served) == ["a"] * int(weight) + ["b"]
