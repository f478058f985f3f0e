"""What was in order and is left as it was is not looked at again; all else is, however often it was seen."""

import pytest

from fleetqueue.embedded.apiserver.validation import known_parts
from fleetqueue.embedded.apiserver.validation.custom_resources import validate, validate_status
from fleetqueue.embedded.apiserver.validation.defaulting import with_defaults
from fleetqueue.embedded.apiserver.validation.known_parts import KnownParts
from fleetqueue.embedded.apiserver.validation.pruning import prune
from fleetqueue.embedded.apiserver.validation.structural_schema import CustomSchema

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
CONDITION = {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}, "size": {}}}
CONDITIONS = {
    "type": "array",
    "items": {**CONDITION, "x-kubernetes-validations": [{"rule": "self.type != 'Bad'", "message": "is bad"}]},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "maxItems": 20,
}
WITH_CONDITIONS = {
    "type": "object",
    "properties": {"status": {"type": "object", "properties": {"conditions": CONDITIONS}}},
}


@pytest.fixture
def custom():
    return CustomSchema(OPENAPI)


def widget(**parts):
    return {"apiVersion": "t.io/v1", "kind": "Widget", "metadata": {"name": "w"}, **parts}


def conditions(*items):
    return widget(status={"conditions": list(items)})


def messages(faults):
    return [fault.message for fault in faults]


def test_a_part_is_known_by_what_it_is_and_where_it_stands():
    known, part = KnownParts(), {"size": 1}

    known.add("spec", part)

    assert known.has("spec", part)
    assert not known.has("status", part)
    assert not known.has("spec", {"size": 1})


def test_the_oldest_is_forgotten_when_they_become_too_many(monkeypatch):
    monkeypatch.setattr(known_parts, "MOST_KNOWN", 2)
    known, parts = KnownParts(), [{"size": number} for number in range(3)]

    for part in parts:
        known.add("spec", part)

    assert [known.has("spec", part) for part in parts] == [False, True, True]


def test_what_takes_the_place_of_a_part_is_known_instead_of_it():
    known, before, after = KnownParts(), {"size": 1}, {"size": 2}
    known.add("spec", before)

    known.follow("spec", before, after)

    assert known.known("spec", before) is None
    assert known.known("spec", after) is after


def test_a_part_that_follows_itself_stays_known():
    known, part = KnownParts(), {"size": 1}

    known.follow("spec", part, part)

    assert known.has("spec", part)


def test_a_spec_that_a_change_of_the_status_leaves_alone_is_looked_at_once(custom):
    spec = {"size": 5, "names": ["a"]}
    old = widget(spec=spec, status={"size": 1})

    for size in (2, 3):
        new = widget(spec=spec, status={"size": size})
        pruned = prune(new, custom.schema, known=old, in_order=custom.pruned)
        assert with_defaults(pruned, custom.schema, custom.defaulted) is new
        assert validate_status(new, custom, old) == []

    assert all(known.has("spec", spec) for known in (custom.pruned, custom.defaulted, custom.unique))
    assert custom.rules.fields["spec"].settled.has("spec", spec)


def test_of_a_known_status_only_what_is_new_is_looked_at(monkeypatch):
    custom, asked = CustomSchema(WITH_CONDITIONS), []
    old = conditions({"type": "A"}, {"type": "B"})
    assert validate_status(old, custom, widget()) == []
    new = conditions(*old["status"]["conditions"], {"type": "C"})
    (rule,) = custom.rules.fields["status"].fields["conditions"].items.rules
    evaluate = rule.program.evaluate
    monkeypatch.setattr(
        rule.program, "evaluate", lambda *of, limit: (asked.append(of[0]), evaluate(*of, limit=limit))[1]
    )

    assert validate_status(new, custom, old) == []

    assert asked == [{"type": "C"}]


@pytest.mark.parametrize(
    ("item", "told"),
    [
        pytest.param({"type": "Bad"}, "is bad", id="a rule"),
        pytest.param({}, "Required value", id="its shape"),
        pytest.param({"type": "A"}, "Duplicate value", id="its key"),
    ],
)
def test_what_is_wrong_beside_parts_that_are_known_is_found(item, told):
    custom = CustomSchema(WITH_CONDITIONS)
    old = conditions({"type": "A"}, {"type": "B"})
    assert validate_status(old, custom, widget()) == []

    found = messages(validate_status(conditions(*old["status"]["conditions"], item), custom, old))

    assert any(told in message for message in found)


def test_what_a_known_part_has_at_another_place_is_looked_at_there():
    custom = CustomSchema({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "closed": {"type": "object"},
    }}}})  # fmt: skip
    inner = {"other": 1}
    old = prune(widget(spec={"open": inner}), custom.schema, in_order=custom.pruned)

    moved = prune(widget(spec={"closed": inner}), custom.schema, known=old, in_order=custom.pruned)

    assert moved["spec"] == {"closed": {}}


def test_a_rule_about_changes_is_asked_also_where_all_else_is_known(custom):
    large, small = {"size": 5}, {"size": 2}
    assert validate(widget(spec=large), custom) == []
    assert validate(widget(spec=small), custom) == []

    found = messages(validate(widget(spec=small), custom, widget(spec=large)))

    assert found == ["Invalid value: must not shrink"]


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
