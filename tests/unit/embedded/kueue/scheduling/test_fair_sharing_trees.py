"""Shares in trees of cohorts come to what the weights of cohorts and queues say, whoever was there first."""

from fractions import Fraction
from math import lcm

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.embedded.kueue.settings import BOTH_STRATEGIES, FairSharingSettings

from .fair_caches import cohort_queue, fair_cache
from .fair_play import Play
from .objects import cohort, flavor, group, queue, quota

ROOT = "c"
RULES = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}
STRATEGIES = st.sampled_from([(BOTH_STRATEGIES[0],), (BOTH_STRATEGIES[1],), BOTH_STRATEGIES])
FAIR = st.builds(FairSharingSettings, preemption_strategies=STRATEGIES)
MOST = 24
"""Jobs that fit at once: more take long."""


class Node:
    """A queue, or a cohort with what is below it."""

    def __init__(self, weight, children=()):
        self.weight = weight
        self.children = children

    def __repr__(self):
        return f"{self.weight}{[*self.children] or ''}"


WEIGHTS = st.sampled_from([1, 2, 4])
"""Shares are floats, as Kueue's: thirds of a weight would make equal shares unequal."""
LEAVES = st.builds(Node, WEIGHTS)
COHORTS = st.builds(Node, WEIGHTS, st.lists(LEAVES, min_size=1, max_size=3))
LARGER = st.builds(Node, WEIGHTS, st.lists(LEAVES | COHORTS, min_size=1, max_size=2))
TREES = st.lists(LEAVES | COHORTS | LARGER, min_size=2, max_size=3).filter(lambda tree: least_total(tree) <= MOST)


def fractions(tree, above=Fraction(1), path=""):
    """Yield the name of every queue of a tree, and its part of all."""
    whole = sum(node.weight for node in tree)
    for number, node in enumerate(tree):
        part = above * node.weight / whole
        if node.children:
            yield from fractions(node.children, part, f"{path}{number}")
        else:
            yield f"q{path}{number}", part


def least_total(tree):
    """Return how many jobs there are at least, so that each queue can have its part."""
    return lcm(*(part.denominator for _, part in fractions(tree)))


def objects(tree, to=ROOT, path="", **flavors):
    for number, node in enumerate(tree):
        name = f"{path}{number}"
        if node.children:
            yield cohort(f"c{name}", parent=to, fairSharing={"weight": str(node.weight)})
            yield from objects(node.children, f"c{name}", name, **flavors)
        else:
            shares = {"fairSharing": {"weight": str(node.weight)}}
            yield queue(f"q{name}", group(**flavors), cohort=to, **shares, **RULES)


@settings(max_examples=40, deadline=None)
@given(tree=TREES, size=st.integers(1, 3), seed=st.randoms(use_true_random=False), fair=FAIR)
def test_jobs_of_one_size_come_to_the_proportions_of_all_weights(tree, size, seed, fair):
    total, parts = least_total(tree), dict(fractions(tree))
    play = Play(fair_cache(*objects(tree, default=quota(0)), cohort_queue("lender", total * size), fair=fair))
    names = [*parts]
    seed.shuffle(names)
    for name in names:
        for number in range(total):
            play.submit(f"{name}-{number}", to=name, cpu=size)
        play.settle()

    assert {name: play.used(name) for name in names} == {name: part * total * size for name, part in parts.items()}


def held(play, node, name):
    """Return what a queue, or all below a cohort, holds."""
    if not node.children:
        return play.used(f"q{name}")
    return sum(held(play, child, f"{name}{number}") for number, child in enumerate(node.children))


def waits(play, node, name):
    """Tell whether a job of a queue, or of any below a cohort, waits."""
    if not node.children:
        return any(one.to == f"q{name}" and job not in play.placed for job, one in play.submitted.items())
    return any(waits(play, child, f"{name}{number}") for number, child in enumerate(node.children))


def behind(play, tree, largest, path=""):
    """Name who waits although another would still have a larger share after all that a job may take from it.

    A job may take more than it needs: the last that makes room for it may be as large as any.
    """
    most = 2 * largest - 1
    named = [(f"{path}{number}", node) for number, node in enumerate(tree)]
    for name, node in named:
        for other, theirs in named:
            mine = Fraction(held(play, node, name) + largest, node.weight)
            if waits(play, node, name) and mine < Fraction(held(play, theirs, other) - most, theirs.weight):
                yield name, other
        yield from behind(play, node.children, largest, name)


SIZES = st.lists(st.integers(1, 4), min_size=2, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    tree=TREES,
    sizes=SIZES,
    total=st.integers(4, 16),
    other=st.integers(0, 8),
    seed=st.randoms(use_true_random=False),
    fair=FAIR,
)
def test_jobs_of_any_size_come_as_near_to_the_weights_as_their_sizes_allow(tree, sizes, total, other, seed, fair):
    """Also where the quota is of two flavors."""
    lender = queue("lender", group(default=quota(total), other=quota(other)), cohort=ROOT)
    borrowers = objects(tree, default=quota(0), other=quota(0))
    play = Play(fair_cache(flavor("other"), *borrowers, lender, fair=fair))
    names = [name for name, _ in fractions(tree)]
    seed.shuffle(names)
    for name in names:
        for number in range(total + other):
            play.submit(f"{name}-{number}", to=name, cpu=seed.choice(sizes))
        play.settle()

    assert [*behind(play, tree, max(sizes))] == []
