"""The walkthroughs' environment on an embedded fleet: whole, made once, and by accounts that have the rights for it."""

import logging
from contextlib import suppress

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.addon_v1alpha1 import INSTALL_NAMESPACE, ClusterManagementAddOn, ManagedClusterAddOn
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_environment import install_worker, set_up
from fleetqueue.fleets.systems.parts import DEPLOYMENTS, create_all
from fleetqueue.manifests import shipped
from fleetqueue.testing.arranged_objects import resource_of
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def fleet():
    async with EmbeddedFleet.open(1) as fleet:
        yield fleet


async def make(fleet):
    said = []
    await set_up(fleet.hub, fleet.workers, said.append)
    return said


def contents(fleet):
    """All that the clusters hold, but what is written by the clock."""
    return {
        (one.name, entry.key): entry.object["metadata"].get("generation")
        for one in fleet.clusters.values()
        for entry in one.server.storage.list("/").entries
        if not entry.key.startswith(("/core/events", "/events.k8s.io", "/coordination.k8s.io"))
    }


async def test_it_becomes_whole(fleet):
    said = await make(fleet)
    await advance(60)

    assert said[-1] == "the workers are reachable for Kueue, and scored"
    for one in fleet.clusters.values():
        for raw in (await one.client().list(DEPLOYMENTS)).items:
            assert raw["status"]["readyReplicas"] == raw["spec"]["replicas"], raw["metadata"]["name"]
    joined = cluster.ManagedCluster.view(await fleet.hub.client().get(cluster.ManagedCluster.resource, "cluster1"))
    assert {condition.type for condition in joined.status.conditions if condition.is_true} >= {
        cluster.JOINED,
        cluster.AVAILABLE,
    }


async def test_making_it_again_changes_nothing(fleet):
    await make(fleet)
    await advance(60)
    before = contents(fleet)

    await make(fleet)
    await advance(60)

    assert contents(fleet) == before


async def test_every_part_has_the_rights_that_it_needs(fleet, caplog):
    with caplog.at_level(logging.WARNING):
        await make(fleet)
        await advance(600)

    refused = [
        record.__dict__["fields"] for record in caplog.records if "orbidden" in str(record.__dict__.get("fields"))
    ]
    assert refused == []


async def test_a_part_that_is_deleted_comes_back(fleet):
    await make(fleet)
    hub = fleet.hub.client()
    namespace = "open-cluster-management-hub"
    for raw in (await hub.list(Pod.resource, namespace)).items:
        await hub.delete(Pod.resource, raw["metadata"]["name"], namespace)
    await advance(60)

    pods = (await hub.list(Pod.resource, namespace)).items
    assert len(pods) == 4
    assert all(status["ready"] for pod in pods for status in pod["status"]["containerStatuses"])


async def test_a_cluster_has_kueue_s_roles_for_people(fleet):
    client = fleet.workers[0].client()

    await install_worker(client)
    await advance(5)

    assert (await client.get(ClusterRole.resource, "kueue-batch-admin-role"))["rules"]


# The score add-on


async def add_ons(fleet):
    found = (await fleet.hub.client().list(ManagedClusterAddOn.resource)).items
    return [raw["metadata"]["name"] for raw in found]


async def agents(fleet):
    found = (await fleet.workers[0].client().list(DEPLOYMENTS, INSTALL_NAMESPACE)).items
    return [raw["metadata"]["name"] for raw in found if raw["metadata"]["name"] == "fleetqueue-score-agent"]


async def remove_as_shipped(fleet):
    """Do what `kubectl delete -f deploy/ocm/score_agent_add_on.yaml` does."""
    for manifest in shipped("ocm/score_agent_add_on.yaml"):
        metadata = manifest["metadata"]
        with suppress(errors.NotFound):
            await fleet.hub.client().delete(resource_of(manifest), metadata["name"], metadata.get("namespace", ""))
    await advance(60)


async def test_the_shipped_file_removes_the_score_add_on_and_it_does_not_come_back(fleet):
    await make(fleet)
    await advance(10)
    before = await add_ons(fleet), await agents(fleet)

    await remove_as_shipped(fleet)
    removed = await add_ons(fleet), await agents(fleet)
    left = await fleet.hub.client().find(ClusterManagementAddOn.resource, "resource-usage-collect")
    said = await make(fleet)
    await advance(60)

    assert before == (["managed-serviceaccount", "resource-usage-collect"], ["fleetqueue-score-agent"])
    assert left is None
    assert removed == (await add_ons(fleet), await agents(fleet)) == (["managed-serviceaccount"], [])
    assert said[-1] == "the workers are reachable for Kueue, and not scored: the score add-on was removed"


async def test_a_score_add_on_of_one_s_own_stays_the_only_one(fleet):
    await make(fleet)
    await remove_as_shipped(fleet)
    await create_all(fleet.hub.client(), shipped("ocm/score_agent_add_on.yaml"))
    await advance(60)

    await make(fleet)
    await advance(60)

    assert await add_ons(fleet) == ["fleetqueue-score-agent", "managed-serviceaccount"]
    assert await agents(fleet) == ["fleetqueue-score-agent"]


async def test_a_score_add_on_that_was_not_finished_is_finished(fleet):
    hub = fleet.hub.client()
    await make(fleet)
    await hub.delete(ClusterManagementAddOn.resource, "resource-usage-collect")
    await hub.delete(ClusterRole.resource, "fleetqueue-score-agent-hub")
    await advance(60)

    said = await make(fleet)

    assert said[-1] == "the workers are reachable for Kueue, and scored"
    assert await add_ons(fleet) == ["managed-serviceaccount", "resource-usage-collect"]
