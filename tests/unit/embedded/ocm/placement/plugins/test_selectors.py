"""Which clusters a selector means, and what is said of one that cannot work."""

import pytest

from fleetqueue.api.cluster_v1 import RequiredClusterSelector
from fleetqueue.api.selectors import LabelSelector, Requirement
from fleetqueue.embedded.ocm.placement.plugins.selectors import as_go_sees_it, check, cluster_selector
from tests.unit.embedded.ocm.placement.objects import cluster_manifest, listed, managed_cluster, score_manifest

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("labels", "claims", "is_meant"),
    [
        pytest.param({"gpu": "t4"}, {"zone": "one"}, True, id="both fit"),
        pytest.param({"gpu": "a100"}, {"zone": "one"}, False, id="the label does not"),
        pytest.param({"gpu": "t4"}, {"zone": "two"}, False, id="the claim does not"),
        pytest.param({"gpu": "t4"}, {}, False, id="there is no claim"),
    ],
)
def test_labels_and_claims_must_both_fit(labels, claims, is_meant):
    selector = RequiredClusterSelector(
        label_selector=LabelSelector(match_labels={"gpu": "t4"}),
        claim_selector=LabelSelector(match_expressions=(Requirement(key="zone", operator="In", values=("one",)),)),
    )

    matches = cluster_selector(selector, listed(), lambda source, scores_of: pytest.fail("no expression"))

    assert matches(managed_cluster(labels=labels, claims=claims)) is is_meant


def test_every_expression_must_hold_for_the_whole_cluster():
    facts = listed([cluster_manifest("a", labels={"n": "1"}), cluster_manifest("b", labels={"n": "2"})])
    asked = []

    def compiled(source, scores_of):
        def holds(whole):
            asked.append((source, whole["metadata"]["name"]))
            return source == "always" or whole["metadata"]["labels"]["n"] == "2"

        return holds

    selector = RequiredClusterSelector(cel_selector={"celExpressions": ["always", "two"]})
    matches = cluster_selector(selector, facts, compiled)

    assert not matches(facts.cluster("a"))
    assert matches(facts.cluster("b"))
    assert asked == [("always", "a"), ("two", "a"), ("always", "b"), ("two", "b")]


def test_an_expression_sees_scores_as_they_stand():
    facts = listed([cluster_manifest("a")], [score_manifest("a", gpu=7, cpu=-1)])
    seen = []

    def compiled(source, scores_of):
        return lambda whole: seen.append((scores_of("a", "usage"), scores_of("a", "other"))) or True

    cluster_selector(RequiredClusterSelector(cel_selector={"celExpressions": ["x"]}), facts, compiled)(
        facts.cluster("a")
    )

    assert seen == [([{"name": "gpu", "value": 7}, {"name": "cpu", "value": -1}], None)]


@pytest.mark.parametrize(
    ("term", "said"),
    [
        pytest.param(("a", "Near", ()), '"Near" is not a valid label selector operator', id="an unknown operator"),
        pytest.param(
            ("a", "In", ()),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="no values to be in",
        ),
        pytest.param(
            ("a", "Exists", ("b", "c")),
            'values: Invalid value: ["b","c"]: values set must be empty for exists and does not exist',
            id="values where only the key counts",
        ),
        pytest.param(
            ("", "Exists", ()),
            f'key: Invalid value: "": name part must be non-empty; name part {NAME_RULE}',
            id="no key",
        ),
        pytest.param(
            ("a/b/c", "Exists", ()),
            f"key: Invalid value: \"a/b/c\": a qualified name {NAME_RULE} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')",
            id="two slashes",
        ),
        pytest.param(
            ("/a", "Exists", ()), 'key: Invalid value: "/a": prefix part must be non-empty', id="an empty prefix"
        ),
        pytest.param(
            ("a" * 64, "Exists", ()),
            f'key: Invalid value: "{"a" * 64}": name part must be no more than 63 characters',
            id="a long key",
        ),
    ],
)
def test_a_term_that_cannot_work(term, said):
    key, operator, values = term
    selector = LabelSelector(match_expressions=(Requirement(key=key, operator=operator, values=values),))

    with pytest.raises(ValueError) as refused:
        check(selector)

    assert str(refused.value) == said


def test_a_term_with_two_mistakes_tells_both():
    term = Requirement(key="a b", operator="NotIn", values=("c d", "c d"))

    with pytest.raises(ValueError, match=r"^\[key: Invalid value.*, values\[0\]\[a b\]: .*, values\[1\]\[a b\]: .*\]$"):
        check(LabelSelector(match_expressions=(term,)))


def test_expressions_see_a_cluster_as_go_does():
    raw = {
        "apiVersion": "v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "a"},
        "status": {"allocatable": {"cpu": 4}, "clusterClaims": []},
    }

    assert as_go_sees_it(raw) == {
        "metadata": {"name": "a", "creationTimestamp": None},
        "spec": {"hubAcceptsClient": False},
        "status": {"conditions": None, "version": {}, "allocatable": {"cpu": "4"}, "clusterClaims": []},
    }
