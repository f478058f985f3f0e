"""What was in order and is left as it was is not looked at again; all else is, however often it was seen."""

import pytest

from fleetqueue.apiserver.validation import known_parts
from fleetqueue.apiserver.validation.custom_resources import validate, validate_status
from fleetqueue.apiserver.validation.defaulting import with_defaults
from fleetqueue.apiserver.validation.known_parts import KnownParts
from fleetqueue.apiserver.validation.pruning import prune
from fleetqueue.apiserver.validation.structural_schema import CustomSchema

SMALL = {"rule": "self.size < 10", "message": "too large"}
NOT_LESS = {"rule": "self.size >= oldSelf.size", "message": "must not shrink"}
PART = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "default": 1},
        "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    },
    "x-kubernetes-validations": [SMALL, NOT_LESS],
}
OPENAPI = {"type": "object", "properties": {"spec": PART, "status": PART}}
OF_ALL = ("pruned", "defaulted", "unique")


@pytest.fixture
def custom():
    return CustomSchema(OPENAPI)


def widget(**parts):
    return {"apiVersion": "t.io/v1", "kind": "Widget", "metadata": {"name": "w"}, **parts}


def messages(faults):
    return [fault.message for fault in faults]


def test_a_part_is_known_by_what_it_is_and_where_it_stands():
    known, part = KnownParts(), {"size": 1}

    known.add("spec", part)

    assert known.has("spec", part)
    assert not known.has("status", part)
    assert not known.has("spec", {"size": 1})


def test_all_are_forgotten_when_they_become_too_many(monkeypatch):
    monkeypatch.setattr(known_parts, "MOST_KNOWN", 2)
    known, parts = KnownParts(), [{"size": number} for number in range(3)]

    for part in parts:
        known.add("spec", part)

    assert [known.has("spec", part) for part in parts] == [False, False, True]


def test_a_spec_that_a_change_of_the_status_leaves_alone_is_looked_at_once(custom):
    spec = {"size": 5, "names": ["a"]}
    old = widget(spec=spec, status={"size": 1})

    for size in (2, 3):
        new = widget(spec=spec, status={"size": size})
        pruned = prune(new, custom.schema, known=old, in_order=custom.pruned)
        assert with_defaults(pruned, custom.schema, custom.defaulted) is new
        assert validate_status(new, custom, old) == []

    assert all(getattr(custom, look).has("spec", spec) for look in OF_ALL)
    assert custom.rules.fields["spec"].known.has("spec", spec)
    assert not custom.unique.has("status", new["status"])
    assert not custom.pruned.has("status", new["status"])


@pytest.mark.parametrize(
    ("status", "told"),
    [
        pytest.param({"size": 12}, "too large", id="a rule"),
        pytest.param({"size": 0}, "must not shrink", id="a rule about the change"),
        pytest.param({"size": 1, "names": ["a", "a"]}, "Duplicate value", id="a set"),
    ],
)
def test_what_is_changed_is_looked_at_every_time(custom, status, told):
    spec, before = {"size": 5}, {"size": 1}
    old = widget(spec=spec, status=before)

    for _ in range(3):
        (found,) = messages(validate_status(widget(spec=spec, status=dict(status)), custom, old))
        assert told in found


def test_what_was_wrong_is_not_remembered_as_right(custom):
    spec = {"size": 5, "names": ["a", "a"]}

    first, second = (messages(validate(widget(spec=spec), custom)) for _ in range(2))

    assert first == second != []


def test_a_part_that_breaks_a_rule_about_changes_is_asked_again_when_it_comes_as_a_change(custom):
    small, large = {"size": 2}, {"size": 5}
    assert validate(widget(spec=small), custom, widget(spec=small)) == []

    found = messages(validate(widget(spec=small), custom, widget(spec=large)))

    assert found == ["Invalid value: must not shrink"]


def test_an_equal_part_that_lacks_a_default_gets_it(custom):
    whole = widget(spec={"size": 1})
    with_defaults(whole, custom.schema, custom.defaulted)

    filled = with_defaults(widget(spec={}), custom.schema, custom.defaulted)

    assert filled == whole


def test_what_is_unknown_goes_every_time(custom):
    spec = {"size": 1, "other": 1}

    for _ in range(2):
        dropped = []
        prune(widget(spec=spec), custom.schema, dropped, in_order=custom.pruned)
        assert dropped == ["spec.other"]
