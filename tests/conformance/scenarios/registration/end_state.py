"""What a registration scenario ends in: its clusters and sets, and what the hub keeps for them, or the worker."""

import re
from functools import partial
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.meta import Object
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.registration.names import AGENT_NAMESPACE, HUB_SECRET, NAMESPACE_LABEL
from fleetqueue.embedded.ocm.registration.objects import RemainingAddOn, RemainingWork

from ..whole_objects import in_words, named, place, whole  # noqa: TID252 - what the rooms share stands above them
from .doing import Actor

Listed = dict[str, list[Manifest]]
"""The objects of a scenario, by what they are."""
WORKER = "cluster1"
KINDS: dict[str, type[Object]] = {
    "clusters": cluster.ManagedCluster,
    "sets": cluster.ManagedClusterSet,
    "bindings": cluster.ManagedClusterSetBinding,
    "namespaces": Namespace,
    "cluster roles": ClusterRole,
    "cluster role bindings": ClusterRoleBinding,
    "roles": Role,
    "role bindings": RoleBinding,
    "leases": Lease,
    "requests": CertificateSigningRequest,
    "works": RemainingWork,
    "add-ons": RemainingAddOn,
    "events": Event,
}
RIGHTS = ("cluster roles", "cluster role bindings")
REPORTERS = ("registration-controller", "klusterlet-agent")
OF_ANY_SCENARIO = re.compile(r"\br\d{3}-")
OF_THE_HUB = re.compile(rf"{re.escape(NAMESPACE_LABEL)}[0-9a-z]+")
"""A label that ends in the hash of a hub."""


async def end_state(client: Client, actor: Actor) -> Any:
    """Return what is compared, without what differs in every run."""
    return await (_of_worker(client, actor) if actor.said.get("worker") else _of_hub(client, actor))


async def _of_worker(client: Client, actor: Actor) -> Any:
    return normal_worker(
        {
            "clusters": [await client.get(cluster.ManagedCluster.resource, WORKER)],
            "secrets": [await actor.worker.get(Secret.resource, HUB_SECRET, AGENT_NAMESPACE)],
            "namespaces": _of(actor.prefix, (await actor.worker.list(Namespace.resource)).items),
            "events": (await client.list(Event.resource, WORKER)).items,
        },
        actor.prefix,
    )


async def _of_hub(client: Client, actor: Actor) -> Any:
    listed = {what: _of(actor.prefix, (await client.list(kind.resource)).items) for what, kind in KINDS.items()}
    sets = (await client.list(cluster.ManagedClusterSet.resource)).items
    listed["sets of all"] = [raw for raw in sets if raw["metadata"]["name"] in actor.said.get("shows", ())]
    return normal(listed, actor.refusals, actor.prefix)


def _of(prefix: str, listed: list[Manifest]) -> list[Manifest]:
    """Return the objects of a scenario."""
    return [raw for raw in listed if prefix in place(raw)]


def normal(listed: Listed, refusals: list[str], prefix: str) -> Any:
    """Return what is compared of the objects on the hub."""
    show = {"requests": _request, **dict.fromkeys(RIGHTS, partial(_rights, listed["clusters"]))}
    found: dict[str, Any] = {what: named(listed[what], show.get(what, whole)) for what in KINDS if what != "events"}
    found["sets"] |= {name: {**raw, "status": "of all"} for name, raw in named(listed["sets of all"], whole).items()}
    found["events"] = _events(listed["events"])
    found["refusals"] = refusals
    return in_words({what: some for what, some in found.items() if some}, listed["clusters"], prefix)


def normal_worker(listed: Listed, prefix: str) -> Any:
    """Return what is compared of what an agent says of its worker, as far as it is the scenario's, and keeps there."""
    [managed], [secret] = (map(whole, listed[what]) for what in ("clusters", "secrets"))
    found = {
        "cluster": _without_others(_of_any_machine(managed), prefix),
        "secret": {**secret, "data": sorted(secret["data"])},
        "namespaces": named(listed["namespaces"], whole),
        "events": _events(listed["events"]),
    }
    return _without_hash(in_words(found, listed["clusters"], prefix))


def _rights(clusters: list[Manifest], raw: Manifest) -> Manifest:
    """Return a role or a binding; that of a denied cluster OCM labels with any cluster that it has let in."""
    shown = whole(raw)
    denied = [cluster["metadata"]["name"] for cluster in clusters if not cluster["spec"].get("hubAcceptsClient")]
    if raw["metadata"]["name"].rpartition(":")[2] in denied:
        shown["labels"] = dict.fromkeys(shown["labels"], "any")
    return shown


def _of_any_machine(managed: Manifest) -> Manifest:
    """Return the worker without what its fleet gives it: its set, addresses, authority, nodes and build."""
    spec, status = dict(managed["spec"]), dict(managed["status"])
    spec["managedClusterClientConfigs"] = [sorted(each) for each in spec.get("managedClusterClientConfigs") or ()]
    status["version"] = {name: version.partition("+")[0] for name, version in status["version"].items()}
    for amounts in ("capacity", "allocatable"):
        status[amounts] = {name: value for name, value in status[amounts].items() if OF_ANY_SCENARIO.search(name)}
    labels = {name: value for name, value in managed["labels"].items() if name != cluster.CLUSTER_SET_LABEL}
    return {**managed, "labels": labels, "spec": spec, "status": status}


def _without_others(value: Any, prefix: str) -> Any:
    """Leave out what other scenarios do to the one worker: their labels, resources, claims and namespaces."""

    def is_ours(name: Any) -> bool:
        found = OF_ANY_SCENARIO.search(str(name))
        return found is None or found[0] == prefix

    if isinstance(value, dict):
        return {name: _without_others(each, prefix) for name, each in value.items() if is_ours(name)}
    if isinstance(value, list):
        return [_without_others(each, prefix) for each in value if is_ours(each)]
    return value


def _without_hash(end: Any) -> Any:
    if isinstance(end, dict):
        return {OF_THE_HUB.sub(NAMESPACE_LABEL, name): _without_hash(each) for name, each in end.items()}
    return end


def _request(raw: Manifest) -> Manifest:
    """Return a request for a certificate, whose key is made up, and by which certificate a real hub knows who asks."""
    shown = whole(raw)
    shown["spec"] = {**shown["spec"], "request": "...", "extra": "..."}
    return {**shown, "status": {**shown["status"], "certificate": bool(shown["status"].get("certificate"))}}


def _events(listed: list[Manifest]) -> list[str]:
    return sorted({_sentence(raw) for raw in listed if raw.get("reportingController") in REPORTERS})


def _sentence(raw: Manifest) -> str:
    about = raw["regarding"]
    whom = f"{about['kind']} {about.get('namespace', '')}/{about['name']}"
    return f"{raw['reportingController']} {raw['type']} {raw['reason']} {raw['action']} {whom}: {raw['note']}"
