"""What a scenario ends in: its works and add-ons on the hub, and what came of them on the worker.

Times, uids and versions are left out, and so is the hash of the hub in names; lists whose order upstream leaves to
chance are sorted.
"""

import re
from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from .doing import RESOURCES, Actor

HASH = re.compile(r"\b[0-9a-f]{64}-")
LOOKED_AT = ("ConfigMap", "Secret", "Service", "ServiceAccount", "Pod", "Deployment", "Role", "RoleBinding")
CLUSTER_WIDE = ("Namespace", "ClusterRole", "ClusterRoleBinding")
NOT_COMPARED = ("clusterIP", "clusterIPs", "nodeName")
TIMED = ("ClusterCertificateRotated",)


async def end_state(actor: Actor) -> Any:
    works = await _named(actor.hub, "ManifestWork", actor, namespace=actor.cluster)
    state = {
        "works": {_plain(name, actor): _work(each) for name, each in works.items()},
        "applied": await _applied(actor),
        "objects": await _objects(actor),
        "replica sets": {
            _plain(name, actor): _status(each)
            for name, each in (await _named(actor.hub, "ManifestWorkReplicaSet", actor, actor.namespace)).items()
        },
        "add-ons": {
            f"{kind} {_plain(name, actor)}": _status(each)
            for kind, namespace in (("ClusterManagementAddOn", ""), ("ManagedClusterAddOn", actor.cluster))
            for name, each in (await _named(actor.hub, kind, actor, namespace)).items()
        },
        "labels of the cluster": await _labels(actor),
        "bindings": [
            [_plain(name, actor), each["roleRef"]["name"], [one["name"] for one in each["subjects"]]]
            for name, each in (await _named(actor.hub, "RoleBinding", actor, actor.cluster)).items()
        ],
    }
    return _spoken(actor, {name: part for name, part in state.items() if part})


async def _named(client: Client, kind: str, actor: Actor, namespace: str = "") -> dict[str, Manifest]:
    """Return the objects of a scenario, in whose names its prefix stands."""
    page = await client.list(RESOURCES[kind], namespace)
    return {each["metadata"]["name"]: each for each in page.items if actor.prefix in each["metadata"]["name"]}


async def _labels(actor: Actor) -> dict[str, str]:
    cluster = await actor.hub.get(RESOURCES["ManagedCluster"], actor.cluster)
    labels = cluster["metadata"].get("labels") or {}
    return {_plain(name, actor): value for name, value in labels.items() if actor.prefix in name}


def _work(work: Manifest) -> Any:
    status = work.get("status") or {}
    manifests = (status.get("resourceStatus") or {}).get("manifests") or ()
    metadata = work["metadata"]
    return {
        "labels": metadata.get("labels") or {},
        "deleted": "deletionTimestamp" in metadata,
        "finalizers": metadata.get("finalizers") or [],
        "conditions": _conditions(status),
        "manifests": sorted((_manifest(each) for each in manifests), key=lambda each: each["of"]),
    }


def _manifest(each: Manifest) -> Any:
    meta = each["resourceMeta"]
    of = "/".join(str(meta[name]) for name in ("group", "version", "kind", "resource", "namespace", "name"))
    values = (each.get("statusFeedback") or {}).get("values") or []
    return {"of": of, "conditions": _conditions(each), "feedback": values}


def _conditions(status: Manifest) -> Any:
    found = {}
    for each in status.get("conditions") or ():
        message = "" if each["type"] in TIMED else each.get("message", "")
        found[each["type"]] = [each["status"], each["reason"], message, each.get("observedGeneration", 0)]
    return found


def _status(obj: Manifest) -> Any:
    """Return a status in which conditions are without times, also those inside of it."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            rest = {name: plain(each) for name, each in value.items() if name != "conditions" and each is not None}
            rest.pop("lastObservedGeneration", None)
            return rest | ({"conditions": _conditions(value)} if "conditions" in value else {})
        return [plain(each) for each in value] if isinstance(value, list) else value

    status = plain(obj.get("status") or {})
    if "supportedConfigs" in status:
        status["supportedConfigs"].sort(key=lambda each: each["resource"])
    return {name: part for name, part in status.items() if part not in ({}, [])}


async def _applied(actor: Actor) -> Any:
    page = await actor.worker.list(RESOURCES["AppliedManifestWork"])
    found = {}
    for each in page.items:
        name = HASH.sub("", each["metadata"]["name"])
        if actor.prefix in name:
            resources = (each.get("status") or {}).get("appliedResources") or ()
            kept = ("group", "version", "resource", "namespace", "name")
            found[_plain(name, actor)] = {
                "labels": each["metadata"].get("labels") or {},
                "finalizers": each["metadata"].get("finalizers") or [],
                "resources": [{field: one.get(field, "") for field in kept} for one in resources],
            }
    return found


async def _objects(actor: Actor) -> Any:
    found = {}
    for kind in LOOKED_AT:
        for each in (await actor.worker.list(RESOURCES[kind], actor.namespace)).items:
            if each["metadata"]["name"] not in ("kube-root-ca.crt", "default"):
                found[f"{kind} {_plain(each['metadata']['name'], actor)}"] = _object(kind, each)
    for kind in CLUSTER_WIDE:
        for name, each in (await _named(actor.worker, kind, actor)).items():
            if name != actor.namespace:
                found[f"{kind} {_plain(name, actor)}"] = _object(kind, each)
    return found


def _object(kind: str, obj: Manifest) -> Any:
    metadata = obj["metadata"]
    owners = [[one["kind"], HASH.sub("", one["name"])] for one in metadata.get("ownerReferences") or ()]
    body = {name: each for name, each in obj.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    if kind in ("Pod", "Deployment"):
        body = {"containers": _containers(kind, body["spec"])}
    if kind == "Secret":
        body["data"] = {name: "..." if name.startswith("tls.") else each for name, each in body.get("data", {}).items()}
        body["data"].pop("kubeconfig", None)
    body.get("spec", {}) and [body["spec"].pop(name, None) for name in NOT_COMPARED]
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if not k.startswith("kubernetes.io/")}
    return {
        "labels": labels,
        "annotations": metadata.get("annotations") or {},
        "owners": sorted(owners),
        "deleted": "deletionTimestamp" in metadata,
        **body,
    }


def _containers(kind: str, spec: Manifest) -> Any:
    """Return what was written of containers: into those of pods, servers write more."""
    pod = spec if kind == "Pod" else spec["template"]["spec"]
    keep = ("image", "env") if kind == "Pod" else ("image", "env", "volumeMounts", "resources")
    return [{name: each[name] for name in keep if each.get(name)} for each in pod["containers"]]


def _plain(name: str, actor: Actor) -> str:
    return name.replace(actor.prefix, "")


def _spoken(actor: Actor, value: Any) -> Any:
    """Write the names of the scenario as its description does."""
    if isinstance(value, dict):
        return {_spoken(actor, name): _spoken(actor, each) for name, each in value.items()}
    if isinstance(value, list):
        return [_spoken(actor, each) for each in value]
    if isinstance(value, str):
        return HASH.sub("", value).replace(actor.namespace, "$NS").replace(actor.prefix, "$P")
    return value
