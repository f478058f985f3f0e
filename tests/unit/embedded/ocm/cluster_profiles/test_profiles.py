"""Which profiles there are, and what they say."""

from datetime import UTC, datetime

import pytest

from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.embedded.ocm.cluster_profiles.profiles import (
    cluster_of,
    labels_patch,
    profile_manifest,
    status_patch,
    wanted_clusters,
)
from fleetqueue.testing.builders import condition

from .objects import binding_manifest, cluster_manifest, set_manifest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EARLIER = "2025-01-01T00:00:00Z"
EU = {"matchLabels": {"region": "eu"}}


def cluster(name="c1", *, is_deleting=False, **parts):
    manifest = cluster_manifest(name, **{"conditions": [], **parts})
    if is_deleting:
        manifest["metadata"]["deletionTimestamp"] = EARLIER
    return ManagedCluster.view(manifest)


@pytest.mark.parametrize(
    ("bindings", "sets", "clusters", "wanted"),
    [
        pytest.param([], [{}], [cluster("a")], [], id="nothing is bound"),
        pytest.param([{}], [{}], [cluster("a"), cluster("b", set_="other")], ["a"], id="a set by its label"),
        pytest.param([{"is_bound": False}], [{}], [cluster("a")], [], id="a binding that is not bound yet"),
        pytest.param([{}], [], [cluster("a")], [], id="a set that is gone"),
        pytest.param([{}], [{}], [cluster("a", is_deleting=True)], [], id="a cluster that is leaving"),
        pytest.param(
            [{}, {"name": "eu"}],
            [{}, {"name": "eu", "selector": EU}],
            [cluster("a"), cluster("b", set_="", labels={"region": "eu"}), cluster("c", labels={"region": "eu"})],
            ["a", "b", "c"],
            id="two sets, each cluster once",
        ),
        pytest.param(
            [{"name": "all"}], [{"name": "all", "selector": {}}], [cluster("a"), cluster("b", set_="")], ["a", "b"],
            id="a set of everybody",
        ),
    ],
)  # fmt: skip
def test_wanted_clusters(bindings, sets, clusters, wanted):
    bound = [ManagedClusterSetBinding.view(binding_manifest(**each)) for each in bindings]
    known = [ManagedClusterSet.view(set_manifest(**each)) for each in sets]

    assert wanted_clusters(bound, {each.name: each for each in known}, clusters) == wanted


def test_profile_begins_with_the_names_of_its_cluster_and_of_ocm():
    assert profile_manifest("c1", "ns") == {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {
            "name": "c1",
            "namespace": "ns",
            "labels": {
                "x-k8s.io/cluster-manager": "open-cluster-management",
                "open-cluster-management.io/cluster-name": "c1",
            },
        },
        "spec": {"displayName": "c1", "clusterManager": {"name": "open-cluster-management"}},
    }


@pytest.mark.parametrize(("labels", "name"), [({"open-cluster-management.io/cluster-name": "x"}, "x"), ({}, "c1")])
def test_profile_is_about_the_cluster_that_it_names_or_is_named_after(labels, name):
    assert cluster_of(ClusterProfile.view(ClusterProfile.manifest("c1", "ns", labels=labels))) == name


def test_status_repeats_what_the_cluster_says():
    about = cluster(
        conditions=[
            condition("HubAcceptedManagedCluster"),
            condition("ManagedClusterConditionAvailable", "Unknown", "ManagedClusterLeaseUpdateStopped", "silent"),
            condition("ManagedClusterJoined", True, "ManagedClusterJoined", "Managed cluster joined"),
        ],
        claims=[("platform", "kind"), ("id", "c1")],
        version="v1.36.3",
    )

    assert status_patch({}, about, NOW) == {
        "version": {"kubernetes": "v1.36.3"},
        "properties": [{"name": "platform", "value": "kind"}, {"name": "id", "value": "c1"}],
        "conditions": [
            {
                "type": "ControlPlaneHealthy",
                "status": "Unknown",
                "reason": "ManagedClusterLeaseUpdateStopped",
                "message": "silent",
                "lastTransitionTime": timestamp(NOW),
            },
            {
                "type": "Joined",
                "status": "True",
                "reason": "ManagedClusterJoined",
                "message": "Managed cluster joined",
                "lastTransitionTime": timestamp(NOW),
            },
        ],
    }


def test_quiet_cluster_changes_nothing():
    assert status_patch({}, cluster(), NOW) == {}


@pytest.mark.parametrize(
    ("live", "patch"),
    [
        pytest.param(
            {"version": {"kubernetes": "v1"}, "properties": [{"name": "a", "value": "b"}]},
            {"version": {"kubernetes": None}, "properties": None},
            id="what the cluster says no more goes",
        ),
        pytest.param(
            {"conditions": [condition("Joined", since=EARLIER), condition("Theirs", since=EARLIER)]},
            {},
            id="conditions that the cluster does not speak of stay",
        ),
        pytest.param({"accessProviders": [{"name": "x"}], "credentials": [{}]}, {}, id="fields of others stay"),
    ],
)
def test_status_of_a_cluster_that_says_nothing(live, patch):
    assert status_patch(live, cluster(), NOW) == patch


def test_condition_keeps_its_date_while_its_status_stays():
    live = {"conditions": [condition("Joined", True, "Old", since=EARLIER)]}
    about = cluster(conditions=[condition("ManagedClusterJoined", True, "New")])

    [joined] = status_patch(live, about, NOW)["conditions"]

    assert (joined["reason"], joined["lastTransitionTime"]) == ("New", EARLIER)


@pytest.mark.parametrize(("set_", "value"), [("spoke", "spoke"), ("", "")])
def test_label_names_the_set_of_the_cluster_or_none(set_, value):
    about = cluster(set_=set_)
    live = {"x-k8s.io/cluster-manager": "open-cluster-management", "open-cluster-management.io/cluster-name": "c1"}

    assert labels_patch(live, about) == {"multicluster.x-k8s.io/clusterset": value}
    assert labels_patch({**live, "multicluster.x-k8s.io/clusterset": value, CLUSTER_SET_LABEL: "x"}, about) == {}
