"""Do what a scenario says, on the hub and on the worker.

A scenario has `steps`, each a round: `hub` and `worker` are objects to be there (made, or changed by a merge), and
`gone` names objects to be deleted, on either side. `$P` stands for what the names of the scenario begin with, `$NS` for
its own namespace on the worker, `$C` for the worker's name. `wait` is how many seconds then pass.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import orjson

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

from ..world import Described  # noqa: TID252

OCM = "open-cluster-management.io"
RESOURCES = {
    resource.kind: resource
    for resource in (
        Resource("", "v1", "Namespace", "namespaces", namespaced=False),
        Resource("", "v1", "ConfigMap", "configmaps"),
        Resource("", "v1", "Secret", "secrets"),
        Resource("", "v1", "Service", "services"),
        Resource("", "v1", "ServiceAccount", "serviceaccounts"),
        Resource("", "v1", "Pod", "pods"),
        Resource("apps", "v1", "Deployment", "deployments"),
        Resource("batch", "v1", "Job", "jobs"),
        Resource("rbac.authorization.k8s.io", "v1", "Role", "roles"),
        Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
        Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False),
        Resource("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
        Resource("coordination.k8s.io", "v1", "Lease", "leases"),
        Resource(f"work.{OCM}", "v1", "ManifestWork", "manifestworks"),
        Resource(f"work.{OCM}", "v1", "AppliedManifestWork", "appliedmanifestworks", namespaced=False),
        Resource(f"work.{OCM}", "v1alpha1", "ManifestWorkReplicaSet", "manifestworkreplicasets"),
        Resource(f"cluster.{OCM}", "v1", "ManagedCluster", "managedclusters", namespaced=False),
        Resource(f"cluster.{OCM}", "v1beta1", "Placement", "placements"),
        Resource(f"cluster.{OCM}", "v1beta1", "PlacementDecision", "placementdecisions"),
        Resource(f"addon.{OCM}", "v1alpha1", "AddOnTemplate", "addontemplates", namespaced=False),
        Resource(f"addon.{OCM}", "v1alpha1", "AddOnDeploymentConfig", "addondeploymentconfigs"),
        Resource(f"addon.{OCM}", "v1alpha1", "ClusterManagementAddOn", "clustermanagementaddons", namespaced=False),
        Resource(f"addon.{OCM}", "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons"),
    )
}


class Actor:
    """One scenario on its way."""

    def __init__(self, hub: Client, worker: Client, described: Described, prefix: str, cluster: str) -> None:
        self.hub = hub
        self.worker = worker
        self.name = described["name"]
        self.prefix = prefix
        self.namespace = f"{prefix}ns"
        self.cluster = cluster
        self.steps = _filled_in(described["steps"], {"$NS": self.namespace, "$P": prefix, "$C": cluster})

    def wait(self, number: int) -> float:
        return float(self.steps[number].get("wait", 0)) if number < len(self.steps) else 0.0

    async def prepare(self) -> None:
        for client in (self.hub, self.worker):
            await put(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})

    async def act(self, number: int) -> None:
        """Do one step, if there are so many."""
        if number >= len(self.steps):
            return
        step = self.steps[number]
        for client, made in ((self.worker, step.get("worker")), (self.hub, step.get("hub"))):
            for manifest in made or ():
                await put(client, manifest)
        for side, client in (("hub", self.hub), ("worker", self.worker)):
            await _delete(client, (step.get("gone") or {}).get(side) or ())


async def put(client: Client, manifest: Manifest) -> None:
    """Make an object, or merge into it what it shall be; its status, where it has one, as its own part."""
    resource, metadata = RESOURCES[manifest["kind"]], manifest["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    body = {field: value for field, value in manifest.items() if field != "status"}
    try:
        await client.create(resource, body)
    except errors.AlreadyExists:
        if set(body) > {"apiVersion", "kind", "metadata"} or len(metadata) > 2:
            await client.merge(resource, name, namespace, body)
    if "status" in manifest:
        await client.merge(resource, name, namespace, {"status": manifest["status"]}, subresource="status")


async def _delete(client: Client, gone: Iterable[str]) -> None:
    for reference in gone:
        kind, _, place = reference.partition(" ")
        namespace, _, name = place.rpartition("/")
        with suppress(errors.NotFound):
            await client.delete(RESOURCES[kind], name, namespace)


def _filled_in(value: Any, words: dict[str, str]) -> Any:
    text = orjson.dumps(value).decode()
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return orjson.loads(text)
