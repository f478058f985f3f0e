"""Cluster sets: made, bound, unbound; doing it again changes nothing."""

import pytest

from fleetqueue.admin.cluster_sets import bind, create_set, unbind
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedClusterSet, ManagedClusterSetBinding
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
