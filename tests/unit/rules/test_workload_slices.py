"""Elastic jobs: which slice counts, and how many pods may run."""

import pytest

from fleetqueue.rules.workload_slices import (
    admitted_slice,
    is_elastic,
    is_replaced,
    is_scaled_down,
    latest_active,
    not_finished,
    pods_to_release,
    slice_name,
    slice_version,
)

ADMITTED = ("QuotaReserved", "Admitted")


def part(name, *true, age=0, uid="", annotations=None, reason="R"):
    conditions = [{"type": kind, "status": "True", "reason": reason} for kind in true]
    metadata = {"name": name, "uid": uid or name, "creationTimestamp": f"2026-01-01T12:00:{59 - age:02}Z"}
    return {"metadata": {**metadata, "annotations": annotations or {}}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"kueue.x-k8s.io/elastic-job": "true"}, True, id="it says so"),
        pytest.param({"kueue.x-k8s.io/elastic-job": "True"}, False, id="in another way"),
        pytest.param({}, False, id="it says nothing"),
    ],
)
def test_what_is_elastic(value, expected):
    assert is_elastic(part("a", annotations=value)) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"a": 2}, {"a": 1}, True, id="fewer"),
        pytest.param({"a": 2}, {"a": 2}, False, id="as many"),
        pytest.param({"a": 2}, {"a": 3}, False, id="more"),
        pytest.param({"a": 2, "b": 2}, {"a": 1, "b": 2}, True, id="fewer of one set"),
        pytest.param({"a": 2, "b": 2}, {"a": 1, "b": 3}, False, id="fewer of one set, more of another"),
    ],
)
def test_what_is_scaled_down(old, new, expected):
    assert is_scaled_down(old, new) is expected


def test_slices_are_ordered_by_age_and_then_by_uid():
    slices = [part("new"), part("second", age=5, uid="2"), part("first", age=5, uid="1"), part("over", "Finished")]

    assert [each["metadata"]["name"] for each in not_finished(slices)] == ["first", "second", "new"]


@pytest.mark.parametrize(
    ("slices", "latest", "admitted"),
    [
        pytest.param([], None, None, id="none"),
        pytest.param([part("a")], None, None, id="one that waits"),
        pytest.param([part("a", *ADMITTED, age=5), part("b")], "a", "a", id="one that runs, and one that waits"),
        pytest.param([part("a", *ADMITTED, age=5), part("b", *ADMITTED)], "b", "b", id="two that run"),
        pytest.param(
            [part("a", *ADMITTED, age=5), part("b", "QuotaReserved")], "b", None, id="the newer awaits checks"
        ),
        pytest.param(
            [part("a", *ADMITTED, age=5), part("b", *ADMITTED, "Evicted")], "a", "a", id="the newer has to go"
        ),
        pytest.param([part("a", *ADMITTED, "Finished")], None, None, id="one that is over"),
    ],
)
def test_the_slice_that_counts(slices, latest, admitted):
    names = [found and found["metadata"]["name"] for found in (latest_active(slices), admitted_slice(slices))]

    assert names == [latest, admitted]


@pytest.mark.parametrize(
    ("gated", "released", "names"),
    [
        pytest.param({"main": ["c", "a", "b"]}, {}, ["a", "b"], id="in the order of their names"),
        pytest.param({"main": ["c"]}, {"main": 1}, ["c"], id="beside those that run"),
        pytest.param({"main": ["c"]}, {"main": 2}, [], id="there is no room"),
        pytest.param({"main": ["c"]}, {"main": 5}, [], id="there are too many"),
        pytest.param({"other": ["c"]}, {}, [], id="of a set that was given nothing"),
    ],
)
def test_as_many_pods_are_released_as_were_granted(gated, released, names):
    assert pods_to_release({"main": 2}, gated, released) == names


def test_a_slice_is_named_after_the_first_of_its_job():
    assert slice_name(part("a")) == "a"
    assert slice_name(part("b", annotations={"kueue.x-k8s.io/workload-slice-name": "a"})) == "a"


@pytest.mark.parametrize(
    ("annotations", "version"),
    [
        pytest.param({}, "3", id="its generation"),
        pytest.param({"kueue.x-k8s.io/raycluster-generation": "7"}, "3_7", id="and that of its RayCluster"),
        pytest.param({"kueue.x-k8s.io/raycluster-generation": ""}, "3", id="which is not known yet"),
    ],
)
def test_what_tells_slices_apart(annotations, version):
    assert slice_version({"metadata": {"generation": 3, "annotations": annotations}}) == version


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(part("a", "Finished", reason="WorkloadSliceReplaced"), True, id="another took its place"),
        pytest.param(part("a", "Finished", reason="Succeeded"), False, id="its job has ended"),
        pytest.param(part("a"), False, id="it goes on"),
    ],
)
def test_what_was_replaced(workload, expected):
    assert is_replaced(workload) is expected
