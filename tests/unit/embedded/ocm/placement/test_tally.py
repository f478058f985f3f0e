"""How often clusters are chosen, seen by each Placement without itself."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.ocm.placement.plugins import tally as tally_file
from fleetqueue.embedded.ocm.placement.plugins.tally import Tally

CLUSTERS = st.sampled_from("abcde")
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["d1", "d2", "d3", "d4"]), st.sampled_from(["p", "q", ""]), st.lists(CLUSTERS, max_size=4)
    ),
    max_size=30,
)


def test_a_placement_does_not_count_itself():
    tally = Tally()
    tally.put("d1", "p", ["a", "b"])
    tally.put("d2", "q", ["a"])
    tally.put("d3", "", ["a", "c"])

    assert [tally.count(name, besides="p") for name in "abc"] == [2, 0, 1]
    assert [tally.count(name, besides="q") for name in "abc"] == [2, 1, 1]
    assert tally.highest(besides="p") == 2
    assert sorted(tally.of("p")) == ["a", "b"]


def test_a_decision_that_changes_hands_is_counted_for_its_new_placement():
    tally = Tally()
    tally.put("d1", "p", ["a"])

    tally.put("d1", "q", ["a"])

    assert not tally.of("p")
    assert tally.count("a", besides="p") == 1
    assert tally.count("a", besides="q") == 0


def test_only_what_changed_is_told():
    tally = Tally()
    tally.put("d1", "p", ["a", "b", "c"])
    position = tally.position

    tally.put("d1", "p", ["a", "b", "c"])
    unchanged = tally.changed_since(position)
    tally.put("d1", "p", ["a", "c", "d"])

    assert unchanged == []
    assert sorted(tally.changed_since(position)) == ["b", "d"]


def test_a_long_journal_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(tally_file, "SLACK", 1)
    tally = Tally()

    for number in range(20):
        tally.put("d1", "p", [f"c{number}"])

    assert tally.changed_since(0) is None
    assert tally.changed_since(tally.position) == []


@given(CHANGES)
def test_counts_are_those_of_a_fresh_count(changes):
    tally, decisions = Tally(), {}
    for decision, placement, clusters in changes:
        if clusters:
            tally.put(decision, placement, clusters)
            decisions[decision] = (placement, clusters)
        else:
            tally.remove(decision)
            decisions.pop(decision, None)

    for besides in ("p", "q", ""):
        counts = Counter(name for placement, names in decisions.values() if placement != besides for name in names)
        assert {name: tally.count(name, besides=besides) for name in "abcde"} == {
            name: counts[name] for name in "abcde"
        }
        assert tally.highest(besides=besides) == max(counts.values(), default=0)
