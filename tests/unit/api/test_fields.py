"""Fields are read and replaced by the way to them, and the object that they are in stays as it was."""

import pytest

from fleetqueue.api.fields import dotted, value_at, with_value, without_field

OBJECT = {"spec": {"parts": [{"name": "a"}, {"name": "b"}], "policy": {"suspend": False}}}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param(("spec", "policy", "suspend"), False, id="a member of a member"),
        pytest.param(("spec", "parts", 1, "name"), "b", id="an item of a list"),
        pytest.param(("spec", "parts", 2, "name"), None, id="an item that is not there"),
        pytest.param(("spec", "parts", "name"), None, id="a list that is no object"),
        pytest.param(("status", "phase"), None, id="nothing on the way"),
    ],
)
def test_what_a_field_holds(field, value):
    assert value_at(OBJECT, field) == value


def test_a_replaced_value_shares_all_else_with_the_object():
    changed = with_value(OBJECT, ("spec", "parts", 1, "name"), "c")

    assert changed["spec"]["parts"] == [{"name": "a"}, {"name": "c"}]
    assert changed["spec"]["parts"][0] is OBJECT["spec"]["parts"][0]
    assert changed["spec"]["policy"] is OBJECT["spec"]["policy"]
    assert OBJECT["spec"]["parts"][1] == {"name": "b"}


def test_what_is_missing_on_the_way_is_made():
    assert with_value({}, ("spec", "runPolicy", "suspend"), True) == {"spec": {"runPolicy": {"suspend": True}}}


def test_without_a_field():
    assert without_field(OBJECT, ("spec", "policy", "suspend"))["spec"]["policy"] == {}
    assert without_field(OBJECT, ("spec", "policy", "managedBy")) is OBJECT
    assert without_field(OBJECT, ("status", "phase")) is OBJECT


def test_a_field_is_named_as_kubernetes_names_it():
    assert dotted(("spec", "parts", 0, "name")) == "spec.parts[0].name"
