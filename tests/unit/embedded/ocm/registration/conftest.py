"""A hub on which some of registration's controllers work."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import find
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import settle
from tests.invariants.second_look import managed


class Environment:
    """What a test arranges and looks at."""

    def __init__(self, api):
        self.api = api

    @asynccontextmanager
    async def working(self, *controllers, **more):
        """Let controllers work that know nothing of what was before."""
        hub = Cluster("hub", Client(self.api))
        made = [each(hub, Metrics(), *more.values()) for each in controllers]
        async with managed(Manager(hub, made)):
            await settle()
            yield self

    async def run(self, *controllers, **more):
        """Let controllers come to an end with what is there; return what they wrote."""
        before = len(self.api.writes)
        async with self.working(*controllers, **more):
            return self.api.writes[before:]

    def client(self):
        """Return a client past all faults."""
        return Client(self.api.server.door)

    def cluster(self, name="c"):
        return self.api.get(cluster.ManagedCluster, name)

    def said(self, kind, name="c"):
        return find(self.cluster(name).status.conditions, kind)


@pytest.fixture
def env(api):
    return Environment(api)


@pytest.fixture
def counted():
    return (cluster.ManagedClusterSet,)
