"""What a worker gets of StatefulSets and LeaderWorkerSets."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.embedded.multikueue.bound_copies import workloads_of
from fleetqueue.embedded.multikueue.serving_adapters import LeaderWorkerSetAdapter, StatefulSetAdapter
from fleetqueue.rules.workload_names import workload_name
from fleetqueue.testing.virtual_time import START

JOB = {
    "metadata": {"name": "s", "namespace": "team", "uid": "hub-uid", "labels": {"a": "b"}, "ownerReferences": [{}]},
    "spec": {"replicas": 2},
    "status": {"replicas": 1},
}


def test_a_stateful_set_knows_its_workload_and_where_it_is_from():
    made = StatefulSetAdapter().copy(JOB, "w", "multikueue")

    assert made["metadata"] == {
        "name": "s",
        "namespace": "team",
        "labels": {"a": "b", kueue.ORIGIN_LABEL: "multikueue"},
        "annotations": {kueue.PREBUILT_WORKLOAD: "w", "kueue.x-k8s.io/multikueue-origin-uid": "hub-uid"},
    }
    assert made["spec"] == JOB["spec"]


def test_a_leader_worker_set_is_found_by_the_workloads_of_all_its_groups():
    made = LeaderWorkerSetAdapter().copy(JOB, "w", "multikueue")

    assert kueue.PREBUILT_WORKLOAD not in made["metadata"]["annotations"]
    assert workloads_of(LeaderWorkerSet.view(made)) == [
        f"team/{workload_name('LeaderWorkerSet', 'leaderworkerset.x-k8s.io', f's-{number}', 'hub-uid')}"
        for number in range(2)
    ]


@pytest.mark.parametrize("adapter", [StatefulSetAdapter(), LeaderWorkerSetAdapter()])
def test_no_status_comes_back(adapter):
    copy = {**JOB, "status": {"replicas": 2}}

    assert adapter.status(JOB, copy, START) == adapter.last_status(JOB, START) == {"replicas": 1}


@pytest.mark.parametrize(("replicas", "is_outdated"), [(2, False), (3, True)])
def test_a_copy_with_another_number_of_groups_is_sent_anew(replicas, is_outdated):
    copy = {**JOB, "spec": {"replicas": replicas}}

    assert LeaderWorkerSetAdapter().is_outdated(JOB, copy) is is_outdated
    assert not StatefulSetAdapter().is_outdated(JOB, copy)
