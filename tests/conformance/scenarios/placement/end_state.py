"""What a placement scenario ends in: Placements, PlacementDecisions and Events, without what differs in every run."""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from ..whole_objects import in_words, whole  # noqa: TID252 - what the rooms share stands above them

Listed = dict[str, list[Manifest]]
"""The objects of a scenario, by what they are."""
KINDS = {"placements": cluster.Placement, "decisions": cluster.PlacementDecision, "events": Event}
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
        listed = {what: (await client.list(kind.resource, f"{prefix}ns")).items for what, kind in KINDS.items()}
        return normal(listed, prefix, with_scores=with_scores)

    return read


def normal(listed: Listed, prefix: str, *, with_scores: bool) -> dict[str, Any]:
    """Return what is compared of the objects of a scenario."""
    end: dict[str, Any] = {
        what: {raw["metadata"]["name"]: whole(raw) for raw in listed[what]} for what in ("placements", "decisions")
    }
    end["events"] = _events(event for event in listed["events"] if with_scores or event["reason"] != "ScoreUpdate")
    found: dict[str, Any] = in_words(end, listed["placements"], prefix)
    return found


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
