"""The rows of queues."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.dashboard.queue_rows import cluster_queue_row, local_queue_row
from fleetqueue.testing.builders import condition

from .objects import cluster_queue, local_queue


def test_a_cluster_queue_tells_its_quota_and_who_is_in_it():
    usage = [{"name": "default", "resources": [{"name": "cpu", "total": "2500m"}]}]
    manifest = cluster_queue(
        "cq", condition("Active"), flavorsReservation=usage, pendingWorkloads=4, admittedWorkloads=2
    )

    row = cluster_queue_row(kueue.ClusterQueue.view(manifest))

    assert row["quota"] == {"cpu": [2.5, 9.0]}
    assert (row["active"], row["why"], row["admitted"], row["waiting"]) == ("True", "", 2, 4)


def test_a_queue_that_admits_nothing_says_why():
    manifest = cluster_queue("cq", condition("Active", False, "CheckNotFound", "Can't admit new workloads"))

    row = cluster_queue_row(kueue.ClusterQueue.view(manifest))

    assert (row["active"], row["why"]) == ("False", "Can't admit new workloads")


def test_a_local_queue_tells_where_it_leads():
    manifest = local_queue("queue", "cq", conditions=[condition("Active")], pendingWorkloads=1, admittedWorkloads=0)

    row = local_queue_row(kueue.LocalQueue.view(manifest))

    assert (row["namespace"], row["name"], row["queue"]) == ("ns", "queue", "cq")
    assert (row["active"], row["admitted"], row["waiting"]) == ("True", 0, 1)
