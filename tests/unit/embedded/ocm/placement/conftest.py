"""A hub with a bound set, and the scheduling controller on it."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.placement.scheduling import SchedulingController
from fleetqueue.embedded.ocm.placement.settings import PlacementSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import settle
from tests.invariants.second_look import managed

from .objects import NAMESPACE, binding_manifest, cluster_manifest, no_expressions, score_manifest, set_manifest

EVENTS = "events/"


def scheduling_controller(hub):
    return SchedulingController(hub, Metrics(), PlacementSettings(), compile_expression=no_expressions)


class FilterStage:
    """What a test arranges and looks at."""

    def __init__(self, api, hub):
        self.api = api
        self.hub = hub
        self.controller = scheduling_controller(hub)
        api.add(Namespace.manifest(NAMESPACE), set_manifest(), binding_manifest())

    def add_clusters(self, *names, **parts):
        """Add clusters, each with the namespace in which its scores stand."""
        for name in names:
            self.api.add(Namespace.manifest(name), cluster_manifest(name, **parts))

    def score(self, of, value):
        """Give a cluster a score, its first or another."""
        if self.api.get(cluster.AddOnPlacementScore, "usage", of) is None:
            self.api.add(score_manifest(of, gpu=value))
        else:
            self.api.change(
                cluster.AddOnPlacementScore, "usage", of, status={"scores": [{"name": "gpu", "value": value}]}
            )

    @asynccontextmanager
    async def working(self):
        """Let the controller work while the body runs."""
        async with managed(Manager(self.hub, [self.controller])):
            await settle()
            yield self

    @asynccontextmanager
    async def working_anew(self):
        """Let another controller work, which knows nothing of what this one did."""
        self.hub = Cluster("hub", Client(self.api))
        self.controller = scheduling_controller(self.hub)
        async with self.working():
            yield self

    async def reconcile(self, key=f"{NAMESPACE}/p"):
        """Look at a Placement once; return after how many seconds it is looked at again."""
        with pytest.raises(errors.RetryLater) as later:
            await self.controller.reconcile(key)
        return later.value.after

    @property
    def writes(self):
        """What was written, without events."""
        return [write for write in self.api.writes if EVENTS not in write]

    def decided(self, name="p-decision-1"):
        found = self.api.get(cluster.PlacementDecision, name, NAMESPACE)
        return None if found is None else [each.cluster_name for each in found.status.decisions]

    def status(self, name="p"):
        return self.api.get(cluster.Placement, name, NAMESPACE).status


@pytest.fixture
async def env(api, hub):
    return FilterStage(api, hub)


@pytest.fixture
def counted():
    return (cluster.Placement, cluster.ManagedClusterSet)
