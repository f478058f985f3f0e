"""Revisions keep templates, under the names that Kubernetes gives them."""

import pytest

from fleetqueue.embedded.kubernetes.controller_revisions import (
    ControllerRevision,
    data_hash,
    next_number,
    revision_name,
    saved,
    surplus_revisions,
)

TEMPLATE = {"metadata": {"labels": {"app": "db"}, "annotations": {"n": "<v> & w"}}}


def a_revision(name, number=1, **body):
    return ControllerRevision.view({"metadata": {"name": name}, "revision": number, **body})


def test_what_is_kept_is_the_template():
    kept = a_revision("db-1", data=saved(TEMPLATE))

    assert kept.data == {"spec": {"template": {**TEMPLATE, "$patch": "replace"}}}
    assert kept.template == TEMPLATE


def test_a_hash_is_that_of_its_json_as_go_writes_it():
    """It is what Go makes of this; tests/conformance has those of whole templates, from kube-controller-manager."""
    data = {"spec": {"template": {"$patch": "replace", "a": "x<y>&z"}}}

    assert data_hash(data, 0) == data_hash({"spec": {"template": {"a": "x<y>&z", "$patch": "replace"}}}, 0)
    assert data_hash(data, 0) == "685cf54f95"
    assert data_hash(data, 1) != data_hash(data, 0)


def test_a_long_name_is_cut():
    assert revision_name("db", "abc") == "db-abc"
    assert revision_name("x" * 253, "abc") == f"{'x' * 223}-abc"


def test_a_new_revision_has_the_next_number():
    assert next_number([]) == 1
    assert next_number([a_revision("a", 4), a_revision("b", 2)]) == 5


@pytest.mark.parametrize(
    ("live", "limit", "surplus"),
    [
        pytest.param([], 3, [], id="none is too many"),
        pytest.param([], 1, ["a", "b"], id="the oldest go"),
        pytest.param(["a"], 1, ["b"], id="those that pods have stay, and do not count"),
        pytest.param([], 0, ["a", "b", "c"], id="none is kept"),
    ],
)
def test_which_revisions_are_too_many(live, limit, surplus):
    revisions = [a_revision(name, number) for number, name in enumerate("abc", 1)]

    assert [one.name for one in surplus_revisions(revisions, live, limit)] == surplus
