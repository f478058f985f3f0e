"""The write that nominates clusters for a Workload, the one write that touches fields of others; and its refusals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import precondition_of
from fleetqueue.api.scheme import Manifest


def nomination(raw: Manifest, members: Sequence[str], entries: Sequence[Manifest] = ()) -> Manifest:
    """Build the apply that nominates: all that Kueue's own admission apply owns now, the members, and check entries.

    Kueue records the winner with an apply of its own under the same manager, which then drops our field. Under another
    manager, or with fields left out, it could not, or would lose what it wrote before.
    """
    metadata = raw["metadata"]
    status = owned(raw.get("status") or {}, _admission_fields(metadata.get("managedFields") or []))
    status["nominatedClusterNames"] = list(members)
    if entries:
        status["admissionChecks"] = _with_entries(raw, status.get("admissionChecks") or [], entries)
    return {
        "apiVersion": raw["apiVersion"],
        "kind": raw["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], **precondition_of(metadata)},
        "status": status,
    }


def _with_entries(raw: Manifest, owned_entries: Sequence[Manifest], entries: Sequence[Manifest]) -> list[Manifest]:
    """Return the owned entries of the checks and those to write, in the order of the live ones."""
    by_name = {entry["name"]: entry for entry in (*owned_entries, *entries)}
    return [by_name[live["name"]] for live in raw["status"]["admissionChecks"] if live["name"] in by_name]


def owned(value: Any, fields: Mapping[str, Any]) -> Any:
    """Return the part of a value that a set of managed fields (fieldsV1) names, in the value's own order.

    Managed fields are sorted by name, and Kueue refuses an admission whose pod sets have changed places.
    """
    inner = {key: sub for key, sub in fields.items() if key != "."}
    if not inner:
        return value
    if isinstance(value, dict):
        return {key: owned(part, inner[f"f:{key}"]) for key, part in value.items() if f"f:{key}" in inner}
    if isinstance(value, list):
        elements = [(key[0], orjson.loads(key[2:]), sub) for key, sub in inner.items()]
        return [part for item in value for part in _owned_item(item, elements)]
    return value


def _owned_item(item: Any, elements: Sequence[tuple[str, Any, Mapping[str, Any]]]) -> list[Any]:
    """Return the owned part of an item of a list; nothing where no element (of a set, or by its key) is the item."""
    for kind, wanted, fields in elements:
        if kind == "v" and item == wanted:
            return [item]
        if kind == "k" and isinstance(item, dict) and all(item.get(name) == key for name, key in wanted.items()):
            return [{**wanted, **owned(item, fields)}]
    return []


def _admission_fields(managed: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    for entry in managed:
        if (entry.get("manager"), entry.get("operation")) == (kueue.ADMISSION_MANAGER, "Apply"):
            fields: Mapping[str, Any] = (entry.get("fieldsV1") or {}).get("f:status") or {}
            if fields:
                return fields
    return {"f:": {}}  # owns nothing yet


@dataclass(frozen=True, slots=True)
class NominationRefusal:
    uid: str
    cause: tuple[Any, ...]
    message: str
    """As it was said the first time: the same cause may be told with other addresses of Go's pointers in it."""


class Refusals:
    """Nominations that the API server, or a webhook of Kueue's, refused.

    One refusal may be a cache that is a moment old. The same one again will not pass by waiting, and
    somebody must know.
    """

    def __init__(self) -> None:
        self._last: dict[str, NominationRefusal] = {}
        """By the keys of Workloads that were refused, and not nominated since."""

    def note(self, workload: kueue.Workload, error: errors.ApiError) -> str:
        """Remember a refusal; return what was said where it is for the same cause as the one before, else nothing."""
        last = self._last.get(workload.key)
        refusal = NominationRefusal(workload.uid, _cause(error), error.message)
        if last is not None and (last.uid, last.cause) == (refusal.uid, refusal.cause):
            return last.message
        self._last[workload.key] = refusal
        return ""

    def forget(self, key: str) -> None:
        self._last.pop(key, None)


def _cause(error: errors.ApiError) -> tuple[Any, ...]:
    """Return what makes two refusals the same: the fields that are named, else all that was said."""
    fields = tuple((cause.get("reason"), cause.get("field")) for cause in error.details.get("causes") or ())
    return error.code, error.reason, fields or error.message
