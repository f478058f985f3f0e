"""Which checks run, in which order, and what keeps rules from being asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.apiserver.kinds.causes import required
from fleetqueue.embedded.apiserver.validation.custom_resources import validate, validate_status
from fleetqueue.embedded.apiserver.validation.reports import Reporter
from fleetqueue.embedded.apiserver.validation.structural_schema import build

KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ITEM = {
    "type": "object",
    "required": ["k"],
    "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 3}},
}
SCHEMA = {
    "type": "object",
    "x-kubernetes-validations": [{"rule": "!has(self.spec) || self.spec.size <= 3", "message": "too big"}],
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}},
        "status": {
            "type": "object",
            "properties": {
                "phase": {"type": "string", "enum": ["On"]},
                "parts": {"type": "array", "items": ITEM, **KEYED},
            },
        },
    },
}


@pytest.fixture
def custom():
    return build(SCHEMA)


def test_equal_schemas_are_compiled_once():
    assert build(SCHEMA) is build({**SCHEMA})


def test_a_rule_is_asked_when_only_its_own_part_is_wrong(custom):
    found = validate({"spec": {"size": 5}}, custom)

    assert [tuple(cause) for cause in found] == [("FieldValueInvalid", "Invalid value: too big", "<nil>")]


def test_earlier_faults_come_first_and_can_block_rules(custom):
    earlier = [required("metadata.name", "name or generateName is required")]

    found = validate({"spec": {"size": 5}}, custom, earlier=earlier)

    assert [cause.field for cause in found] == ["metadata.name", "<nil>"]
    assert "some validation rules were not checked" in found[1].message


def test_a_change_of_status_is_judged_by_the_schema_of_status_alone(custom):
    old = {"spec": {"size": -1}, "status": {}}

    found = validate_status({"spec": {"size": -1}, "status": {"phase": "Off"}}, custom, old)

    assert [cause.field for cause in found] == ["status.phase", "<nil>"]


def test_an_old_fault_of_status_does_not_block_a_new_part(custom):
    old = {"status": {"parts": [{"k": "a", "v": 9}]}}

    assert validate_status({"status": {"parts": [{"k": "b", "v": 1}, {"k": "a", "v": 9}]}}, custom, old) == []
    (cause,) = validate_status({"status": {"parts": [{"k": "a", "v": 8}]}}, custom, old)
    assert cause.field == "status.parts[0].v"
    assert cause.message == "Invalid value: 8: parts[0].v in body should be less than or equal to 3"


def test_rules_are_asked_after_a_change_of_status(custom):
    old = {"spec": {"size": 3}}

    assert validate_status({"spec": {"size": 3}, "status": {}}, custom, old) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.floats(-2, 5) | st.sampled_from(["On", "k"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "size", "status", "phase", "parts", "k", "v"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["spec", "status"]), VALUES))
def test_what_the_quick_check_lets_pass_has_no_faults(obj):
    if build(SCHEMA).check(obj, None):
        assert Reporter().report(obj, SCHEMA, "").is_valid
