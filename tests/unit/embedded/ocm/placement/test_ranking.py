"""A Placement's clusters in order: what comes out, and that following changes gives the same as starting anew."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.ocm.placement.plugins.decision_counts import DecisionCounts
from fleetqueue.embedded.ocm.placement.ranking import DueTimes, Order

from .objects import (
    NAMESPACE,
    NOW,
    ListedFacts,
    asking_for,
    built_in,
    by_score,
    cluster_manifest,
    cluster_set,
    decision_manifest,
    exactly,
    in_seconds,
    listed,
    placement,
    ranked,
    score_manifest,
)


def result(wanted, facts, **parts):
    return ranked(wanted, facts, **parts).result()


def test_the_best_are_selected():
    facts = listed(
        [cluster_manifest(name) for name in "abc"], [score_manifest("b", gpu=70), score_manifest("c", gpu=80)]
    )

    found = result(placement(numberOfClusters=2, prioritizerPolicy=exactly(by_score())), facts)

    assert found.selected == ["c", "b"]
    assert found.unscheduled == 0
    assert found.available == 3
    assert found.totals == {"a": 0, "b": 70, "c": 80}


@pytest.mark.parametrize(
    ("number", "selected", "unscheduled"),
    [(None, ["a", "b"], 0), (0, [], 0), (1, ["a"], 0), (2, ["a", "b"], 0), (5, ["a", "b"], 3), (-1, [], -1)],
)
def test_as_many_as_are_wanted(number, selected, unscheduled):
    found = result(placement(numberOfClusters=number), listed([cluster_manifest(name) for name in "ba"]))

    assert (found.selected, found.unscheduled) == (selected, unscheduled)


def test_totals_are_weighed_sums():
    facts = listed(
        [cluster_manifest("a", amounts={"cpu": 2}), cluster_manifest("b", amounts={"cpu": 8})],
        [score_manifest("a", gpu=50)],
        [decision_manifest("p-decision-1", "a"), decision_manifest("q", "b", of="q")],
    )
    policy = {"configurations": [by_score(weight=2), built_in("ResourceAllocatableCPU", -1), built_in("Steady", 3)]}

    found = result(placement(prioritizerPolicy=policy), facts)

    assert found.totals == {"a": 100 + 100 + 300 + 100, "b": -100 + 0 + 0 - 100}


def test_who_is_not_in_the_sets_or_is_being_deleted_is_not_there_at_all():
    facts = listed(
        [
            cluster_manifest("a"),
            cluster_manifest("b", of="t"),
            cluster_manifest("c", of="u"),
            cluster_manifest("d", deleting=True),
        ]
    )

    found = result(placement(), facts, sets=[cluster_set("s"), cluster_set("t")])

    assert (found.available, found.selected) == (2, ["a", "b"])


BAD_SELECTOR = {"requiredClusterSelector": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}}
BAD_TOLERATION = {"value": "x"}
BAD_POLICY = {"mode": "Some"}


@pytest.mark.parametrize(
    ("clusters", "spec", "said"),
    [
        pytest.param(
            ["a"], {"predicates": [BAD_SELECTOR], "tolerations": [BAD_TOLERATION]}, "Predicate:", id="predicates first"
        ),
        pytest.param(
            ["a"],
            {"tolerations": [BAD_TOLERATION], "prioritizerPolicy": BAD_POLICY},
            "TaintToleration:",
            id="then tolerations",
        ),
        pytest.param(["a"], {"prioritizerPolicy": BAD_POLICY}, ":incorrect", id="then weights"),
        pytest.param([], {"predicates": [BAD_SELECTOR]}, "", id="a predicate is not read without clusters"),
        pytest.param([], {"prioritizerPolicy": BAD_POLICY}, ":incorrect", id="weights are always read"),
        pytest.param(
            ["a"],
            {"predicates": [asking_for({"no": "body"})], "tolerations": [BAD_TOLERATION]},
            "",
            id="tolerations are not read where nobody matches",
        ),
        pytest.param(
            ["a"],
            {"predicates": [asking_for(expressions=["x"])]},
            "Predicate:compilation failed: x",
            id="an expression",
        ),
    ],
)
def test_what_cannot_work_is_told_in_the_order_in_which_it_is_met(clusters, spec, said):
    found = result(placement(**spec), listed([cluster_manifest(name) for name in clusters]))

    assert (str(found.problem) if found.problem else "").startswith(said)
    assert (found.problem is None) is (said == "")
    assert not found.selected


def test_a_ranking_stands_on_the_spec_and_the_sets():
    ranking = ranked(placement(numberOfClusters=1), listed())

    assert ranking.stands_on(placement(numberOfClusters=1), [cluster_set()])
    assert not ranking.stands_on(placement(numberOfClusters=2), [cluster_set()])
    assert not ranking.stands_on(placement(numberOfClusters=1), [cluster_set(), cluster_set("t")])
    assert not ranking.stands_on(
        placement(numberOfClusters=1), [cluster_set(selectorType="LabelSelector", labelSelector={})]
    )


def test_time_alone_drops_a_score_and_a_toleration():
    facts = listed(
        [
            cluster_manifest("a"),
            cluster_manifest("b", taints=[{"key": "t", "effect": "NoSelect", "timeAdded": in_seconds(0)}]),
        ],
        [score_manifest("a", gpu=50, until=10)],
    )
    tolerations = [{"key": "t", "operator": "Exists", "tolerationSeconds": 20}]
    ranking = ranked(placement(tolerations=tolerations, prioritizerPolicy=exactly(by_score())), facts)

    moments = []
    while (moment := ranking.next_change()) is not None:
        ranking.refresh((), moment + timedelta(microseconds=1))
        found = ranking.result()
        moments.append(((moment - NOW).total_seconds(), list(found.selected), dict(found.totals), bool(found.warning)))

    assert moments == [(10, ["a", "b"], {"a": 0, "b": 0}, True), (20, ["a"], {"a": 0}, True)]


def test_nothing_is_judged_again_where_nothing_changed():
    facts = CountingFacts([cluster_manifest(name) for name in "abcdef"])
    ranking = ranked(placement(prioritizerPolicy={"configurations": [by_score()]}), facts)
    facts.asked.clear()

    ranking.refresh((), NOW)
    quiet = list(facts.asked)
    facts.put_score(score_manifest("c", gpu=9))
    ranking.refresh(["c"], NOW)

    assert quiet == []
    assert facts.asked == ["c"]
    assert ranking.result().selected[0] == "c"


class CountingFacts(ListedFacts):
    """Facts that a test changes, and that remember who was asked for."""

    def __init__(self, clusters):
        super().__init__(f"{NAMESPACE}/p", clusters)
        self.asked = []

    def cluster(self, name):
        self.asked.append(name)
        return super().cluster(name)

    def put_cluster(self, manifest):
        name = manifest["metadata"]["name"]
        self._raw[name] = manifest
        self._clusters[name] = ListedFacts("", [manifest]).cluster(name)

    def remove_cluster(self, name):
        self._raw.pop(name, None)
        self._clusters.pop(name, None)

    def put_score(self, manifest):
        self._scores |= ListedFacts("", [], [manifest])._scores

    def fresh(self):
        """Return the same facts for somebody who knows nothing yet."""
        copy = CountingFacts(self._raw.values())
        copy._scores = dict(self._scores)
        copy.decision_counts = self.decision_counts
        return copy


SPECS = [
    {"numberOfClusters": 3},
    {"numberOfClusters": 2, "prioritizerPolicy": {"configurations": [by_score(weight=3)]}},
    {"prioritizerPolicy": exactly(built_in("ResourceAllocatableCPU", 2), by_score("cpu", -1), by_score("gpu"))},
    {
        "numberOfClusters": 4,
        "predicates": [asking_for({"x": "1"}), asking_for({"x": "2"})],
        "tolerations": [{"key": "t", "operator": "Exists", "tolerationSeconds": 30}],
        "prioritizerPolicy": {"configurations": [built_in("Balance", 3), built_in("ResourceAllocatableMemory")]},
    },
]


class World:
    """Changes one thing at a time, by chance."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.names = [f"c{number}" for number in range(8)]
        self.now = NOW
        self.facts = CountingFacts([self.draw(name) for name in self.names])

    def draw(self, name):
        draw = self.chance
        taints = [
            {
                "key": "t",
                "effect": draw.choice(["NoSelect", "NoSelectIfNew"]),
                "timeAdded": in_seconds(draw.randint(-40, 40)),
            }
        ]
        return cluster_manifest(
            name,
            of=draw.choice(["s", "s", "s", "t", ""]),
            labels={"x": draw.choice("123")},
            taints=taints if draw.random() < 0.3 else (),
            amounts={"cpu": draw.randint(1, 9), "memory": f"{draw.randint(1, 9)}Gi"} if draw.random() < 0.8 else None,
            deleting=draw.random() < 0.1,
        )

    def step(self):
        """Change something; return which clusters a watch would tell of."""
        name, draw = self.chance.choice(self.names), self.chance
        match draw.randrange(6):
            case 0 | 1:
                until = draw.choice([None, -1, draw.randint(1, 100)])
                self.facts.put_score(
                    score_manifest(name, gpu=draw.randint(-9, 9), cpu=draw.randint(-9, 9), until=until)
                )
            case 2:
                self.facts.put_cluster(self.draw(name))
            case 3:
                self.facts.remove_cluster(name)
            case 4:
                owner = draw.choice([f"{NAMESPACE}/p", f"{NAMESPACE}/q", f"{NAMESPACE}/r"])
                self.facts.decision_counts.put(f"{owner}-decision", owner, draw.sample(self.names, draw.randint(0, 4)))
                return []
            case 5:
                self.now += timedelta(seconds=draw.randint(1, 20))
                return []
        return [name]


