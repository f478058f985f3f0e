"""The write that nominates may touch only what Kueue's own admission writes own."""

import copy

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.controllers.placement_admission.nomination_apply import nomination, owned

STATUS = {
    "admission": {
        "clusterQueue": "queue",
        "podSetAssignments": [
            {
                "name": "main",
                "count": 1,
                "flavors": {"cpu": "default", "nvidia.com/gpu": "default"},
                "resourceUsage": {"cpu": "1", "nvidia.com/gpu": "1"},
            }
        ],
    },
    "admissionChecks": [
        {"name": "mk", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:01Z"},
        {"name": "ac", "state": "Ready", "message": "placement gpu", "lastTransitionTime": "2026-01-01T00:00:02Z"},
    ],
    "conditions": [
        {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "QuotaReserved",
            "message": "Quota reserved in ClusterQueue queue",
            "lastTransitionTime": "2026-01-01T00:00:01Z",
            "observedGeneration": 1,
        },
        {
            "type": "SomebodyElse",
            "status": "True",
            "reason": "Other",
            "message": "written by another controller",
            "lastTransitionTime": "2026-01-01T00:00:01Z",
        },
    ],
    "requeueState": {"count": 2},
    "resourceRequests": [],
}


def leaf(*names):
    return {f"f:{name}": {} for name in names}


CONDITION = {".": {}, **leaf("lastTransitionTime", "message", "observedGeneration", "reason", "status", "type")}
ADMISSION_FIELDS = {
    "f:status": {
        "f:admission": {
            "f:clusterQueue": {},
            "f:podSetAssignments": {
                'k:{"name":"main"}': {
                    ".": {},
                    "f:count": {},
                    "f:flavors": {"f:cpu": {}, "f:nvidia.com/gpu": {}},
                    "f:name": {},
                    "f:resourceUsage": {"f:cpu": {}, "f:nvidia.com/gpu": {}},
                }
            },
        },
        "f:admissionChecks": {
            'k:{"name":"ac"}': {".": {}, "f:name": {}},
            'k:{"name":"mk"}': {".": {}, **leaf("lastTransitionTime", "message", "name", "state")},
        },
        "f:conditions": {'k:{"type":"QuotaReserved"}': CONDITION},
        "f:resourceRequests": {},
    }
}
"""What Kueue 0.19 owns by its admission apply, after we have applied our own entry of the checks by force."""


def managed(manager, operation, fields, subresource="status"):
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "time": "2026-01-01T00:00:01Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **({"subresource": subresource} if subresource else {}),
    }


OTHERS = [
    managed("kueue", "Update", {"f:spec": {"f:podSets": {}}}, subresource=""),
    managed("kueue", "Update", {"f:status": {"f:requeueState": {".": {}, "f:count": {}}}}),
    managed(
        "fleetqueue-check-ac",
        "Apply",
        {"f:status": {"f:admissionChecks": {'k:{"name":"ac"}': {".": {}, **leaf("message", "name", "state")}}}},
    ),
]


def workload(*managed_fields, status=STATUS):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-x",
            "namespace": "team-a",
            "uid": "u1",
            "resourceVersion": "77",
            "labels": {"a": "b"},
            "managedFields": list(managed_fields),
        },
        "spec": {"queueName": "queue"},
        "status": copy.deepcopy(status),
    }


def test_a_nomination_repeats_exactly_what_kueues_admission_owns():
    raw = workload(*OTHERS, managed("kueue-admission", "Apply", ADMISSION_FIELDS))

    written = nomination(raw, ["gpu-c1"])

    assert written == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "job-x", "namespace": "team-a", "uid": "u1", "resourceVersion": "77"},
        "status": {
            "admission": STATUS["admission"],
            "admissionChecks": [STATUS["admissionChecks"][0], {"name": "ac"}],
            "conditions": [STATUS["conditions"][0]],
            "resourceRequests": [],
            "nominatedClusterNames": ["gpu-c1"],
        },
    }


def test_a_nomination_does_not_change_what_it_was_made_from():
    raw = workload(managed("kueue-admission", "Apply", ADMISSION_FIELDS))
    before = copy.deepcopy(raw)

    nomination(raw, ["gpu-c1"])

    assert raw == before


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([], id="no managed fields"),
        pytest.param(OTHERS, id="only those of others"),
        pytest.param([managed("kueue-admission", "Update", ADMISSION_FIELDS)], id="an update is not an apply"),
        pytest.param([managed("kueue-admission", "Apply", {"f:metadata": {"f:labels": {}}}, "")], id="no status"),
    ],
)
def test_where_kueues_admission_owns_nothing_only_the_nomination_is_written(entries):
    assert nomination(workload(*entries), ["a", "b"])["status"] == {"nominatedClusterNames": ["a", "b"]}


