"""Objects of any kind as scenarios compare them: whole, without what always differs.

Times become signs, since the two sides have other clocks, and uids the names of who has them.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fleetqueue.api.scheme import Manifest

from .kueue_objects import conditions, header

TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:(?:\.\d+)?Z| \+0000 UTC)")
UIDS = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
ASIDE = ("apiVersion", "kind", "metadata", "status")


def named(listed: Iterable[Manifest], show: Callable[[Manifest], Manifest]) -> dict[str, Manifest]:
    """Show objects by their names, those of a namespace as `namespace/name`."""
    return {place(raw): show(raw) for raw in listed}


def place(raw: Manifest) -> str:
    metadata = raw["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def whole(raw: Manifest) -> Manifest:
    """Return all that an object says: of its metadata what somebody chose, its body, and its status.

    Several controllers may have added their finalizers, in any order.
    """
    body = {field: value for field, value in raw.items() if field not in ASIDE}
    deleted = {"is deleting": True} if "deletionTimestamp" in raw["metadata"] else {}
    chosen = header(raw)
    finalizers = sorted(chosen["finalizers"])
    return {**chosen, "finalizers": finalizers, **deleted, **body, "status": told(raw.get("status") or {})}


def told(value: Any) -> Any:
    """Return a status, or a part of it, with a sentence for each condition, by its type."""
    if isinstance(value, list):
        return [told(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {field: told(each) for field, each in value.items() if field != "conditions"}
    return {**found, "conditions": conditions({"status": value})} if "conditions" in value else found


def in_words(end: Any, listed: Iterable[Manifest], prefix: str, others: Mapping[str, str] = {}) -> Any:
    """Return an end state with signs for times, words for uids, and without the scenario's prefix.

    Args:
        listed: the objects whose uids may stand somewhere.
        others: what else is made up, and how it is called.
    """
    text = json.dumps(end, sort_keys=True, ensure_ascii=False)
    for raw in listed:
        text = text.replace(raw["metadata"]["uid"], f"uid of {raw['metadata']['name']}")
    for made_up, called in others.items():
        text = text.replace(made_up, called)
    return json.loads(UIDS.sub("uid of one that is gone", TIMES.sub("T", text)).replace(prefix, ""))
