"""The rows of jobs, and one job opened up."""

from dataclasses import replace
from datetime import datetime

import pytest

from fleetqueue.admin.hub_state import HubState
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.dashboard.job_detail import cluster_row, job_detail
from fleetqueue.dashboard.job_rows import job_row, queued_since
from fleetqueue.testing.builders import condition

from .objects import ADMITTED, CREATED, END, EVICTED, FAILED, LATER, QUOTA, SUCCEEDED, cluster_queue, seen, workload

NAMES = {"gpu-cluster1": "cluster1"}
QUEUE = kueue.ClusterQueue.view(cluster_queue("cq", condition("Active")))
LOCAL = kueue.LocalQueue.view(kueue.LocalQueue.manifest("queue", "ns", spec={"clusterQueue": "cq"}))
HUB = HubState(local_queues={"ns/queue": LOCAL}, cluster_queues={"cq": QUEUE})


def at(moment):
    return datetime.fromisoformat(moment).timestamp()


@pytest.mark.parametrize(
    ("manifest", "state", "clusters", "times"),
    [
        pytest.param(workload(), "waiting", [], (CREATED, None, None), id="new"),
        pytest.param(
            workload("w", QUOTA, nominatedClusterNames=["gpu-cluster1", "by-hand"]),
            "starting",
            ["cluster1", "by-hand"],
            (CREATED, None, None),
            id="nominated, one of them made by hand",
        ),
        pytest.param(
            workload("w", QUOTA, ADMITTED, on="gpu-cluster1"),
            "running",
            ["cluster1"],
            (CREATED, LATER, None),
            id="running",
        ),
        pytest.param(
            workload("w", QUOTA, ADMITTED, SUCCEEDED, on="gpu-cluster1"),
            "done",
            ["cluster1"],
            (CREATED, LATER, END),
            id="done",
        ),
        pytest.param(
            workload("w", QUOTA, ADMITTED, FAILED, on="gpu-cluster1"),
            "failed",
            ["cluster1"],
            (CREATED, LATER, END),
            id="failed",
        ),
        pytest.param(
            workload("w", QUOTA, EVICTED, on="gpu-cluster1"), "waiting", [], (CREATED, None, None), id="evicted"
        ),
    ],
)
def test_a_row_tells_how_far_a_job_has_come_where_and_when(manifest, state, clusters, times):
    row = job_row(seen(manifest), HUB, NAMES)

    assert (row["state"], row["clusters"]) == (state, clusters)
    assert (row["created"], row["admitted"], row["ended"]) == tuple(moment and at(moment) for moment in times)


def test_a_job_that_waits_tells_its_queue_its_order_and_its_reason():
    row = job_row(seen(workload("w", priority=7)), HUB, NAMES)

    assert (row["queue"], row["clusterQueue"]) == ("queue", "cq")
    assert (row["priority"], row["queued"], row["uid"]) == (7, at(CREATED), "uid-of-w")
    assert row["why"].startswith("it waits in ClusterQueue cq")


def test_a_job_that_is_done_needs_no_reason():
    row = job_row(seen(workload("w", QUOTA, ADMITTED, SUCCEEDED)), HUB, NAMES)

    assert "why" not in row


@pytest.mark.parametrize(
    ("reason", "since"),
    [
        pytest.param("PodsReadyTimeout", LATER, id="its pods were too slow"),
        pytest.param("AdmissionCheck", LATER, id="a check sent it back"),
        pytest.param("Preempted", CREATED, id="it made room for another"),
    ],
)
def test_an_evicted_job_queues_again_where_kueue_puts_it(reason, since):
    evicted = condition(kueue.EVICTED, True, reason, since=LATER)

    assert queued_since(seen(workload("w", evicted))) == datetime.fromisoformat(since)


def test_a_cluster_of_an_opened_job_tells_its_rank_its_scores_and_what_was_said_of_it():
    row = {"cluster": "c1", "rule": "Chosen", "rank": 1, "scores": ["gpu 70"], "why": "chosen", "connected": "yes"}

    assert cluster_row({**row, "draining": True, "dispatcher": "no room now"}) == {
        "name": "c1",
        "answer": "1: Chosen",
        "reason": "no room now; gpu 70; draining; connected: yes",
    }
    assert cluster_row({**row, "rank": None, "draining": False, "dispatcher": ""})["reason"] == (
        "chosen; gpu 70; connected: yes"
    )


def test_an_opened_job_that_waits_for_quota_tells_what_it_asks_for():
    requests = [{"name": name, "resources": {"cpu": "2", "memory": "1Gi"}} for name in ("driver", "workers")]

    detail = job_detail(seen(workload("w", resourceRequests=requests)), HUB)

    assert detail["requests"] == {"cpu": "4", "memory": "2Gi"}


def test_an_opened_job_tells_why_and_all_that_its_workload_says():
    check = {"name": "gpu", "state": "Pending", "message": "no clusters", "lastTransitionTime": LATER}
    shown = workload("w", QUOTA, admissionChecks=[check], nominatedClusterNames=["gpu-cluster1"])
    member = kueue.MultiKueueCluster.view(kueue.MultiKueueCluster.manifest("gpu-cluster1", spec={}))

    detail = job_detail(seen(shown), replace(HUB, members={"gpu-cluster1": member}))

    assert (detail["job"], detail["workload"], detail["state"]) == ("Workload/w", "w", "starting")
    assert (detail["cause"], detail["reason"], detail["next"]) == (
        "CheckWaits",
        "gpu is Pending: no clusters",
        "`kubectl get admissioncheck gpu -o yaml` shows who decides over it",
    )
    assert detail["requests"] == {"cpu": "1"}
    assert detail["checks"] == [{"name": "gpu", "state": "Pending", "message": "no clusters"}]
    assert [(link["state"], link["kind"], link["says"]) for link in detail["chain"]] == [
        ("ok", "LocalQueue", ""),
        ("ok", "ClusterQueue", ""),
        ("not seen", "AdmissionCheck", ""),
        ("broken", "MultiKueueCluster", "Kueue has not reached it yet"),
        ("not seen", "LocalQueue", ""),
    ]
    assert [(entry["type"], entry["since"]) for entry in detail["conditions"]] == [("QuotaReserved", at(LATER))]
