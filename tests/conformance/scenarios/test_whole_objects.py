"""All that somebody said in an object makes a difference to the scenarios; when, and under which uid, does not."""

import copy

import pytest

from .whole_objects import in_words, named, told, whole

ANY = "2026-01-01T00:00:01Z"


def a_cluster(**metadata):
    said = {"type": "Joined", "status": "True", "reason": "Joined", "message": "it joined", "lastTransitionTime": ANY}
    return {
        "apiVersion": "v1",
        "kind": "Cluster",
        "metadata": {"name": "x1-a", "uid": "a-uid", "labels": {"l": "v"}, "finalizers": ["f"], **metadata},
        "spec": {"accepted": True},
        "data": {"more": "body"},
        "status": {"version": "v1", "conditions": [said], "namespaces": [{"name": "n", "conditions": [said]}]},
    }


@pytest.mark.parametrize(
    "path",
    [
        ("metadata", "labels"),
        ("metadata", "finalizers"),
        ("spec",),
        ("data", "more"),
        ("status", "version"),
        ("status", "conditions"),
        ("status", "conditions", 0, "message"),
        ("status", "namespaces", 0, "conditions", 0, "reason"),
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_what_is_missing_makes_a_difference(path):
    less = copy.deepcopy(a_cluster())
    inner = less
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]

    assert whole(less) != whole(a_cluster())


def test_that_it_is_being_deleted_makes_a_difference():
    assert whole(a_cluster(deletionTimestamp=ANY)) != whole(a_cluster())


@pytest.mark.parametrize("field", ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"])
def test_what_the_server_keeps_for_itself_makes_none(field):
    assert whole(a_cluster(**{field: "other"})) == whole(a_cluster())


def test_a_condition_is_a_sentence_wherever_it_stands():
    said = told(a_cluster()["status"])

    assert said["conditions"] == {"Joined": "True Joined: it joined"}
    assert said["namespaces"] == [{"name": "n", "conditions": {"Joined": "True Joined: it joined"}}]


def test_an_object_of_a_namespace_is_known_by_both_names():
    assert [*named([a_cluster(), a_cluster(namespace="x1-ns")], whole)] == ["x1-a", "x1-ns/x1-a"]


def test_times_uids_and_prefixes_become_words():
    end = {
        "owner": "a-uid",
        "at": ANY,
        "finely": "2026-01-01T00:00:01.123456Z",
        "until": "2026-01-01 00:00:01 +0000 UTC",
    }

    words = in_words({**end, "hub": "h4sh-x1-w"}, [a_cluster()], "x1-", {"h4sh": "hash"})

    assert words == {"owner": "uid of a", "at": "T", "finely": "T", "until": "T", "hub": "hash-w"}
