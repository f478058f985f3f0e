"""What `get jobs` tells of a job beside its state."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.admin.job_details import JobSurroundings, job_details, ran_seconds, result, waited_seconds
from fleetqueue.admin.queue_positions import QueuePosition
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.fleetqueue import CLUSTER_LABEL
from fleetqueue.testing.builders import by_secret

CREATED = datetime(2026, 1, 1, tzinfo=UTC)
NOW = CREATED + timedelta(seconds=100)


def workload(**since):
    """Build a Workload whose conditions are true since so many seconds after its creation."""
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": timestamp(CREATED + timedelta(seconds=seconds))}
        for kind, seconds in since.items()
    ]
    manifest = kueue.Workload.manifest("w", "team-a", status={"conditions": conditions})
    manifest["metadata"]["creationTimestamp"] = timestamp(CREATED)
    return kueue.Workload.view(manifest)


@pytest.mark.parametrize(
    ("since", "waited", "ran"),
    [
        pytest.param({}, 100, None, id="it waits"),
        pytest.param({"QuotaReserved": 10}, 100, None, id="it has quota, and waits for its checks"),
        pytest.param({"Admitted": 20}, 20, 80, id="it runs"),
        pytest.param({"Admitted": 20, "Finished": 50}, 20, 30, id="it has ended"),
        pytest.param({"Finished": 50}, 50, None, id="it has ended before it ran"),
    ],
)
def test_a_job_has_waited_until_its_admission_and_run_until_its_end(since, waited, ran):
    found = workload(**since)

    assert (waited_seconds(found, NOW), ran_seconds(found, NOW)) == (waited, ran)


def member(name, location="other", **labels):
    return kueue.MultiKueueCluster.view(kueue.MultiKueueCluster.manifest(name, labels=labels, spec=by_secret(location)))


MEMBERS = {
    one.name: one
    for one in (
        member("gpu-cluster1", **{CLUSTER_LABEL: "cluster1"}),
        member("mine", "kueue-admin-cluster2-kubeconfig"),
        member("foreign"),
    )
}


@pytest.mark.parametrize(
    ("name", "around", "plain"),
    [
        pytest.param("gpu-cluster1", JobSurroundings(members=MEMBERS), "cluster1", id="by its label"),
        pytest.param("mine", JobSurroundings(members=MEMBERS), "cluster2", id="by its secret"),
        pytest.param("foreign", JobSurroundings(members=MEMBERS), "foreign", id="of somebody else"),
        pytest.param("gpu-b-1", JobSurroundings(clusters=["1", "b-1", "c"]), "b-1", id="by the longest name that fits"),
        pytest.param("b-1", JobSurroundings(clusters=["b-1"]), "b-1", id="called like its cluster"),
        pytest.param("gpu-b-1", JobSurroundings(), "gpu-b-1", id="nothing can be seen"),
    ],
)
def test_a_member_has_the_name_of_its_cluster(name, around, plain):
    assert around.plain_name(name) == plain


def test_two_ways_to_one_cluster_are_one_cluster():
    around = JobSurroundings(clusters=["c1"], positions={"team-a/w": QueuePosition(3, 1)})

    row = job_details(workload(), ("gpu-c1", "cpu-c1"), around)

    assert (row["clusters"], row["members"]) == (["c1"], ["gpu-c1", "cpu-c1"])
    assert (row["position"], row["local_position"]) == (3, 1)


def test_how_a_job_has_ended_is_what_kueue_says():
    ended = {"conditions": [{"type": "Finished", "status": "True", "reason": "Failed"}]}

    assert result(kueue.Workload.view(kueue.Workload.manifest("w", "team-a", status=ended))) == "Failed"
    assert result(workload()) == ""
