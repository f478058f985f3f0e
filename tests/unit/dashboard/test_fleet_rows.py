"""The rows of clusters: what the hub knows of each."""

from datetime import datetime
from decimal import Decimal

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import secret
from fleetqueue.api.fleetqueue import REFUSED, credentials_secret
from fleetqueue.dashboard.fleet_rows import cluster_of, cluster_row, connected, members_by_cluster
from fleetqueue.dashboard.held_amounts import HeldAmounts
from fleetqueue.dashboard.kinds import SecretLabel
from fleetqueue.dashboard.score_history import MOST_POINTS, ScoreHistory
from fleetqueue.testing.builders import condition

from .objects import ADMITTED, QUOTA, SUCCEEDED, managed, member, score, seen, workload

EXPIRES = "fleetqueue.dev/expires"
ACTIVE, BROKEN = condition("Active"), condition("Active", False, "ClientConnectionFailed", "refused")


def row_of(*conditions, amounts=None, **parts):
    return cluster_row(cluster.ManagedCluster.view(managed("cluster1", *conditions, **(amounts or {}))), **parts)


def label(**annotations):
    manifest = secret(credentials_secret("cluster1"), "kueue-system", {"kubeconfig": "token: hush"})
    manifest["metadata"]["annotations"] = annotations
    return SecretLabel.kept(manifest)


@pytest.mark.parametrize(
    ("conditions", "available", "why"),
    [
        pytest.param([], "Unknown", "", id="nothing said yet"),
        pytest.param([condition(cluster.AVAILABLE)], "True", "", id="available"),
        pytest.param([condition(cluster.AVAILABLE, False, "X", "down")], "False", "down", id="not available"),
        pytest.param(
            [condition(cluster.AVAILABLE, "Unknown", "LeaseUpdateStopped")],
            "Unknown",
            "LeaseUpdateStopped",
            id="silent, without a message",
        ),
    ],
)
def test_a_cluster_is_available_as_ocm_says(conditions, available, why):
    row = row_of(*conditions)

    assert (row["name"], row["set"]) == ("cluster1", "spoke")
    assert (row["available"], row["why"]) == (available, why)


@pytest.mark.parametrize(
    ("members", "state"),
    [
        pytest.param([], "", id="no Placement selects it"),
        pytest.param([member("a", ACTIVE)], "True", id="connected"),
        pytest.param([member("a", ACTIVE), member("b", BROKEN)], "False", id="one of two is not"),
        pytest.param([member("a", ACTIVE), member("b")], "Unknown", id="one of two was not tried yet"),
    ],
)
def test_a_cluster_is_connected_as_its_worst_connection(members, state):
    assert connected([kueue.MultiKueueCluster.view(one) for one in members]) == state


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        pytest.param(member("gpu-c1", of="c1"), "c1", id="ours, by its label"),
        pytest.param(member("m", of="", secret=credentials_secret("c1")), "c1", id="by hand, with our secret"),
        pytest.param(member("m", of="", secret="mine"), "m", id="by hand, with another secret"),
    ],
)
def test_a_connection_leads_to_a_cluster(manifest, name):
    connection = kueue.MultiKueueCluster.view(manifest)

    assert cluster_of(connection) == name
    assert members_by_cluster([connection]) == {name: [connection]}


def test_the_credential_is_read_from_the_outside_of_its_secret():
    kept = label(**{EXPIRES: "2026-01-02T00:00:00Z"})

    row = row_of(secret=kept)

    assert row["until"] == datetime.fromisoformat("2026-01-02T00:00:00Z").timestamp()
    assert kept.data == {}


@pytest.mark.parametrize(
    ("annotations", "until", "refused"),
    [
        pytest.param({}, None, False, id="a secret of somebody else"),
        pytest.param({EXPIRES: "soon"}, None, False, id="no date"),
        pytest.param({REFUSED: "2026-01-01T00:00:00Z"}, None, True, id="the worker does not accept it"),
    ],
)
def test_a_credential_that_is_not_good_is_shown_as_such(annotations, until, refused):
    row = row_of(secret=label(**annotations))

    assert (row["until"], row["refused"]) == (until, refused)


def test_room_is_what_there_is_and_what_our_jobs_hold_of_it():
    row = row_of(amounts={"cpu": "8", "memory": "1Gi", "pods": "110"}, taken={"cpu": Decimal("2.5")})

    assert row["room"] == {"cpu": [2.5, 8.0], "memory": [0.0, 2.0**30]}


def test_scores_are_those_of_whole_clusters():
    measured = cluster.AddOnPlacementScore.view(
        score(cpuNodeAvailable=1, cpuClusterAvailable=-84, gpuClusterAvailable=5)
    )

    row = row_of(score=measured)

    assert row["scores"] == {"cpu": -84, "nvidia.com/gpu": 5}


def test_history_keeps_changes_and_only_so_many():
    history = ScoreHistory()
    for moment in range(2 * MOST_POINTS):
        history.note(cluster.AddOnPlacementScore.view(score(cpuClusterAvailable=moment // 2)), float(moment))

    points = history.of("cluster1")["cpu"]

    assert points == [(float(2 * value), value) for value in range(MOST_POINTS)]


def test_history_of_a_cluster_that_is_gone_is_forgotten():
    history = ScoreHistory()
    history.note(cluster.AddOnPlacementScore.view(score(cpuClusterAvailable=1)), 0.0)

    history.forget("cluster1")

    assert history.of("cluster1") == {}


@pytest.mark.parametrize(
    ("versions", "held"),
    [
        pytest.param([workload("w", QUOTA, on="m")], {}, id="not admitted"),
        pytest.param([workload("w", QUOTA, ADMITTED, on="m")], {"cpu": 1}, id="it runs"),
        pytest.param([workload("w", QUOTA, ADMITTED, on="m")] * 2, {"cpu": 1}, id="seen twice, counted once"),
        pytest.param(
            [workload("a", QUOTA, ADMITTED, on="m"), workload("b", QUOTA, ADMITTED, on="m", cpu="500m")],
            {"cpu": Decimal("1.5")},
            id="two",
        ),
        pytest.param(
            [workload("w", QUOTA, ADMITTED, on="m"), workload("w", QUOTA, ADMITTED, SUCCEEDED, on="m")],
            {"cpu": 0},
            id="it has ended",
        ),
    ],
)
def test_running_jobs_hold_what_they_request(versions, held):
    amounts = HeldAmounts()
    for version in versions:
        amounts.put(seen(version))

    assert amounts.on("m") == held
