"""Nobody writes when there is nothing to do: what is written in a world that is left alone."""

from collections.abc import Iterable
from typing import Final

import orjson

from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.storage.keys import key_of
from fleetqueue.embedded.kubernetes.discovery import discover

BY_THE_CLOCK: Final = ("/coordination.k8s.io/leases/", "/core/nodes/", "/addonplacementscores/")
"""What is renewed for as long as whoever writes it lives."""
SAMPLE: Final = "admissionFairSharingStatus"
EVENTS: Final = ("/core/events/", "/events.k8s.io/events/")
"""They go after an hour."""


def counts(change: str, key: str) -> bool:
    """Tell whether a change is one that a quiet world does not have."""
    expires = change == "DELETED" and key.startswith(EVENTS)
    return not expires and not any(part in key for part in BY_THE_CLOCK)


async def versions(client: Client) -> dict[str, str]:
    """Return the resourceVersion of everything that a cluster holds, by its key."""
    found: dict[str, str] = {}
    for kind in (await discover(client)).kinds:
        if kind.can("list", "get"):
            for raw in (await client.list(kind.resource)).items:
                metadata = raw["metadata"]
                place = key_of(
                    kind.resource.group, kind.resource.plural, metadata.get("namespace", ""), metadata["name"]
                )
                found[place] = without_sample(raw) or metadata.get("resourceVersion", "")  # a component has none
    return found


def without_sample(raw: Manifest) -> str:
    """Return what a LocalQueue says beside what it consumed, which is told by the clock; nothing of all else."""
    status = raw.get("status") or {}
    if SAMPLE not in (status.get("fairSharing") or {}):
        return ""
    fixed = {name: value for name, value in raw["metadata"].items() if name not in ("resourceVersion", "managedFields")}
    told = {name: value for name, value in status.items() if name != "fairSharing"}
    return orjson.dumps({**raw, "metadata": fixed, "status": told}, option=orjson.OPT_SORT_KEYS).decode()


def written(before: dict[str, str], after: dict[str, str], *, with_news: bool = True) -> Iterable[str]:
    """Say what was written in between, with new Events or without them."""
    for key in sorted({*before, *after}):
        change = "ADDED" if key not in before else "DELETED" if key not in after else "MODIFIED"
        is_news = change == "ADDED" and key.startswith(EVENTS)
        if before.get(key) != after.get(key) and counts(change, key) and (with_news or not is_news):
            yield f"{change} {key}"
