"""What a scenario ends in: its works and add-ons on the hub, and what came of them on the worker."""

import re
from collections.abc import Iterable
from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from ..whole_objects import in_words, named, whole  # noqa: TID252 - what the rooms share stands above them
from .doing import RESOURCES, Actor

Listed = dict[str, list[Manifest]]
"""The objects of one side, by their kinds."""
ON_HUB = (
    "ManifestWork",
    "ManifestWorkReplicaSet",
    "ClusterManagementAddOn",
    "ManagedClusterAddOn",
    "RoleBinding",
)
ON_WORKER = (
    "AppliedManifestWork",
    "ConfigMap",
    "Secret",
    "Service",
    "ServiceAccount",
    "Pod",
    "Deployment",
    "Role",
    "RoleBinding",
    "Namespace",
    "ClusterRole",
    "ClusterRoleBinding",
)
CREDENTIALS = ("tls.crt", "tls.key", "kubeconfig")
ADDRESSES = ("clusterIP", "clusterIPs")
BY_ADMISSION = ("preemptionPolicy", "priority", "serviceAccount", "serviceAccountName", "tolerations", "volumes")
OF_ALL = ("kube-root-ca.crt", "default")
"""What every namespace has."""


async def end_state(actor: Actor) -> Any:
    hub = {kind: await _listed(actor.hub, kind, actor) for kind in ON_HUB}
    worker = {kind: await _listed(actor.worker, kind, actor) for kind in ON_WORKER}
    cluster = await actor.hub.get(RESOURCES["ManagedCluster"], actor.cluster)
    return normal(hub, worker, cluster["metadata"].get("labels") or {}, actor.prefix)


async def _listed(client: Client, kind: str, actor: Actor) -> list[Manifest]:
    """Return the objects of a scenario: its prefix stands in their names or namespaces."""
    listed = (await client.list(RESOURCES[kind])).items
    found = [raw for raw in listed if actor.prefix in f"{raw['metadata'].get('namespace')}/{raw['metadata']['name']}"]
    return [raw for raw in found if raw["metadata"]["name"] not in (*OF_ALL, actor.namespace)]


def normal(hub: Listed, worker: Listed, labels: dict[str, str], prefix: str) -> Any:
    """Return what is compared of the objects of a scenario."""
    end: dict[str, Any] = {side: _shown(listed) for side, listed in (("hub", hub), ("worker", worker))}
    end["labels of the cluster"] = {name: value for name, value in labels.items() if prefix in name}
    objects = [raw for listed in (hub, worker) for some in listed.values() for raw in some]
    return in_words(end, objects, prefix, _made_up(worker["AppliedManifestWork"]))


def _made_up(applied: Iterable[Manifest]) -> dict[str, str]:
    """Return the hash of the hub, which stands in many names, and that of the agent, by default the same."""
    return {raw["spec"][field]: "hash" for raw in applied for field in ("agentID", "hubHash")}


def _shown(listed: Listed) -> dict[str, Any]:
    found = {kind: named(some, SHOW.get(kind, whole)) for kind, some in listed.items()}
    return {kind: some for kind, some in found.items() if some}


def _secret(raw: Manifest) -> Manifest:
    """Return a Secret, without keys, certificates and the address of the hub."""
    data = {name: "..." if name in CREDENTIALS else value for name, value in raw.get("data", {}).items()}
    return {**whole(raw), "data": data}


def _service(raw: Manifest) -> Manifest:
    spec = {field: value for field, value in raw["spec"].items() if field not in ADDRESSES}
    return {**whole(raw), "spec": spec}


def _deployment(raw: Manifest) -> Manifest:
    """Return a Deployment, without the hash in the name of its ReplicaSet."""
    shown = whole(raw)
    said = shown["status"].get("conditions", {})
    return {
        **shown,
        "status": {**shown["status"], "conditions": {kind: _unhashed(text) for kind, text in said.items()}},
    }


def _unhashed(text: str) -> str:
    return re.sub(r'ReplicaSet "(.*)-[0-9a-z]+"', r'ReplicaSet "\1"', text)


def _pod(raw: Manifest) -> Manifest:
    """Return a Pod, without what a real server's admission adds to each."""
    spec = {field: value for field, value in raw["spec"].items() if field not in BY_ADMISSION}
    spec["containers"] = [
        {field: value for field, value in container.items() if field != "volumeMounts"}
        for container in spec["containers"]
    ]
    return {**whole(raw), "spec": spec}


SHOW: dict[str, Any] = {"Secret": _secret, "Service": _service, "Deployment": _deployment, "Pod": _pod}
