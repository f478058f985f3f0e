"""What an agent says of its worker on the hub: pure decisions about the status of its ManagedCluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fleetqueue.api.cluster_claims_v1alpha1 import RESERVED, WORKER_ONLY_LABEL, ClusterClaim
from fleetqueue.api.cluster_v1 import ACCEPTED, AVAILABLE, CLOCK_SYNCED, JOINED
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import FALSE, TRUE, Condition
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.agent.quantities import totals
from fleetqueue.embedded.ocm.registration.objects import WorkerNode
from fleetqueue.embedded.ocm.registration.settings import AgentSettings

Namespaces = Mapping[str, Condition]
"""How each of the namespaces is that sets want on the worker."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as its agent sees it."""

    health: Condition
    version: str
    nodes: Sequence[WorkerNode]
    claims: Sequence[ClusterClaim]


def reported(status: Manifest, worker: Worker, settings: AgentSettings, now: datetime) -> Manifest:
    """Return the status as it is with what an agent has to say."""
    wanted = [worker.health] if says(status, JOINED) == TRUE else [messages.joined(), worker.health]
    new = {**status, "conditions": with_conditions(status.get("conditions") or [], wanted, now)}
    if worker.health.is_true:
        new["version"] = {"kubernetes": worker.version}
        new["capacity"] = {
            **(status.get("capacity") or {}),  # others may add resources
            **totals(node.status.capacity for node in worker.nodes),
        }
        new["allocatable"] = totals(node.status.allocatable for node in worker.nodes if not node.spec.unschedulable)
    new["clusterClaims"] = shown_claims(worker.claims, settings)
    return {field: value for field, value in new.items() if value}


def with_namespaces(status: Manifest, namespaces: Namespaces, now: datetime) -> Manifest:
    """Return the status as it is with how the wanted namespaces are."""
    entries = status.get("managedNamespaces") or []
    said = [
        {**entry, "conditions": with_conditions(entry.get("conditions") or [], [namespaces[entry["name"]]], now)}
        for entry in entries
    ]
    return {**status, "managedNamespaces": said} if said else status


def shown_claims(claims: Iterable[ClusterClaim], settings: AgentSettings) -> list[Manifest]:
    """Return the claims that the hub shall see: first those with reserved names, then the others up to a limit."""
    shown = sorted(
        (each for each in claims if WORKER_ONLY_LABEL not in each.metadata.labels), key=lambda each: each.name
    )
    reserved = [each for each in shown if is_reserved(each.name, settings.reserved_suffixes)]
    custom = [each for each in shown if not is_reserved(each.name, settings.reserved_suffixes)]
    return [{"name": each.name, "value": each.spec.value} for each in (*reserved, *custom[: settings.custom_claims])]


def is_reserved(name: str, suffixes: Sequence[str]) -> bool:
    return name in RESERVED or name.endswith(tuple(suffixes))


def news(old: Manifest, new: Manifest) -> str:
    """Return the new status of the condition Available where it has another one now; else nothing."""
    now = says(new, AVAILABLE)
    return now if now != says(old, AVAILABLE) else ""


def is_accepted(status: Manifest) -> bool:
    return says(status, ACCEPTED) == TRUE


def is_out_of_sync(status: Manifest) -> bool:
    return says(status, CLOCK_SYNCED) == FALSE


def says(status: Manifest, kind: str) -> str:
    """Return the status of a condition; empty where there is none."""
    found = (each.get("status", "") for each in status.get("conditions") or () if each.get("type") == kind)
    return str(next(found, ""))
