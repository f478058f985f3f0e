"""What a ManagedCluster says of its add-ons."""

import pytest

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.addons.discovery import FEATURE
from fleetqueue.embedded.ocm.addons.wiring import registration_controllers
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed


def managed_cluster(available="True", **labels):
    said = condition(cluster.AVAILABLE, available, "Why", "because")
    return cluster.ManagedCluster.manifest("c1", labels=labels, spec={}, status={"conditions": [said]})


def add_on(name, available=None):
    status = {"conditions": [condition("Available", available)]} if available else {}
    return addon.ManagedClusterAddOn.manifest(name, "c1", spec={}, status=status)


@pytest.fixture
async def noted(api):
    hub = Cluster("hub", Client(api))
    async with managed(Manager(hub, registration_controllers(hub, Metrics()))):
        await settle()
        yield


async def test_each_add_on_is_a_label_that_says_how_it_is(api, noted):
    gone = {f"{FEATURE}gone": "available", "other": "stays"}
    api.add(managed_cluster(**gone), add_on("a", "True"), add_on("b", "False"), add_on("c", "Unknown"), add_on("d"))

    await advance(1)

    assert api.get(cluster.ManagedCluster, "c1").metadata.labels == {
        "other": "stays",
        f"{FEATURE}a": "available",
        f"{FEATURE}b": "unhealthy",
        f"{FEATURE}c": "unreachable",
        f"{FEATURE}d": "unreachable",
    }


async def test_of_the_add_ons_of_a_silent_cluster_nothing_is_known(api, noted):
    api.add(managed_cluster("Unknown"), add_on("a", "True"))

    await advance(1)

    [said] = api.get(addon.ManagedClusterAddOn, "a", "c1").status.conditions
    assert (said.type, said.status, said.reason, said.message) == ("Available", "Unknown", "Why", "because")


async def test_an_add_on_manager_that_says_otherwise_is_contradicted_once_a_second(api, noted):
    api.add(managed_cluster("Unknown"), add_on("a"))
    await advance(1)
    api.writes.clear()

    for _ in range(20):
        said = condition("Available", "True") | {"lastTransitionTime": timestamp(clock.now())}
        api.change(addon.ManagedClusterAddOn, "a", "c1", status={"conditions": [said]})
        await settle()
        assert api.get(addon.ManagedClusterAddOn, "a", "c1").status.conditions[0].status == "True"
    await advance(1)

    assert api.get(addon.ManagedClusterAddOn, "a", "c1").status.conditions[0].status == "Unknown"
    assert api.writes.count("patch managedclusteraddons/c1/a/status") == 1


async def test_a_cluster_whose_labels_are_right_is_left_alone(api, noted):
    api.add(managed_cluster(), add_on("a", "True"))
    await advance(1)
    api.writes.clear()

    await advance(600)

    assert api.writes == []
