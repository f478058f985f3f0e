"""Profiles on a hub: made, kept up to date, shared with another writer, and removed."""

import pytest

from fleetqueue.api import cluster_v1 as ocm
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.embedded.ocm.cluster_profiles import wiring
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

from .objects import NAMESPACE, SET, binding_manifest, cluster_manifest, set_manifest

PROVIDER = {"name": "fleetqueue", "cluster": {"server": "https://c1:6443"}}


class Environment:
    def __init__(self, api, hub):
        self.api = api
        self.hub = hub

    def at_work(self):
        return managed(Manager(self.hub, wiring.controllers(self.hub, Metrics())))

    def profiles(self, namespace=NAMESPACE):
        return [each.name for each in self.api.list(ClusterProfile) if each.namespace == namespace]

    def profile(self, name="c1", namespace=NAMESPACE):
        return self.api.raw(ClusterProfile, name, namespace)

    def health(self, status, name="c1"):
        said = [condition("ManagedClusterConditionAvailable", status, "Reason")]
        self.api.change(ocm.ManagedCluster, name, status={"conditions": said})


@pytest.fixture
async def env(api, hub):
    """A hub with a set that is bound, and one cluster in it."""
    api.add(set_manifest(), binding_manifest(), cluster_manifest("c1"))
    return Environment(api, hub)


@pytest.mark.checklist("ENV-5")
async def test_each_cluster_of_a_bound_set_has_a_profile_in_that_namespace(env):
    env.api.add(cluster_manifest("c2"), cluster_manifest("c3", set_="other"), binding_manifest(namespace="team-a"))

    async with env.at_work():
        await settle()

        assert env.profiles() == env.profiles("team-a") == ["c1", "c2"]
        assert env.profiles("ns") == []
        assert env.profile()["metadata"]["labels"] == {
            "x-k8s.io/cluster-manager": "open-cluster-management",
            "open-cluster-management.io/cluster-name": "c1",
            "multicluster.x-k8s.io/clusterset": SET,
        }


async def test_profile_follows_its_cluster(env):
    async with env.at_work():
        await settle()
        env.health("Unknown")
        claims = [{"name": "platform", "value": "kind"}]
        env.api.change(ocm.ManagedCluster, "c1", status={"clusterClaims": claims, "version": {"kubernetes": "v1.36.3"}})
        await settle()

        status = env.profile()["status"]
        assert status["properties"] == claims
        assert status["version"] == {"kubernetes": "v1.36.3"}
        assert [(each["type"], each["status"]) for each in status["conditions"]] == [("ControlPlaneHealthy", "Unknown")]


async def test_second_look_writes_nothing(env):
    env.health("True")

    async with env.at_work():
        await settle()
        env.api.writes.clear()
        env.api.change(ocm.ManagedCluster, "c1", metadata={"annotations": {"look": "again"}})
        await advance(60)

        assert env.api.writes == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda api: api.remove(ocm.ManagedClusterSetBinding, SET, NAMESPACE), id="the set is unbound"),
        pytest.param(lambda api: api.remove(ocm.ManagedClusterSet, SET), id="the set is deleted"),
        pytest.param(lambda api: api.remove(ocm.ManagedCluster, "c1"), id="the cluster is gone"),
        pytest.param(
            lambda api: api.change(ocm.ManagedCluster, "c1", metadata={"labels": {ocm.CLUSTER_SET_LABEL: "other"}}),
            id="the cluster goes to another set",
        ),
        pytest.param(
            lambda api: api.change(
                ocm.ManagedClusterSetBinding, SET, NAMESPACE, status={"conditions": [condition(ocm.BOUND, False)]}
            ),
            id="the binding does not hold any more",
        ),
    ],
)
async def test_profile_goes_when(env, change):
    async with env.at_work():
        await settle()
        assert env.profiles() == ["c1"]
        change(env.api)
        await settle()

        assert env.profiles() == []


async def test_cluster_that_is_leaving_has_no_profile(env):
    env.api.change(ocm.ManagedCluster, "c1", metadata={"finalizers": ["example.com/wait"]})

    async with env.at_work():
        await settle()
        env.api.remove(ocm.ManagedCluster, "c1")
        await settle()

        assert env.profiles() == []


async def test_deleted_profile_comes_back(env):
    async with env.at_work():
        await settle()
        env.api.remove(ClusterProfile, "c1", NAMESPACE)
        await settle()

        assert env.profiles() == ["c1"]


async def test_profiles_of_other_managers_stay_and_hold_nobody_up(env):
    spec = {"displayName": "x", "clusterManager": {"name": "other"}}
    env.api.add(ClusterProfile.manifest("alone", NAMESPACE, spec=spec), cluster_manifest("c2"))
    env.api.add(ClusterProfile.manifest("c1", NAMESPACE, spec=spec))

    async with env.at_work():
        await advance(5)

        assert env.profiles() == ["alone", "c1", "c2"]
        assert env.profile("c1")["spec"] == spec
        assert "status" not in env.profile("c1")


async def test_nothing_is_made_in_a_namespace_that_ends(env):
    env.api.add(binding_manifest(namespace="ending"))
    env.api.change(Namespace, "ending", metadata={"finalizers": ["example.com/wait"]})
    env.api.remove(Namespace, "ending")

    async with env.at_work():
        await settle()

        assert env.profiles() == ["c1"]
        assert env.profiles("ending") == []


async def test_who_says_how_to_reach_the_cluster_is_not_disturbed(env):
    env.health("True")

    async with env.at_work():
        await settle()
        env.api.change(ClusterProfile, "c1", NAMESPACE, status={"accessProviders": [PROVIDER]})
        env.health("False")
        await settle()

        status = env.profile()["status"]
        assert status["accessProviders"] == [PROVIDER]
        assert status["conditions"][0]["status"] == "False"


async def test_write_over_what_was_not_seen_is_made_again(env):
    env.api.fail_on("patch clusterprofiles/*/status", errors.Conflict("stale"), times=2)
    env.health("True")

    async with env.at_work():
        await advance(1)

        assert env.profile()["status"]["conditions"][0]["status"] == "True"


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize(
    "write", [f"create clusterprofiles/{NAMESPACE}/c1", f"patch clusterprofiles/{NAMESPACE}/c1/status"]
)
async def test_write_that_is_lost_is_made_good(env, write, arrives):
    env.api.fail_on(write, errors.Unreachable("lost"), times=1, applied=arrives)
    env.health("True")

    async with env.at_work():
        await advance(5)

        assert env.profile()["status"]["conditions"][0]["type"] == "ControlPlaneHealthy"
        assert env.profile()["metadata"]["labels"]["multicluster.x-k8s.io/clusterset"] == SET
