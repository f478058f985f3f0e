"""A hub with two clusters, and the add-on manager on it; tests play the work agents."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.addons.wiring import hub_controllers
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import settle
from tests.invariants.second_look import managed

from .objects import NAME, managed_cluster


class Environment:
    def __init__(self, api):
        self.api = api
        api.namespace("c1", "c2")
        api.add(managed_cluster("c1"), managed_cluster("c2"))

    @asynccontextmanager
    async def manager(self):
        """Let an add-on manager work, which knows nothing of what another one did."""
        hub = Cluster("hub", Client(self.api))
        async with managed(Manager(hub, hub_controllers(hub, Metrics()))):
            await settle()
            yield

    def installed(self, on="c1"):
        return self.api.get(addon.ManagedClusterAddOn, NAME, on)

    def status(self, on="c1"):
        return self.api.raw(addon.ManagedClusterAddOn, NAME, on).get("status") or {}

    def said(self, on="c1"):
        """The conditions of the add-on: from type to (status, reason, message)."""
        conditions = self.installed(on).status.conditions
        return {each.type: (each.status, each.reason, each.message) for each in conditions}

    def work(self, on="c1", number=0):
        return self.api.get(ManifestWork, f"addon-{NAME}-deploy-{number}", on)

    def of_all(self):
        """The status of the add-on as a whole."""
        return self.api.raw(addon.ClusterManagementAddOn, NAME).get("status") or {}

    def apply(self, on="c1", ready=1, replicas=1):
        """Play the work agent: all is applied, and every Deployment says how many of its pods are ready."""
        work = self.work(on)
        generation = {"observedGeneration": work.metadata.generation}
        conditions = [{**condition(kind), **generation} for kind in ("Applied", "Available")]
        manifests = [
            _manifest_status(ordinal, each, ready, replicas)
            for ordinal, each in enumerate(work.spec.workload.manifests)
        ]
        status = {"conditions": conditions, "resourceStatus": {"manifests": manifests}}
        self.api.change(ManifestWork, work.name, on, status=status)


def _manifest_status(ordinal, manifest, ready, replicas):
    group, _, version = manifest["apiVersion"].rpartition("/")
    meta = {
        "ordinal": ordinal,
        "group": group,
        "version": version,
        "kind": manifest["kind"],
        "resource": f"{manifest['kind'].lower()}s",
        "name": manifest["metadata"]["name"],
        "namespace": manifest["metadata"].get("namespace", ""),
    }
    numbers = {"ReadyReplicas": ready, "Replicas": replicas} if manifest["kind"] == "Deployment" else {}
    values = [{"name": n, "fieldValue": {"type": "Integer", "integer": v}} for n, v in numbers.items()]
    return {"resourceMeta": meta, "statusFeedback": {"values": values}, "conditions": []}


@pytest.fixture
def env(api):
    return Environment(api)
