"""What Kueue refuses in Workloads of elastic jobs, and what only they may."""

import pytest

from fleetqueue.embedded.kueue.webhooks.workload_rules import workload_faults
from tests.unit.embedded.kueue.scheduling.objects import condition, pod_set, workload_manifest

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
SECOND = {**ELASTIC, "kueue.x-k8s.io/workload-slice-replacement-for": "team/first"}


def workload(count, reclaimable=None, *, admitted=3, annotations=None, **status):
    raw = workload_manifest("w", pod_set(count=count))
    raw["metadata"]["annotations"] = annotations or {}
    pods = {"reclaimablePods": [{"name": "main", "count": reclaimable}]} if reclaimable is not None else {}
    parts = [{"name": "main", "count": admitted}]
    raw["status"] = {
        "conditions": [condition("QuotaReserved", "True")],
        "admission": {"clusterQueue": "q", "podSetAssignments": parts},
        **pods,
        **status,
    }
    return raw


@pytest.mark.parametrize(
    ("before", "after", "of_elastic", "of_others"),
    [
        pytest.param((3, 2), (1, 2), [], ["should be less or equal to 1"], id="it shrinks: an old number may stay"),
        pytest.param(
            (3, 1), (1, 2), ["should be less or equal to 1"], ["should be less or equal to 1"], id="a new one may not"
        ),
        pytest.param((1, 2), (1, 1), [], ["cannot be less than 2"], id="it has shrunk: fewer will not come again"),
        pytest.param((1, 2), (1, None), [], ["cannot be removed"], id="it has shrunk: all may come again"),
        pytest.param(
            (3, 2), (3, 1), ["cannot be less than 2"], ["cannot be less than 2"], id="it is as large as before"
        ),
    ],
)
def test_pods_that_will_not_come_again(before, after, of_elastic, of_others):
    for annotations, expected in ((ELASTIC, of_elastic), ({}, of_others)):
        old, new = (workload(*said, annotations=annotations) for said in (before, after))

        found = [fault for fault in workload_faults(old, new) if "reclaimablePods" in fault]

        assert [fault.rpartition(": ")[2] for fault in found] == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param(SECOND, 0, id="a slice goes where the one before it is"),
        pytest.param(ELASTIC, 1, id="the first slice only where it is nominated"),
        pytest.param({}, 1, id="and so does every other Workload"),
    ],
)
def test_where_a_workload_may_go(annotations, expected):
    old, new = (workload(3, annotations=annotations, **said) for said in ({}, {"clusterName": "a"}))

    assert len(workload_faults(old, new)) == expected


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        pytest.param({"podSetSliceRequiredTopology": "r", "podSetSliceSize": 1}, "", id="all is well"),
        pytest.param(
            {"podSetSliceRequiredTopology": "r"},
            "podSetSliceSize: Required value: must be set when podSetSliceRequiredTopology is specified",
            id="no size",
        ),
        pytest.param(
            {"podSetSliceRequiredTopology": "r", "podSetSliceSize": 0},
            "podSetSliceSize: Invalid value: 0: must be greater than 0",
            id="nothing in a slice",
        ),
        pytest.param(
            {"podSetSliceSize": 1},
            "podSetSliceSize: Forbidden: may not be set when podSetSliceRequiredTopology is not specified",
            id="no level",
        ),
        pytest.param(
            {"podsetSliceRequiredTopologyConstraints": [{"topology": "r", "size": 1}, {"topology": "h", "size": 0}]},
            "podsetSliceRequiredTopologyConstraints[1].size: Invalid value: 0: must be greater than 0",
            id="nothing in the slices of a layer",
        ),
    ],
)
def test_slices_have_a_level_and_a_size(request_, problem):
    found = workload_faults(None, workload_manifest("w", {**pod_set(), "topologyRequest": request_}))

    assert found == ([f"spec.podSets[0].topologyRequest.{problem}"] if problem else [])
