"""Sets count their members, bindings know their sets, and the built-in sets stay what they are."""

import pytest

from fleetqueue.api.cluster_v1 import (
    BOUND,
    CLUSTER_SET_LABEL,
    SET_EMPTY,
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
)
from fleetqueue.api.conditions import find
from fleetqueue.embedded.ocm.registration.hub.cluster_sets import (
    SELECTORS,
    BindingController,
    BuiltInSetController,
    ClusterSetController,
    ManagedNamespaceController,
    wanted_namespaces,
)
from fleetqueue.embedded.ocm.registration.names import AUTO_UPDATE
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import settle
from tests.unit.embedded.ocm.registration.objects import by_labels, cluster_manifest, member, set_manifest


def count(env, name="s"):
    said = find(env.api.get(ManagedClusterSet, name).status.conditions, SET_EMPTY)
    return said.status, said.message


async def test_members_are_counted_whoever_accepted_them(env):
    env.api.add(set_manifest("s"), set_manifest("t"), member("a"), member("b", hubAcceptsClient=True))

    await env.run(ClusterSetController)

    assert count(env, "s") == ("False", "2 ManagedClusters selected")
    assert count(env, "t") == ("True", "No ManagedCluster selected")
    assert await env.run(ClusterSetController) == []


async def test_a_cluster_that_comes_moves_and_goes_is_counted_anew(env):
    env.api.add(set_manifest("s"), set_manifest("eu", **by_labels(region="eu")))

    async with env.working(ClusterSetController):
        env.api.add(member("c"))
        await settle()
        first = count(env, "s"), count(env, "eu")
        env.api.change(ManagedCluster, "c", metadata={"labels": {CLUSTER_SET_LABEL: None, "region": "eu"}})
        await settle()
        second = count(env, "s"), count(env, "eu")
        env.api.remove(ManagedCluster, "c")
        await settle()

    assert [said[0] for said in first] == ["False", "True"]
    assert [said[0] for said in second] == ["True", "False"]
    assert count(env, "eu")[0] == "True"


async def test_a_cluster_whose_labels_stay_wakes_no_set(env):
    env.api.add(set_manifest("s"), member("c"))

    async with env.working(ClusterSetController):
        before = len(env.api.requests)
        env.api.change(ManagedCluster, "c", spec={"leaseDurationSeconds": 5})
        await settle()

    assert env.api.requests[before:] == []


async def test_a_binding_follows_its_set(env):
    env.api.add(ManagedClusterSetBinding.manifest("s", "ns", spec={"clusterSet": "s"}))

    def bound():
        said = find(env.api.get(ManagedClusterSetBinding, "s", "ns").status.conditions, BOUND)
        return said.status, said.reason, said.message

    async with env.working(BindingController):
        first = bound()
        env.api.add(set_manifest("s"))
        await settle()
        second = bound()
        env.api.remove(ManagedClusterSet, "s")
        await settle()

    assert first == ("False", "ClusterSetNotFound", "")
    assert second == ("True", "ClusterSetBound", "")
    assert bound() == first
    assert await env.run(BindingController) == []


def selector(env, name):
    return env.api.raw(ManagedClusterSet, name)["spec"]["clusterSelector"]


async def test_the_built_in_sets_are_made_once_and_again_when_they_are_deleted(env):
    async with env.working(BuiltInSetController):
        env.api.remove(ManagedClusterSet, "global")
        await settle()

    assert {name: selector(env, name) for name in SELECTORS} == SELECTORS
    assert await env.run(BuiltInSetController) == []


@pytest.mark.parametrize(
    ("annotations", "is_restored"), [({}, True), ({AUTO_UPDATE: "false"}, False), ({AUTO_UPDATE: "true"}, True)]
)
async def test_whom_a_built_in_set_has_is_restored_unless_that_is_switched_off(env, annotations, is_restored):
    env.api.add(ManagedClusterSet.manifest("default", annotations=annotations, spec=by_labels(region="eu")))

    await env.run(BuiltInSetController)

    assert (selector(env, "default") == SELECTORS["default"]) == is_restored


def namespaces(*names):
    return {"managedNamespaces": [{"name": name} for name in names]}


def test_namespaces_come_in_the_order_of_sets_and_keep_what_is_said_of_them():
    sets = [
        ManagedClusterSet.view(set_manifest("s", **namespaces("two", "one"))),
        ManagedClusterSet.view(set_manifest("eu", **by_labels(region="eu"), **namespaces("one"))),
        ManagedClusterSet.view(set_manifest("us", **by_labels(region="us"), **namespaces("never"))),
    ]
    cluster = ManagedCluster.view(cluster_manifest("c", labels={CLUSTER_SET_LABEL: "s", "region": "eu"}))
    said = {
        "name": "one",
        "clusterSet": "s",
        "conditions": [condition("NamespaceAvailable", since="2026-01-01T00:00:00Z")],
    }

    wanted = wanted_namespaces(cluster, sets, [said, {"name": "old", "clusterSet": "s"}])

    assert wanted == [{"name": "one", "clusterSet": "eu"}, said, {"name": "two", "clusterSet": "s"}]


async def test_namespaces_of_a_set_reach_its_clusters_and_are_taken_back(env):
    env.api.add(set_manifest("s", **namespaces("one")), member("c"))

    async with env.working(ManagedNamespaceController):
        first = env.cluster().status.managed_namespaces
        env.api.change(ManagedClusterSet, "s", spec={"managedNamespaces": None})
        await settle()

    assert [each.name for each in first] == ["one"]
    assert env.cluster().status.managed_namespaces == ()
    assert await env.run(ManagedNamespaceController) == []
