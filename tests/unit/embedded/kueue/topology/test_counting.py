"""What is counted once stays right: only what has changed is counted again."""

from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.kueue.topology.counting import CountedTree, CountedTrees, Wanted
from fleetqueue.embedded.kueue.topology.nodes import NodeNeeds
from fleetqueue.embedded.kueue.topology.placement import Surroundings, place
from fleetqueue.embedded.kueue.topology.requests import NotPlaced
from fleetqueue.embedded.kueue.topology.tree import of_pods

from .trees import HOSTNAME, asked, node, tree

SIZES = {"b1/r1/a": 3, "b1/r1/b": 2, "b1/r2/c": 4, "b2/r3/d": 1}
GROUP = {"required": "rack", "podSetGroupName": "g"}
KINDS = [
    (asked(2, required="rack"), None),
    (asked(2, cpu=2, preferred=HOSTNAME), None),
    (asked(3, unconstrained=True), None),
    (asked(4, required="block", podSetSliceRequiredTopology=HOSTNAME, podSetSliceSize=2), None),
    (asked(2, **GROUP), asked(1, name="leader", **GROUP)),
]
changes = st.tuples(st.sampled_from("abcd"), st.integers(0, 2), st.booleans())


def result(where, counted, workers, leader, *, as_if_empty):
    try:
        return place(Surroundings("t", where, counted, {}, as_if_empty), workers, leader)
    except NotPlaced as reason:
        return str(reason)


@given(steps=st.lists(st.tuples(changes, st.sampled_from(range(len(KINDS))), st.booleans()), max_size=12))
def test_what_was_kept_is_what_would_be_counted_now(steps):
    where = tree(**SIZES)
    kept = CountedTrees(where, kinds=3)
    for (name, pods, by_others), kind, as_if_empty in steps:
        leaf = where.leaves[(name,)]
        (leaf.occupy if by_others else leaf.use)(of_pods({"cpu": 1000}, pods))

        again = result(where, kept, *KINDS[kind], as_if_empty=as_if_empty)

        assert again == result(where, CountedTrees(where), *KINDS[kind], as_if_empty=as_if_empty)


def test_only_so_many_kinds_are_kept_and_told_of_changes():
    where = tree(**SIZES)
    kept = CountedTrees(where, kinds=2)
    for cpu in range(1, 6):
        kept.of(wanted(cpu))

    assert len(where.followers) == 2


def test_what_is_assumed_is_forgotten_after_the_placement():
    where = tree(**SIZES)
    around = Surroundings("t", where, CountedTrees(where), {("c",): {"cpu": 4000, "pods": 4}})

    found = place(around, asked(4, required="rack"))

    assert {domain.values for domain in found["main"].domains} == {("a",), ("b",)}
    assert where.leaves[("c",)].remaining == where.leaves[("c",)].free == {"cpu": 4000, "pods": 110}


def test_a_node_that_has_less_than_is_used_has_no_room():
    where = tree(node("b/r/a", 1))
    where.leaves[("a",)].use({"cpu": 3000, "pods": 200})

    counted = CountedTree(where, wanted(1))

    assert (counted.by_level[-1][0].pods, dict(counted.exclusions.resources)) == (0, {"cpu": 1})


def wanted(cpu):
    return Wanted((("cpu", cpu * 1000), ("pods", 1)), NodeNeeds(), slice_level=2, slice_size=1)
