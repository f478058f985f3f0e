"""Label selectors choose what Kubernetes would choose."""

import pytest

from fleetqueue.api.selectors import LabelSelector, Requirement


@pytest.mark.parametrize(
    ("operator", "values", "labels", "matches"),
    [
        ("In", ("a", "b"), {"tier": "a"}, True),
        ("In", ("a", "b"), {"tier": "c"}, False),
        ("In", ("a",), {}, False),
        ("NotIn", ("a",), {"tier": "b"}, True),
        ("NotIn", ("a",), {"tier": "a"}, False),
        ("NotIn", ("a",), {}, True),
        ("Exists", (), {"tier": ""}, True),
        ("Exists", (), {}, False),
        ("DoesNotExist", (), {}, True),
        ("DoesNotExist", (), {"tier": "a"}, False),
    ],
)
def test_requirement(operator, values, labels, matches):
    assert Requirement(key="tier", operator=operator, values=values).matches(labels) is matches


def test_an_unknown_operator_is_an_error():
    with pytest.raises(ValueError, match="'Near' is not a label selector operator"):
        Requirement(key="tier", operator="Near").matches({})


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param(LabelSelector(), True, id="empty matches everything"),
        pytest.param(LabelSelector(match_labels={"a": "1"}), True, id="label"),
        pytest.param(LabelSelector(match_labels={"a": "1", "b": "2"}), False, id="every label counts"),
        pytest.param(
            LabelSelector(match_labels={"a": "1"}, match_expressions=(Requirement(key="a", operator="DoesNotExist"),)),
            False,
            id="labels and expressions count together",
        ),
    ],
)
def test_selector(selector, matches):
    assert selector.matches({"a": "1"}) is matches
