"""Objects of built-in kinds get the form that Go gives them."""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.kinds.normalising import empty_field, normalised
from fleetqueue.embedded.apiserver.kinds.table import type_of

REFUSED = json.loads(Path(__file__).with_name("real_refusals.json").read_text())
POD, JOB, ROLE = "api.core.v1.Pod", "api.batch.v1.Job", "api.rbac.v1.Role"


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        pytest.param(POD, {}, {"metadata": {}, "spec": {"containers": None}, "status": {}}, id="what Go always writes"),
        pytest.param(ROLE, {"rules": []}, {"metadata": {}, "rules": None}, id="an empty list is none"),
        pytest.param(
            JOB,
            {"spec": {"suspend": False, "completions": 0, "template": {"spec": {"hostNetwork": False}}}},
            {
                "metadata": {},
                "spec": {
                    "suspend": False,
                    "completions": 0,
                    "template": {"metadata": {}, "spec": {"containers": None}},
                },
                "status": {},
            },
            id="a pointer keeps its zero, a plain field does not",
        ),
    ],
)
def test_the_form_of_an_object(kind, given, wanted):
    after, unknown = normalised(given, type_name=kind)

    assert after == wanted
    assert unknown == []


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("0.5", "500m"), (1, "1"), (0.25, "250m"), ("1024Mi", "1Gi"), (None, "0")],
)
def test_quantities_have_one_form(value, wanted):
    after, _ = normalised(container(resources={"limits": {"cpu": value}}), type_name=POD)

    assert after["spec"]["containers"][0]["resources"] == {"limits": {"cpu": wanted}}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.7+01:00", "2024-01-02T02:04:05Z"),
        (None, None),
    ],
)
def test_times_are_whole_seconds_of_utc(value, wanted):
    after, _ = normalised({"status": {"conditions": [{"lastProbeTime": value}]}}, type_name=POD)

    assert after["status"]["conditions"][0]["lastProbeTime"] == wanted


def test_what_is_in_order_is_returned_itself():
    once, _ = normalised(container(env=[{"name": "A", "value": "1"}]), type_name=POD)

    assert normalised(once, type_name=POD)[0] is once


def test_what_came_is_not_touched():
    given = container(zz=1, image="")
    before = repr(given)

    normalised(given, type_name=POD)

    assert repr(given) == before


def test_a_part_that_is_known_is_not_looked_at_again():
    live, _ = normalised(container(), type_name=POD)
    spec = {"unknown": 1}

    after, unknown = normalised({**live, "spec": spec}, {**live, "spec": spec}, type_name=POD)

    assert (after["spec"], unknown) == (spec, [])


def test_unknown_fields_go_and_are_told_in_order():
    given = container(zz=1, env=[{"name": "A", "yy": 2}]) | {"foo": 3}

    after, unknown = normalised(given, type_name=POD)

    assert unknown == ["spec.containers[0].zz", "spec.containers[0].env[0].yy", "foo"]
    assert after["spec"]["containers"] == [{"name": "c", "env": [{"name": "A"}], "resources": {}}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spec": []}, "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec"),
        ([], "json: cannot unmarshal array into Go value of type v1.Pod"),
        (
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            {"spec": {"activeDeadlineSeconds": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
        ),
        ({"metadata": {"creationTimestamp": "x"}}, 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x"'),
    ],
)
def test_what_cannot_be_read_is_refused_in_go_s_words(given, message):
    with pytest.raises(Unreadable) as refused:
        normalised(given, type_name=POD)

    assert str(refused.value).startswith(message)


def test_the_first_value_of_a_wrong_type_is_told():
    with pytest.raises(Unreadable, match=r"PodSpec\.spec\.hostPID"):
        normalised({"spec": {"hostPID": "x", "hostIPC": "y"}}, type_name=POD)


@pytest.mark.parametrize(
    ("kind", "status"),
    [(POD, {}), ("api.apps.v1.StatefulSet", {"replicas": 0, "availableReplicas": 0}), ("api.core.v1.ConfigMap", None)],
)
def test_the_empty_status_of_a_kind(kind, status):
    assert empty_field(kind, "status") == status


def container(**fields):
    return {"spec": {"containers": [{"name": "c", **fields}]}}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["refusal"][:80])
def test_what_cannot_be_read_is_refused_as_by_the_real_server(case):
    group, _, version = case["object"]["apiVersion"].rpartition("/")

    with pytest.raises(Unreadable) as refused:
        normalised(case["object"], type_name=type_of(group, version, case["object"]["kind"]))

    assert str(refused.value) == case["refusal"]
