"""A hub and a worker in memory, and the work agent of that worker between them."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import work_v1 as work
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings, hub_hash
from fleetqueue.embedded.ocm.work.wiring import agent_controllers
from fleetqueue.fleets.work_expressions import evaluate
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

from .objects import CLUSTER, work_manifest

HASH = hub_hash("https://hub")


class Environment:
    """What a test arranges and looks at: `hub` and `worker` are the APIs of both."""

    def __init__(self, hub, worker):
        self.hub = hub
        self.worker = worker
        hub.namespace(CLUSTER)

    def controllers(self, **settings):
        """Make an agent that knows nothing of what another one did."""
        hub, worker = (Cluster(name, Client(api)) for name, api in (("hub", self.hub), (CLUSTER, self.worker)))
        found = agent_controllers(
            hub,
            worker,
            Metrics(),
            WorkAgentSettings(cluster=CLUSTER, hub_hash=HASH, **settings),
            evaluate=evaluate,
            impersonate=lambda user: worker.client,
        )
        return hub, worker, found

    @asynccontextmanager
    async def agent(self, **settings):
        """Let an agent work while the body runs."""
        hub, worker, controllers = self.controllers(**settings)
        async with managed(Manager(hub, controllers), worker):
            await settle()
            yield

    def post(self, *manifests, name="w", **spec):
        self.hub.add(work_manifest(name, *manifests, **spec))

    def change(self, name="w", **spec):
        self.hub.change(work.ManifestWork, name, CLUSTER, spec=spec)

    def work(self, name="w"):
        return self.hub.get(work.ManifestWork, name, CLUSTER)

    def applied(self, name="w"):
        return self.worker.get(work.AppliedManifestWork, f"{HASH}-{name}")

    def said(self, name="w"):
        """The conditions of a work: from type to (status, reason, message)."""
        return said(self.work(name).status.conditions)

    def said_of(self, ordinal=0, name="w"):
        return said(self.work(name).status.resource_status.manifests[ordinal].conditions)

    def values(self, ordinal=0, name="w"):
        """The feedback of one manifest, by name."""
        raw = self.hub.raw(work.ManifestWork, name, CLUSTER)["status"]["resourceStatus"]["manifests"][ordinal]
        found = raw["statusFeedback"].get("values", [])
        return {each["name"]: next(v for k, v in each["fieldValue"].items() if k != "type") for each in found}

    async def pass_minutes(self, minutes=6):
        await advance(60 * minutes)


def said(conditions):
    return {each.type: (each.status, each.reason, each.message) for each in conditions}


@pytest.fixture
def env(api, new_api):
    return Environment(api, new_api())