def test_entries_to_write_stand_where_the_live_ones_do():
    raw = workload(*OTHERS, managed("kueue-admission", "Apply", ADMISSION_FIELDS))
    entry = {"name": "ac", "state": "Ready", "message": "one cluster"}

    written = nomination(raw, ["gpu-c1"], [entry])

    assert [check["name"] for check in written["status"]["admissionChecks"]] == [
        check["name"] for check in STATUS["admissionChecks"]
    ]
    assert entry in written["status"]["admissionChecks"]


def test_a_further_nomination_replaces_the_list_by_the_longer_one():
    fields = {"f:status": {"f:nominatedClusterNames": {}}}
    raw = workload(managed("kueue-admission", "Apply", fields), status={"nominatedClusterNames": ["a"]})

    assert nomination(raw, ["a", "b"])["status"] == {"nominatedClusterNames": ["a", "b"]}


@pytest.mark.parametrize(
    ("value", "fields", "part"),
    [
        pytest.param({"a": 1, "b": 2}, {"f:a": {}}, {"a": 1}, id="one field"),
        pytest.param({"a": 1}, {"f:gone": {}}, {}, id="a field that is not there any more"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"f:a": {"f:b": {}}}, {"a": {"b": 1}}, id="a field inside"),
        pytest.param({"a": {"b": 1}}, {"f:a": {}}, {"a": {"b": 1}}, id="an atomic map"),
        pytest.param({"a": [1, 2]}, {"f:a": {}}, {"a": [1, 2]}, id="an atomic list"),
        pytest.param([1, 2], {"v:2": {}}, [2], id="an element of a set"),
        pytest.param(["x"], {'v:"x"': {}, 'v:"y"': {}}, ["x"], id="an element that is not there any more"),
        pytest.param(
            [{"n": "a", "x": 1}, {"n": "b", "x": 2}],
            {'k:{"n":"b"}': {".": {}, "f:x": {}}},
            [{"n": "b", "x": 2}],
            id="an item by its key, which is always told",
        ),
        pytest.param(
            [{"n": "w", "x": 1}, {"n": "d", "x": 2}, {"n": "l", "x": 3}],
            {'k:{"n":"d"}': {}, 'k:{"n":"w"}': {"f:x": {}}},
            [{"n": "w", "x": 1}, {"n": "d", "x": 2}],
            id="items in the order of the list",
        ),
        pytest.param(["z", "b", "a"], {'v:"a"': {}, 'v:"z"': {}}, ["z", "a"], id="a set in its own order"),
        pytest.param([{"n": "a"}], {'k:{"n":"z"}': {}}, [], id="an item that is not there any more"),
        pytest.param([{"n": "a", "x": 1}], {'k:{"n":"a"}': {}}, [{"n": "a", "x": 1}], id="an atomic item"),
    ],
)
def test_the_part_that_is_owned(value, fields, part):
    assert owned(value, fields) == part


scalars = st.one_of(st.integers(-5, 5), st.text("xyz", max_size=3), st.booleans(), st.none())
keys = st.text("abc", min_size=1, max_size=2)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.dictionaries(keys, inner, max_size=3),
        st.lists(inner, max_size=3),
        st.lists(
            st.fixed_dictionaries({"name": keys}, optional={"x": inner}), max_size=3, unique_by=lambda i: i["name"]
        ),
    ),
    max_leaves=12,
)


@st.composite
def fields_of(draw, value):
    """Draw managed fields that fit a value, with some that name what is no longer there."""
    fields = {".": {}} if draw(st.booleans()) else {}
    if isinstance(value, dict):
        for key in [*value, "gone"]:
            if draw(st.booleans()):
                fields[f"f:{key}"] = draw(fields_of(value.get(key)))
    elif isinstance(value, list):
        for item in value:
            if not draw(st.booleans()):
                continue
            if isinstance(item, dict) and "name" in item:
                fields["k:" + orjson.dumps({"name": item["name"]}).decode()] = draw(fields_of(item))
            elif not isinstance(item, dict | list):
                fields["v:" + orjson.dumps(item).decode()] = {}
        if draw(st.booleans()):
            fields['k:{"name":"gone"}'] = {"f:x": {}}
    return fields


def is_part(part, whole):
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        others = iter(whole if isinstance(whole, list) else ())  # behind the one before it: the order is kept
        return isinstance(whole, list) and all(any(is_part(item, other) for other in others) for item in part)
    return part == whole and type(part) is type(whole)


@given(st.data())
def test_what_is_owned_is_always_a_part_of_what_there_is(data):
    value = data.draw(values)
    fields = data.draw(fields_of(value))

    assert is_part(owned(value, fields), value)
