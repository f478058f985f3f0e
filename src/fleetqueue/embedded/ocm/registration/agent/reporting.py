"""What an agent says of its worker on the hub: pure decisions about the status of its ManagedCluster."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from fleetqueue.api.cluster_claims_v1alpha1 import RESERVED, WORKER_ONLY_LABEL, ClusterClaim
from fleetqueue.api.cluster_v1 import ACCEPTED, AVAILABLE, CLOCK_SYNCED, JOINED
from fleetqueue.api.condition_lists import condition_status, with_conditions
from fleetqueue.api.conditions import FALSE, TRUE, Condition
from fleetqueue.api.quantity import Quantity, parse
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.objects import WorkerNode
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings

Namespaces = Mapping[str, Condition]
"""How each of the namespaces is that sets want on the worker."""


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker as its agent sees it."""

    health: Condition
    version: str
    nodes: Sequence[WorkerNode]
    claims: Sequence[ClusterClaim]


def reported(status: Manifest, worker: WorkerState, settings: RegistrationAgentSettings, now: datetime) -> Manifest:
    """Return the status as it is with what an agent has to say."""
    wanted = [worker.health] if condition_status(status, JOINED) == TRUE else [messages.joined(), worker.health]
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
    updated_entries = [
        {**entry, "conditions": with_conditions(entry.get("conditions") or [], [namespaces[entry["name"]]], now)}
        for entry in entries
    ]
    return {**status, "managedNamespaces": updated_entries} if updated_entries else status


def shown_claims(claims: Iterable[ClusterClaim], settings: RegistrationAgentSettings) -> list[Manifest]:
    """Return the claims that the hub shall see: first those with reserved names, then the others up to a limit."""
    shown = sorted(
        (claim for claim in claims if WORKER_ONLY_LABEL not in claim.metadata.labels), key=lambda claim: claim.name
    )
    reserved = [claim for claim in shown if is_reserved(claim.name, settings.reserved_suffixes)]
    custom = [claim for claim in shown if not is_reserved(claim.name, settings.reserved_suffixes)]
    return [{"name": claim.name, "value": claim.spec.value} for claim in (*reserved, *custom[: settings.custom_claims])]


def is_reserved(name: str, suffixes: Sequence[str]) -> bool:
    return name in RESERVED or name.endswith(tuple(suffixes))


def news(old: Manifest, new: Manifest) -> str:
    """Return the new status of the condition Available where it has another one now; else nothing."""
    now = condition_status(new, AVAILABLE)
    return now if now != condition_status(old, AVAILABLE) else ""


def is_accepted(status: Manifest) -> bool:
    return condition_status(status, ACCEPTED) == TRUE


def is_out_of_sync(status: Manifest) -> bool:
    return condition_status(status, CLOCK_SYNCED) == FALSE


# Sums of quantities, written as Kubernetes writes them: the largest suffix that leaves a whole number.

BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIX: Final = re.compile(r"[KMGTPE]i$")


def totals(resources: Iterable[Mapping[str, Quantity]]) -> dict[str, str]:
    """Add up the resources of nodes, each under its name."""
    by_name: dict[str, list[Quantity]] = {}
    for node_resources in resources:
        for name, quantity in node_resources.items():
            by_name.setdefault(name, []).append(quantity)
    return {name: total(quantities) for name, quantities in by_name.items()}


def total(quantities: Iterable[Quantity]) -> str:
    """Add up quantities; the sum is written in the way of the first that is not zero."""
    amounts = [(str(quantity), parse(quantity)) for quantity in quantities]
    way = next((text for text, amount in amounts if amount), "")
    whole = sum((amount for _, amount in amounts), Decimal(0))
    return _binary(whole) if _BINARY_SUFFIX.search(way) and whole == int(whole) else _decimal(whole)


def _binary(amount: Decimal) -> str:
    value, suffix = int(amount), 0
    while value and value % 1024 == 0 and suffix < len(BINARY) - 1:
        value, suffix = value // 1024, suffix + 1
    return f"{value}{BINARY[suffix]}"


def _decimal(amount: Decimal) -> str:
    value, suffix = int(amount * 10**9), 0
    while value and value % 1000 == 0 and suffix < len(DECIMAL) - 1:
        value, suffix = value // 1000, suffix + 1
    return f"{value}{DECIMAL[suffix]}" if value else "0"
