"""The walkthroughs' environment on an embedded fleet: whole, made once, and by accounts that have the rights for it."""

import logging

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.core_v1 import Pod
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_environment import set_up
from fleetqueue.fleets.systems.parts import DEPLOYMENTS
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
