"""The door without sockets."""

import pytest

from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.fleets.embedded import EmbeddedFleet

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("name", ["plain", "system:open-cluster-management:agent", "a b"])
async def test_names_are_what_they_are_however_a_path_writes_them(name):
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await client.create(ClusterRole.resource, ClusterRole.manifest(name, rules=[]))

        found = await client.get(ClusterRole.resource, name)

    assert found["metadata"]["name"] == name