@pytest.mark.parametrize("spec", SPECS, ids=["defaults", "a score", "amounts and scores", "everything"])
@pytest.mark.parametrize("seed", range(6))
def test_following_changes_gives_what_starting_anew_gives(spec, seed):
    world, wanted = World(seed), placement(**spec)
    ranking = ranked(wanted, world.facts, now=world.now)
    touched = []

    for _ in range(60):
        touched += world.step()
        if world.chance.random() < 0.6:
            ranking.refresh(touched, world.now)
            touched = []
            anew = ranked(wanted, world.facts.fresh(), now=world.now)

            assert ranking.result() == anew.result()
            assert ranking.order.first(None) == anew.order.first(None)
            assert ranking.next_change() == anew.next_change()


def test_no_decision_is_no_news():
    facts = listed([cluster_manifest("a")])
    facts.decision_counts = DecisionCounts()

    assert ranked(placement(), facts).result().totals == {"a": 100}


UPDATES = st.lists(
    st.tuples(
        st.sets(st.sampled_from("abcdefghijkl"), max_size=2),
        st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(-3, 3), max_size=3),
    ),
    max_size=20,
)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


@given(st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(-3, 3)), UPDATES)
def test_the_order_is_that_of_sorting_anew(first, updates):
    order, totals = Order(), dict(first)
    order.update(set(), first)
    for gone, changed in updates:
        gone = gone - changed.keys()
        order.update(gone, changed)
        totals = {name: total for name, total in {**totals, **changed}.items() if name not in gone}

        assert order.first(None) == sorted(totals, key=lambda name: (-totals[name], name))
    assert order.totals() == totals


def test_only_the_best_are_asked_for():
    order = Order()
    order.update(set(), {"a": 1, "b": 3, "c": 3})

    assert order.first(2) == ["b", "c"]
    assert order.first(0) == []
    assert order.total("a") == 1
    assert "a" in order
    assert len(order) == 3


def test_a_time_is_due_once_and_only_the_last_that_was_set():
    due_times = DueTimes()
    due_times.set("a", later(10))
    due_times.set("a", later(20))
    due_times.set("b", later(30))
    due_times.set("c", later(5))
    due_times.set("c", None)

    assert due_times.next() == later(20)
    assert due_times.due(later(19)) == []
    assert due_times.due(later(25)) == ["a"]
    assert due_times.due(later(25)) == []
    assert due_times.next() == later(30)
    due_times.set("b", None)
    assert due_times.next() is None
