"""Who must go for whom: by what right, in what order, and how few."""

from datetime import timedelta

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.assignment import GranularMode
from fleetqueue.embedded.kueue.scheduling.candidates import Preemptor
from fleetqueue.embedded.kueue.scheduling.cohorts import Forest
from fleetqueue.embedded.kueue.scheduling.preemption import simulated, targets, without
from fleetqueue.embedded.kueue.scheduling.quota import Quota

from .objects import CPU, NOON, holder, work

LOWER = {"withinClusterQueue": "LowerPriority"}
NEWER = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
RECLAIM = {"reclaimWithinCohort": "Any"}
BORROW = {"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": {"policy": "LowerPriority"}}
BORROW_BELOW_5 = {**BORROW, "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5}}


class Field:
    """Queues with quota, and those who hold some of it."""

    def __init__(self, *queues, cohorts=()):
        self.forest = Forest()
        for name, parent in cohorts:
            self.forest.set_cohort(name, parent, {})
        for name, cohort, cpus in queues:
            self.forest.set_queue(name, cohort, {CPU: Quota(cpus * 1000)})
        self.holders = {}

    def hold(self, name, **said):
        each = holder(name, **said)
        self.holders.setdefault(each.cluster_queue, []).append(each)
        self.forest.queues[each.cluster_queue].add_all(each.usage)
        return self

    def preemptor(self, rules, *, cpus, to="q", priority=10, age=0):
        asked = work("w", to=to, cpu=str(cpus), priority=priority, age=age)
        view = kueue.ClusterQueue.view(kueue.ClusterQueue.manifest(to, spec={"preemption": rules}))
        return Preemptor(asked, self.forest.queues[to], view.spec.preemption, {CPU: cpus * 1000}, {CPU})

    def of(self, name):
        return self.holders.get(name, ())

    def targets(self, rules, **said):
        found = targets(self.preemptor(rules, **said), self.of, NOON)
        return [(target.candidate.work.view.name, target.reason) for target in found]

    def simulated(self, rules, **said):
        preemptor = self.preemptor(rules, **said)
        return simulated(preemptor, targets(preemptor, self.of, NOON))


def names(found):
    return [name for name, _ in found]


ALONE = ("q", "", 4)
PAIR = (("q", "c", 4), ("r", "c", 4))


def own(*names):
    return [(name, "InClusterQueue") for name in names]


@pytest.mark.parametrize(
    ("field", "rules", "asked", "found"),
    [
        pytest.param(Field(ALONE).hold("a", cpu=4), LOWER, {"cpus": 2}, own("a"), id="a lower priority goes"),
        pytest.param(Field(ALONE).hold("a", cpu=4), {}, {"cpus": 2}, [], id="not where it is not allowed"),
        pytest.param(Field(ALONE).hold("a", cpu=4, priority=10), LOWER, {"cpus": 2}, [], id="not an equal one"),
        pytest.param(
            Field(ALONE).hold("a", cpu=4, priority=10), NEWER, {"cpus": 2, "age": 9}, own("a"), id="an equal newer one"
        ),
        pytest.param(Field(ALONE).hold("a", cpu=4, priority=10), NEWER, {"cpus": 2}, [], id="not an equal older one"),
        pytest.param(
            Field(ALONE).hold("a", cpu=2, priority=1).hold("b", cpu=2),
            LOWER,
            {"cpus": 2},
            own("b"),
            id="the lowest first",
        ),
        pytest.param(
            Field(ALONE).hold("a", cpu=3, priority=1).hold("b", cpu=1),
            LOWER,
            {"cpus": 3},
            own("a"),
            id="who is not needed stays",
        ),
        pytest.param(Field(ALONE).hold("a", cpu=1).hold("b", cpu=3, priority=20), LOWER, {"cpus": 2}, [], id="in vain"),
        pytest.param(
            Field(ALONE).hold("a", cpu=2).hold("b", cpu=2, evicted=True, priority=5),
            LOWER,
            {"cpus": 2},
            own("b"),
            id="who is leaving anyway first",
        ),
    ],
)
def test_within_a_queue(field, rules, asked, found):
    assert field.targets(rules, **asked) == found


@pytest.mark.parametrize(
    ("field", "rules", "asked", "found"),
    [
        pytest.param(
            Field(*PAIR).hold("a", to="r", cpu=6),
            RECLAIM,
            {"cpus": 3},
            [("a", "InCohortReclamation")],
            id="what it lent",
        ),
        pytest.param(Field(*PAIR).hold("a", to="r", cpu=6), {}, {"cpus": 3}, [], id="not where it is not allowed"),
        pytest.param(
            Field(*PAIR).hold("a", to="r", cpu=4), RECLAIM, {"cpus": 5}, [], id="not from who does not borrow"
        ),
        pytest.param(
            Field(*PAIR).hold("a", to="r", cpu=4).hold("b", to="r", cpu=4),
            RECLAIM,
            {"cpus": 4},
            [("a", "InCohortReclamation")],
            id="only until the other no longer borrows",
        ),
        pytest.param(
            Field(*PAIR, ("s", "c", 2)).hold("a", to="r", cpu=6),
            BORROW,
            {"cpus": 5},
            [("a", "InCohortReclaimWhileBorrowing")],
            id="even while it borrows, where that is allowed",
        ),
        pytest.param(
            Field(*PAIR, ("s", "c", 2)).hold("a", to="r", cpu=6, priority=6),
            BORROW_BELOW_5,
            {"cpus": 5},
            [],
            id="but not from above the threshold",
        ),
        pytest.param(
            Field(*PAIR).hold("a", to="r", cpu=6).hold("b", cpu=2),
            {**RECLAIM, **LOWER},
            {"cpus": 2},
            [("a", "InCohortReclamation")],
            id="others before its own",
        ),
        pytest.param(
            Field(("q", "left", 2), ("p", "left", 2), ("r", "right", 2), cohorts=[("left", "top"), ("right", "top")])
            .hold("a", to="r", cpu=3)
            .hold("b", to="r", cpu=3),
            RECLAIM,
            {"cpus": 4},
            [("b", "InCohortReclamation"), ("a", "InCohortReclamation")],
            id="a branch takes back from another",
        ),
    ],
)
def test_within_a_cohort(field, rules, asked, found):
    assert sorted(field.targets(rules, **asked)) == sorted(found)


def test_the_newest_go_first_among_equals():
    field = Field(ALONE).hold("old", cpu=2, reserved=NOON - timedelta(minutes=1)).hold("new", cpu=2)

    assert names(field.targets(LOWER, cpus=2)) == ["new"]


def test_looking_changes_nothing():
    field = Field(*PAIR).hold("a", to="r", cpu=6).hold("b", cpu=1)
    before = {name: dict(queue.usage) for name, queue in field.forest.queues.items()}

    field.targets({**RECLAIM, **LOWER}, cpus=3)
    field.simulated({**RECLAIM, **LOWER}, cpus=4)

    assert {name: dict(queue.usage) for name, queue in field.forest.queues.items()} == before


@pytest.mark.parametrize(
    ("field", "rules", "cpus", "found"),
    [
        pytest.param(Field(ALONE).hold("a", cpu=4), LOWER, 2, (GranularMode.PREEMPT, 0), id="its own would go"),
        pytest.param(
            Field(*PAIR).hold("a", to="r", cpu=6), RECLAIM, 3, (GranularMode.RECLAIM, 0), id="only others would go"
        ),
        pytest.param(
            Field(*PAIR).hold("a", to="r", cpu=6), {}, 3, (GranularMode.NO_CANDIDATES, 0), id="nobody would go"
        ),
    ],
)
def test_what_preemption_would_give(field, rules, cpus, found):
    assert field.simulated(rules, cpus=cpus) == found


def test_without_somebody_there_is_more():
    field = Field(ALONE).hold("a", cpu=4)
    found = targets(field.preemptor(LOWER, cpus=2), field.of, NOON)
    node = field.forest.queues["q"]

    with without(found):
        assert node.available(CPU) == 4000
    assert node.available(CPU) == 0
