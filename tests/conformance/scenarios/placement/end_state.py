"""What a placement scenario ends in: Placements, PlacementDecisions and Events, without what differs in every run."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

CLEANED = (
    cluster.Placement,
    cluster.PlacementDecision,
    cluster.AddOnPlacementScore,
    cluster.ManagedCluster,
    cluster.ManagedClusterSetBinding,
    cluster.ManagedClusterSet,
)


def reader(prefix: str, *, with_scores: bool) -> Callable[[Client], Awaitable[Any]]:
    """Scores that other Placements change, whenever they are looked at, cannot be compared."""

    async def read(client: Client) -> Any:
        namespace = f"{prefix}ns"
        placements = (await client.list(cluster.Placement.resource, namespace)).items
        decisions = (await client.list(cluster.PlacementDecision.resource, namespace)).items
        events = (await client.list(Event.resource, namespace)).items
        names = {raw["metadata"]["uid"]: raw["metadata"]["name"] for raw in placements}
        found = {
            "placements": {raw["metadata"]["name"]: _status(raw) for raw in placements},
            "decisions": {raw["metadata"]["name"]: _decision(raw, names) for raw in decisions},
            "events": _events(event for event in events if with_scores or event["reason"] != "ScoreUpdate"),
        }
        return json.loads(json.dumps(found).replace(prefix, ""))

    return read


def cleaner(prefix: str) -> Callable[[Client], Awaitable[None]]:
    async def clean_up(client: Client) -> None:
        for kind in CLEANED:
            for raw in (await client.list(kind.resource)).items:
                metadata = raw["metadata"]
                if prefix in metadata["name"] or prefix in metadata.get("namespace", ""):
                    await _delete(client, kind, metadata)

    return clean_up


async def _delete(client: Client, kind: Any, metadata: Manifest) -> None:
    name, namespace = metadata["name"], metadata.get("namespace", "")
    if metadata.get("finalizers"):
        await client.merge(kind.resource, name, namespace, {"metadata": {"finalizers": None}})
    if not metadata.get("deletionTimestamp"):
        await client.delete(kind.resource, name, namespace)


def _status(raw: Manifest) -> Manifest:
    status = dict(raw.get("status") or {})
    conditions = status.get("conditions") or []
    return {**status, "conditions": [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in conditions]}


def _decision(raw: Manifest, names: dict[str, str]) -> Manifest:
    metadata, status = raw["metadata"], raw.get("status")
    found = {
        "labels": {label.removeprefix(f"{cluster.GROUP}/"): v for label, v in (metadata.get("labels") or {}).items()},
        "annotations": metadata.get("annotations"),
        "owners": [_owner(owner, names) for owner in metadata.get("ownerReferences", ())],
        "decisions": None if status is None else [_chosen(chosen) for chosen in status["decisions"]],
        "more status": {field: value for field, value in (status or {}).items() if field != "decisions"},
    }
    return {field: value for field, value in found.items() if value not in (None, {})}


def _owner(owner: Manifest, names: dict[str, str]) -> str:
    """Return an owner in one line; its uid as the name of the Placement that has it."""
    rest = {**owner, "uid": names.get(owner["uid"])}
    return " ".join(f"{field}={rest[field]}" for field in sorted(rest))


def _chosen(decision: Manifest) -> Any:
    return decision["clusterName"] if decision == {"clusterName": decision["clusterName"], "reason": ""} else decision


def _events(events: Iterable[Manifest]) -> list[str]:
    """Return the sentences that were said, each once; of the scores of a Placement only the last.

    The real controller says the scores in any order, and whenever it looks.
    """
    told = sorted(events, key=lambda raw: str(raw["eventTime"]))
    sentences = {_sentence(raw) for raw in told if raw["reason"] != "ScoreUpdate"}
    scores = {raw["regarding"]["name"]: _scores(raw) for raw in told if raw["reason"] == "ScoreUpdate"}
    return sorted(sentences | set(scores.values()))


def _sentence(raw: Manifest) -> str:
    about, related = raw["regarding"], raw["related"]
    note = re.sub(r"AddOnPlacementScores (.*) expired", _in_order, raw["note"])
    about_whom = f"{about['kind']} {about['name']}, {related['kind']} {related['name']}"
    return f"{raw['reportingController']} {raw['type']} {raw['reason']} {raw['action']} {about_whom}: {note}"


def _in_order(found: re.Match[str]) -> str:
    return f"AddOnPlacementScores {' '.join(sorted(found[1].split()))} expired"


def _scores(raw: Manifest) -> str:
    scores = sorted(raw.get("note", "").split())
    shown = f"{len(scores) - 1} scores and more" if "......" in scores else " ".join(scores)
    return f"{raw['reportingController']} {raw['type']} {raw['reason']} {raw['action']}: {shown}"
