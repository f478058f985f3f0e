"""Cluster sets: made, filled, bound, unbound; doing it again changes nothing."""

import pytest

from fleetqueue.admin.cluster_sets import ChosenByLabels, bind, create_set, put_into, set_command, unbind
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.client import Client


async def test_a_set_is_made_once(api):
    assert await create_set(Client(api), "spoke")
    assert not await create_set(Client(api), "spoke")

    assert api.get(ManagedClusterSet, "spoke").spec.cluster_selector.selector_type == "ExclusiveClusterSetLabel"


async def test_a_set_is_bound_and_unbound(api):
    await create_set(Client(api), "spoke")

    assert await bind(Client(api), "spoke", "kueue-system")
    assert not await bind(Client(api), "spoke", "kueue-system")
    assert api.get(ManagedClusterSetBinding, "spoke", "kueue-system") is not None
    assert await unbind(Client(api), "spoke", "kueue-system")
    assert not await unbind(Client(api), "spoke", "kueue-system")


async def test_a_set_that_is_not_there_is_not_bound(api):
    with pytest.raises(errors.NotFound):
        await bind(Client(api), "spoke", "kueue-system")

    assert api.list(ManagedClusterSetBinding) == []


def add_clusters(api, **sets):
    for name, cluster_set in sets.items():
        api.add(ManagedCluster.manifest(name, labels={CLUSTER_SET_LABEL: cluster_set} if cluster_set else {}))


def set_of(api, name):
    return api.get(ManagedCluster, name).metadata.labels.get(CLUSTER_SET_LABEL)


async def test_clusters_are_put_into_a_set_and_leave_their_old_one(api):
    await create_set(Client(api), "spoke")
    add_clusters(api, c1="", c2="old", c3="spoke")

    said = await set_command(Client(api), "spoke", ["c1", "c2", "c3"])

    assert [set_of(api, name) for name in ("c1", "c2", "c3")] == ["spoke"] * 3
    assert said.splitlines() == [
        "cluster c1 put into clusterset spoke",
        "cluster c2 moved from clusterset old to spoke",
        "cluster c3 is in clusterset spoke already",
    ]


async def test_clusters_that_are_in_a_set_are_not_written(api):
    await create_set(Client(api), "spoke")
    add_clusters(api, c1="spoke")
    api.writes.clear()

    await put_into(Client(api), "spoke", ["c1", "c1"])

    assert api.writes == []


async def test_nothing_is_changed_if_a_cluster_is_missing(api):
    await create_set(Client(api), "spoke")
    add_clusters(api, c1="")

    with pytest.raises(errors.NotFound, match='"none" not found'):
        await put_into(Client(api), "spoke", ["c1", "none"])

    assert set_of(api, "c1") is None


async def test_nothing_is_put_into_a_set_that_is_not_there(api):
    add_clusters(api, c1="")

    with pytest.raises(errors.NotFound, match='"spoke" not found'):
        await put_into(Client(api), "spoke", ["c1"])

    assert set_of(api, "c1") is None


async def test_nothing_is_put_into_a_set_that_chooses_by_labels(api):
    selector = {"selectorType": "LabelSelector", "labelSelector": {}}
    api.add(ManagedClusterSet.manifest("global", spec={"clusterSelector": selector}))
    add_clusters(api, c1="spoke")

    with pytest.raises(ChosenByLabels, match='clusterset "global" chooses its clusters by their labels'):
        await put_into(Client(api), "global", ["c1"])

    assert set_of(api, "c1") == "spoke"
