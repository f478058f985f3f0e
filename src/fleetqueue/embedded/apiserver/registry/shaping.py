"""What a write makes of an object: where it stands, what the server alone says, what an endpoint cannot change."""

from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.kinds.copying import with_field_of
from fleetqueue.embedded.apiserver.registry.served import Served

STATUS: Final = "status"
WIPED: Final = frozenset({"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})


def placed(served: Served, namespace: str, obj: Manifest, name: str = "") -> Manifest:
    """Return the object with the type and the place that the path names; refuses one that contradicts it."""
    resource, metadata = served.resource, obj.get("metadata") or {}
    if resource.namespaced and metadata.get("namespace", namespace) not in ("", namespace):
        raise errors.BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request",
            reason="BadRequest",
        )
    if name and metadata.get("name", name) not in ("", name):
        why = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise errors.BadRequest(why, reason="BadRequest")
    after = dict(metadata)
    after.pop("namespace", None)
    if namespace:
        after["namespace"] = namespace
    if name:
        after["name"] = name
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": after, **rest}


def check_named(obj: Manifest, name: str) -> None:
    """Refuse an object that does not say its name, though its path does."""
    if not (obj.get("metadata") or {}).get("name"):
        why = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise errors.BadRequest(why, reason="BadRequest")


def wiped(obj: Manifest) -> Manifest:
    """Return a new object without what only an old one can have."""
    metadata = obj["metadata"]
    if not WIPED & metadata.keys():
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key not in WIPED}}


def without_version(obj: Manifest) -> Manifest:
    """Return an object that an update creates: the version that it was meant for is no hindrance."""
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}}


def new(served: Served, obj: Manifest) -> Manifest:
    """Return a new object with what the server alone says: who it is, since when; and without a status."""
    metadata = {**obj["metadata"], "uid": clock.uid(), "creationTimestamp": timestamp(clock.now())}
    metadata.setdefault("name", "")
    if served.strategy.has_generation:
        metadata["generation"] = 1
    after = {**obj, "metadata": metadata}
    if served.has_status and not served.strategy.keeps_new_status:
        after.pop(STATUS, None)
        if served.strategy.new_status is not None:
            after[STATUS] = served.strategy.new_status
    return after


def kept(served: Served, obj: Manifest, old: Manifest, subresource: str) -> Manifest:
    """Return the new object with what a write through this endpoint cannot change."""
    metadata = _kept_metadata(obj["metadata"], old["metadata"])
    if subresource in served.strategy.parts:
        return served.strategy.parts[subresource].keep({**obj, "metadata": metadata}, old)
    if subresource == STATUS:
        if served.strategy.keeps_status_metadata:
            metadata = _with_owners(old["metadata"], metadata)
        for name in served.strategy.status_keeps:
            metadata = with_field_of(metadata, name, old["metadata"])
        rest = {key: value for key, value in old.items() if key not in ("metadata", STATUS)}
        after = {**rest, "metadata": metadata}
        return {**after, STATUS: obj[STATUS]} if STATUS in obj else after
    after = {**obj, "metadata": metadata}
    if served.has_status:
        after.pop(STATUS, None)
        if STATUS in old:
            after[STATUS] = old[STATUS]
    return after


def _with_owners(old: Manifest, new: Manifest) -> Manifest:
    """Return the old metadata with who owns what now."""
    after = {key: value for key, value in old.items() if key != "managedFields"}
    return {**after, "managedFields": new["managedFields"]} if "managedFields" in new else after


def _kept_metadata(new: Manifest, old: Manifest) -> Manifest:
    after = {key: value for key, value in new.items() if key not in ("resourceVersion", "selfLink")}
    for name in ("generation", "creationTimestamp"):
        after.pop(name, None)
        if name in old:
            after[name] = old[name]
    if "deletionTimestamp" in old:
        after["deletionTimestamp"] = old["deletionTimestamp"]
    for name in ("uid", "deletionGracePeriodSeconds"):
        if name in old:
            after.setdefault(name, old[name])
    after["resourceVersion"] = old["resourceVersion"]
    return after


def counted(served: Served, obj: Manifest, old: Manifest, subresource: str) -> Manifest:
    """Return the object with the next generation, if more than metadata and status changed."""
    counts = served.strategy.parts.get(subresource, served.strategy).counts_changes
    if not served.strategy.has_generation or not counts or subresource == STATUS:
        return obj
    beside = ("metadata", STATUS) if served.has_status else ("metadata",)
    is_same = all(same(obj.get(key), old.get(key)) for key in {*obj, *old} - set(beside))
    if is_same and not _relabelled(served, obj, old):
        return obj
    generation = old["metadata"].get("generation", 0) + 1
    return {**obj, "metadata": {**obj["metadata"], "generation": generation}}


def same(one: Any, other: Any) -> bool:
    """Compare values as JSON has them: true is not 1."""
    if one is other:
        return True
    if one != other:
        return False
    if isinstance(one, dict):
        return all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def _relabelled(served: Served, obj: Manifest, old: Manifest) -> bool:
    """Tell whether other metadata make another generation."""
    names = served.strategy.counts_metadata
    return any((obj["metadata"].get(name) or {}) != (old["metadata"].get(name) or {}) for name in names)
