"""How often clusters are chosen, seen by each Placement without itself."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.ocm.placement.plugins import decision_counts as counts_file
from fleetqueue.embedded.ocm.placement.plugins.decision_counts import DecisionCounts

CLUSTERS = st.sampled_from("abcde")
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["d1", "d2", "d3", "d4"]), st.sampled_from(["p", "q", ""]), st.lists(CLUSTERS, max_size=4)
    ),
    max_size=30,
)


def test_a_placement_does_not_count_itself():
    decision_counts = DecisionCounts()
    decision_counts.put("d1", "p", ["a", "b"])
    decision_counts.put("d2", "q", ["a"])
    decision_counts.put("d3", "", ["a", "c"])

    assert [decision_counts.count(name, besides="p") for name in "abc"] == [2, 0, 1]
    assert [decision_counts.count(name, besides="q") for name in "abc"] == [2, 1, 1]
    assert decision_counts.highest(besides="p") == 2
    assert sorted(decision_counts.of("p")) == ["a", "b"]


def test_a_decision_that_changes_hands_is_counted_for_its_new_placement():
    decision_counts = DecisionCounts()
    decision_counts.put("d1", "p", ["a"])

    decision_counts.put("d1", "q", ["a"])

    assert not decision_counts.of("p")
    assert decision_counts.count("a", besides="p") == 1
    assert decision_counts.count("a", besides="q") == 0


def test_only_what_changed_is_told():
    decision_counts = DecisionCounts()
    decision_counts.put("d1", "p", ["a", "b", "c"])
    position = decision_counts.position

    decision_counts.put("d1", "p", ["a", "b", "c"])
    unchanged = decision_counts.changed_since(position)
    decision_counts.put("d1", "p", ["a", "c", "d"])

    assert unchanged == []
    assert sorted(decision_counts.changed_since(position)) == ["b", "d"]


def test_a_long_log_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(counts_file, "SLACK", 1)
    decision_counts = DecisionCounts()

    for number in range(20):
        decision_counts.put("d1", "p", [f"c{number}"])

    assert decision_counts.changed_since(0) is None
    assert decision_counts.changed_since(decision_counts.position) == []


@given(CHANGES)
def test_counts_are_those_of_a_fresh_count(changes):
    decision_counts, decisions = DecisionCounts(), {}
    for decision, placement, clusters in changes:
        if clusters:
            decision_counts.put(decision, placement, clusters)
            decisions[decision] = (placement, clusters)
        else:
            decision_counts.remove(decision)
            decisions.pop(decision, None)

    for besides in ("p", "q", ""):
        counts = Counter(name for placement, names in decisions.values() if placement != besides for name in names)
        assert {name: decision_counts.count(name, besides=besides) for name in "abcde"} == {
            name: counts[name] for name in "abcde"
        }
        assert decision_counts.highest(besides=besides) == max(counts.values(), default=0)
