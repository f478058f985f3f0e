"""What a registration scenario ends in: its clusters and sets, and what the hub keeps for them."""

import json
from collections.abc import Iterable
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.meta import Object
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding, RoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.registration.names import AGENT_NAMESPACE, HUB_SECRET, NAMESPACE_LABEL
from fleetqueue.embedded.ocm.registration.objects import RemainingAddOn, RemainingWork

from .doing import Actor

WORKER = "cluster1"
OF_AGENT = (cluster.ACCEPTED, cluster.JOINED, cluster.AVAILABLE)
REPORTERS = ("registration-controller", "klusterlet-agent")


async def end_state(client: Client, actor: Actor) -> Any:
    """Return what is compared, without what differs in every run."""
    return await (_of_worker(client, actor) if actor.said.get("worker") else _of_hub(client, actor))


async def _of_worker(client: Client, actor: Actor) -> Any:
    """Read what an agent says of its worker, as far as it is the scenario's, and what it keeps there."""
    prefix, status = actor.prefix, (await client.get(cluster.ManagedCluster.resource, WORKER))["status"]
    secret = await actor.worker.get(Secret.resource, HUB_SECRET, AGENT_NAMESPACE)
    namespaces = await _of(actor.worker, Namespace, prefix)
    events = (await client.list(Event.resource, WORKER)).items
    found = {
        "conditions": {kind: text for kind, text in said({"status": status}).items() if kind in OF_AGENT},
        "capacity": {name: value for name, value in status["capacity"].items() if prefix in name},
        "allocatable": {name: value for name, value in status["allocatable"].items() if prefix in name},
        "claims": [claim for claim in status.get("clusterClaims") or () if prefix in claim["name"]],
        "namespaces": [_said_of(each) for each in status.get("managedNamespaces") or () if prefix in each["name"]],
        "secret": sorted(secret["data"]),
        "labels": {_name(raw): _values(raw, NAMESPACE_LABEL) for raw in namespaces},
        "events": sorted({sentence(raw) for raw in events if _is_told_by_us(raw)}),
    }
    return json.loads(json.dumps(found).replace(prefix, ""))


async def _of_hub(client: Client, actor: Actor) -> Any:
    prefix, shown = actor.prefix, actor.said.get("shows", ())
    sets = await _of(client, cluster.ManagedClusterSet, prefix)
    others = [raw for raw in (await client.list(cluster.ManagedClusterSet.resource)).items if _name(raw) in shown]
    found = {
        "clusters": {_name(raw): of_cluster(raw) for raw in await _of(client, cluster.ManagedCluster, prefix)},
        "sets": {_name(raw): _of_set(raw) for raw in sets} | {_name(raw): raw["spec"] for raw in others},
        "bindings": {_name(raw): said(raw) for raw in await _of(client, cluster.ManagedClusterSetBinding, prefix)},
        "namespaces": {_name(raw): _ours(raw) for raw in await _of(client, Namespace, prefix)},
        "roles": {_name(raw): _rights(raw) for raw in await _of(client, ClusterRole, prefix)},
        "role bindings": {_name(raw): _rights(raw) for raw in await _of(client, ClusterRoleBinding, prefix)},
        "bindings of roles": {_name(raw): _rights(raw) for raw in await _of(client, RoleBinding, prefix)},
        "leases": {raw["metadata"]["namespace"]: _lease(raw) for raw in await _of(client, Lease, prefix)},
        "requests": {_name(raw): _request(raw) for raw in await _of(client, CertificateSigningRequest, prefix)},
        "works": [_name(raw) for raw in await _of(client, RemainingWork, prefix)],
        "add-ons": {_name(raw): said(raw).get("Available") for raw in await _of(client, RemainingAddOn, prefix)},
        "events": sorted({sentence(raw) for raw in await _of(client, Event, prefix) if _is_told_by_us(raw)}),
        "refusals": actor.refusals,
    }
    return json.loads(json.dumps({field: value for field, value in found.items() if value}).replace(prefix, ""))


def of_cluster(raw: Manifest) -> Manifest:
    metadata, spec = raw["metadata"], raw["spec"]
    found = {
        "labels": metadata.get("labels"),
        "annotations": sorted(metadata.get("annotations") or ()),
        "finalizers": sorted(metadata.get("finalizers") or ()),
        "is deleting": "deletionTimestamp" in metadata,
        "accepted": spec.get("hubAcceptsClient", False),
        "lease": spec.get("leaseDurationSeconds"),
        "taints": [{k: v for k, v in taint.items() if k != "timeAdded"} for taint in spec.get("taints") or ()],
        "conditions": said(raw),
        "namespaces": (raw.get("status") or {}).get("managedNamespaces"),
    }
    return {field: value for field, value in found.items() if value}


def said(raw: Manifest) -> dict[str, str]:
    """Return what the conditions of an object say, by their types."""
    conditions = (raw.get("status") or {}).get("conditions") or ()
    return {each["type"]: f"{each['status']} {each['reason']}: {each['message']}" for each in conditions}


def sentence(raw: Manifest) -> str:
    about = raw["regarding"]
    whom = f"{about['kind']} {about.get('namespace', '')}/{about['name']}"
    return f"{raw['reportingController']} {raw['type']} {raw['reason']} {raw['action']} {whom}: {raw['note']}"


async def _of(client: Client, kind: type[Object], prefix: str) -> Iterable[Manifest]:
    """Return the objects of a scenario."""
    found = (await client.list(kind.resource)).items
    return [raw for raw in found if prefix in raw["metadata"].get("namespace", "") + "/" + _name(raw)]


def _name(raw: Manifest) -> str:
    return str(raw["metadata"]["name"])


def _said_of(namespace: Manifest) -> Manifest:
    return {**namespace, "conditions": said({"status": namespace})}


def _values(raw: Manifest, prefix: str) -> list[str]:
    """Return the values of labels whose names differ between hubs."""
    return [value for name, value in (raw["metadata"].get("labels") or {}).items() if name.startswith(prefix)]


def _of_set(raw: Manifest) -> Manifest:
    return {"spec": raw["spec"], "conditions": said(raw)}


def _ours(raw: Manifest) -> Manifest:
    labels = raw["metadata"].get("labels") or {}
    return {key: value for key, value in labels.items() if "open-cluster-management" in key}


def _rights(raw: Manifest) -> Manifest:
    """Read rights. Their label names a cluster: with OCM any, of those it let in, when one is denied."""
    fields = ("rules", "roleRef", "subjects")
    metadata = raw["metadata"]
    found = {"labels": sorted(metadata.get("labels") or ()), "finalizers": metadata.get("finalizers")}
    return found | {field: raw[field] for field in fields if field in raw}


def _lease(raw: Manifest) -> Manifest:
    spec = {field: value for field, value in raw["spec"].items() if field != "renewTime"}
    return {"labels": raw["metadata"].get("labels"), **spec}


def _request(raw: Manifest) -> Manifest:
    status = raw.get("status") or {}
    conditions = [
        f"{each['type']} {each.get('reason')}: {each.get('message')}" for each in status.get("conditions") or ()
    ]
    return {"conditions": conditions, "is signed": bool(status.get("certificate"))}


def _is_told_by_us(raw: Manifest) -> bool:
    return raw.get("reportingController") in REPORTERS
