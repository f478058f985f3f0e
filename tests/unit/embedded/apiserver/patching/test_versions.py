"""Owners of fields in other versions: each keeps, loses and gives up what it owns in the words of its own version."""

import pytest

from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.apply import apply
from fleetqueue.embedded.apiserver.patching.managed_fields import update_managed_fields
from fleetqueue.embedded.apiserver.patching.versions import OtherVersion

NOW = "2026-01-01T00:00:00Z"
TEXT = Schema("string")


def schema(field):
    spec = Schema("object", properties={field: TEXT, "other": TEXT})
    return Schema("object", properties={"apiVersion": TEXT, "kind": TEXT, "spec": spec})


OLD, NEW = schema("location"), schema("place")


def renamed(obj, before, after):
    spec = {after if name == before else name: value for name, value in (obj.get("spec") or {}).items()}
    return {**obj, "spec": spec} if "spec" in obj else obj


def of_new(version):
    """The other versions of a request in the new one."""
    to_old = lambda obj: renamed(obj, "place", "location")  # noqa: E731
    to_new = lambda obj: renamed(obj, "location", "place")  # noqa: E731
    return OtherVersion(OLD, to_old, to_new) if version == "g/old" else None


@pytest.fixture
def live():
    """An object whose location the manager `a` applied in the old version."""
    applied = {"apiVersion": "g/old", "kind": "K", "spec": {"location": "x"}}
    return renamed(apply(None, applied, OLD, "a", "g/old", "", NOW), "location", "place")


def owners(obj):
    return {entry["manager"]: entry["fieldsV1"] for entry in obj.get("metadata", {}).get("managedFields", ())}


def test_a_change_in_one_version_takes_the_field_from_its_owner_in_another(live):
    stored = {**live, "metadata": {**live["metadata"], "uid": "u"}}
    new = {**stored, "spec": {"place": "y"}}

    after = update_managed_fields(stored, new, NEW, "b", "g/new", "", NOW, other_versions=of_new)

    assert owners(after) == {"b": {"f:spec": {"f:place": {}}}}


def test_a_change_of_another_field_leaves_the_owner_alone(live):
    stored = {**live, "metadata": {**live["metadata"], "uid": "u"}}
    new = {**stored, "spec": {"place": "x", "other": "z"}}

    after = update_managed_fields(stored, new, NEW, "b", "g/new", "", NOW, other_versions=of_new)

    assert owners(after) == {"a": {"f:spec": {"f:location": {}}}, "b": {"f:spec": {"f:other": {}}}}


def test_an_owner_in_a_version_that_is_gone_goes_too(live):
    stored = {**live, "metadata": {**live["metadata"], "uid": "u"}}
    new = {**stored, "spec": {"place": "x", "other": "z"}}

    after = update_managed_fields(stored, new, NEW, "b", "g/new", "", NOW, other_versions=lambda version: None)

    assert "a" not in owners(after)


def test_what_an_applier_named_in_another_version_goes_when_it_is_not_named_now(live):
    applied = {"apiVersion": "g/new", "kind": "K", "spec": {"other": "z"}}

    after = apply(live, applied, NEW, "a", "g/new", "", NOW, other_versions=of_new)

    assert after["spec"] == {"other": "z"}
    assert owners(after) == {"a": {"f:spec": {"f:other": {}}}}
