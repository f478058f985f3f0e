"""Which clusters need a credential."""

import pytest

from fleetqueue.api.cluster_v1 import PLACEMENT_LABEL, ManagedCluster, PlacementDecision
from fleetqueue.api.kueue_v1beta2 import MultiKueueCluster
from fleetqueue.controllers.credentials.who_needs_one import (
    cluster_of_secret,
    clusters_of_decision,
    clusters_of_member,
    why_needed,
)

ASKED = {"fleetqueue.dev/credentials": "true"}


def cluster(*, annotations=None, deleting=False):
    manifest = ManagedCluster.manifest("c1", annotations=annotations)
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return ManagedCluster.view(manifest)


def decision(placement):
    return PlacementDecision.view(PlacementDecision.manifest("d", "ns", labels={PLACEMENT_LABEL: placement}))


def member(**source):
    return MultiKueueCluster.view(MultiKueueCluster.manifest("gpu-c1", spec={"clusterSource": source}))


@pytest.mark.parametrize(
    ("of", "placements", "decisions", "members", "why"),
    [
        pytest.param(cluster(), set(), [], [], "", id="nobody asks"),
        pytest.param(cluster(), {"gpu"}, [decision("gpu")], [], 'Placement "gpu" selects it', id="a check's placement"),
        pytest.param(cluster(), {"cpu"}, [decision("gpu")], [], "", id="a placement that no check names"),
        pytest.param(cluster(), set(), [], [member()], 'MultiKueueCluster "gpu-c1" uses it', id="still draining"),
        pytest.param(
            cluster(annotations=ASKED),
            set(),
            [],
            [],
            "annotation fleetqueue.dev/credentials asks for it",
            id="asked for by annotation",
        ),
        pytest.param(
            cluster(annotations={"fleetqueue.dev/credentials": "no"}), set(), [], [], "", id="another annotation value"
        ),
        pytest.param(
            cluster(annotations=ASKED, deleting=True),
            {"gpu"},
            [decision("gpu")],
            [],
            "",
            id="a cluster that is being deleted gets no new jobs, so nobody else's wish counts",
        ),
        pytest.param(
            cluster(deleting=True),
            set(),
            [],
            [member()],
            'MultiKueueCluster "gpu-c1" uses it',
            id="being deleted and still draining",
        ),
        pytest.param(
            None, set(), [], [member()], 'MultiKueueCluster "gpu-c1" uses it', id="already gone and still draining"
        ),
        pytest.param(None, {"gpu"}, [decision("gpu")], [], "", id="already gone, and an old decision names it"),
    ],
)
def test_why_needed(of, placements, decisions, members, why):
    assert why_needed(of, placements=placements, decisions=decisions, members=members) == why


@pytest.mark.parametrize(
    ("source", "clusters"),
    [
        pytest.param(
            {"kubeConfig": {"location": "kueue-admin-c1-kubeconfig", "locationType": "Secret"}}, ["c1"], id="our secret"
        ),
        pytest.param({"kubeConfig": {"location": "worker1-secret"}}, [], id="a secret of somebody else"),
        pytest.param(
            {"kubeConfig": {"location": "kueue-admin-c1-kubeconfig", "locationType": "Path"}}, [], id="a file"
        ),
        pytest.param({"clusterProfileRef": {"name": "c1"}}, ["c1"], id="a profile"),
        pytest.param({}, [], id="nothing"),
    ],
)
def test_clusters_of_member(source, clusters):
    assert clusters_of_member(member(**source)) == clusters


@pytest.mark.parametrize(
    ("name", "clusters"),
    [
        ("kueue-admin-c1-kubeconfig", ["c1"]),
        ("kueue-admin-a-kubeconfig-kubeconfig", ["a-kubeconfig"]),
        ("kueue-admin--kubeconfig", []),
        ("kueue-admin-kubeconfig", []),
        ("c1-kubeconfig", []),
    ],
)
def test_cluster_of_secret(name, clusters):
    assert cluster_of_secret(name) == clusters


def test_clusters_of_decision():
    status = {"decisions": [{"clusterName": "b", "reason": ""}, {"clusterName": "a", "reason": ""}]}

    decision = PlacementDecision.view(PlacementDecision.manifest("d", "ns", status=status))

    assert clusters_of_decision(decision) == ["b", "a"]
