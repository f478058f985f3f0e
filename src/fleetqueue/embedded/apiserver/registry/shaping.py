"""What a write makes of an object: where it stands, what the server alone says, what an endpoint cannot change."""

from collections.abc import Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.kinds.copying import with_field_of
from fleetqueue.embedded.apiserver.registry.served import Served

STATUS: Final = "status"
LONGEST_NAME: Final = 63
RANDOM_LETTERS: Final = 5
"""Letters behind the prefix of a generated name."""
SYSTEM_FIELDS: Final = frozenset({"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})


def with_identity_of_path(served: Served, namespace: str, obj: Manifest, name: str = "") -> Manifest:
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


def check_has_name(obj: Manifest, name: str) -> None:
    """Refuse an object that does not say its name, though its path does."""
    if not (obj.get("metadata") or {}).get("name"):
        why = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise errors.BadRequest(why, reason="BadRequest")


def with_generated_name(obj: Manifest) -> Manifest:
    """Return the object with a name; the same one where it has one, or does not want one generated."""
    metadata = obj["metadata"]
    prefix = metadata.get("generateName")
    if metadata.get("name") or not prefix:
        return obj
    name = prefix[: LONGEST_NAME - RANDOM_LETTERS] + clock.suffix(RANDOM_LETTERS)
    return {**obj, "metadata": {**metadata, "name": name}}


def without_system_fields(obj: Manifest) -> Manifest:
    """Return a new object without what only an old one can have."""
    metadata = obj["metadata"]
    if not SYSTEM_FIELDS & metadata.keys():
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key not in SYSTEM_FIELDS}}


def without_version(obj: Manifest) -> Manifest:
    """Return an object that an update creates: the version that it was meant for is no hindrance."""
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}}


def with_system_fields(served: Served, obj: Manifest) -> Manifest:
    """Return a new object with what the server alone says: who it is, since when; and without a status."""
    metadata = {**obj["metadata"], "uid": clock.uid(), "creationTimestamp": timestamp(clock.now())}
    metadata.setdefault("name", "")
    if served.strategy.generation is not None:
        metadata["generation"] = 1
    after = {**obj, "metadata": metadata}
    status = served.strategy.status
    if served.has_status and not status.is_created:
        after.pop(STATUS, None)
        if status.initial is not None:
            after[STATUS] = status.initial
    return after


def with_kept_fields(served: Served, obj: Manifest, old: Manifest, subresource: str) -> Manifest:
    """Return the new object with what a write through this endpoint cannot change."""
    metadata = _kept_metadata(obj["metadata"], old["metadata"])
    strategy = served.strategy
    if subresource in strategy.subresources:
        return strategy.subresources[subresource].keep({**obj, "metadata": metadata}, old)
    if subresource == STATUS:
        if strategy.status.keeps_metadata:
            metadata = _with_owners(old["metadata"], metadata)
        elif strategy.status.keeps_labels:
            metadata = with_field_of(metadata, "labels", old["metadata"])
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


def with_generation(served: Served, obj: Manifest, old: Manifest, subresource: str) -> Manifest:
    """Return the object with the next generation, if more than metadata and status changed."""
    generation, part = served.strategy.generation, served.strategy.subresources.get(subresource)
    if generation is None or subresource == STATUS or not (part or generation).counts_spec:
        return obj
    beside = ("metadata", STATUS) if served.has_status else ("metadata",)
    is_same = all(same(obj.get(key), old.get(key)) for key in {*obj, *old} - set(beside))
    if is_same and not _relabelled(generation.metadata, obj["metadata"], old["metadata"]):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "generation": old["metadata"].get("generation", 0) + 1}}


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


def _relabelled(names: Sequence[str], new: Manifest, old: Manifest) -> bool:
    """Tell whether other metadata make another generation."""
    return any((new.get(name) or {}) != (old.get(name) or {}) for name in names)
