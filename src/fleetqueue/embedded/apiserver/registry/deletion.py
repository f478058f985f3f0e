"""What a deletion does: whether the object goes, or stays marked until its finalizers and its grace period are over."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.conflicts import conflict
from fleetqueue.embedded.apiserver.registry.delete_options import DeleteOptions
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.validation.metadata import FOREGROUND, ORPHAN


def check_preconditions(served: Served, obj: Manifest, options: DeleteOptions) -> None:
    """Refuse to delete another object than the one that is meant."""
    metadata = obj["metadata"]
    for given, field, what, hint in (
        (options.uid, "uid", "UID", "The object might have been deleted and then recreated"),
        (options.resource_version, "resourceVersion", "ResourceVersion", "The object might have been modified"),
    ):
        if given and given != metadata.get(field):
            why = f"the {what} in the precondition ({given}) does not match the {what} in record ({metadata[field]})."
            raise conflict(served, metadata["name"], f"{why} {hint}", called=served.resource.kind)


def marked(served: Served, obj: Manifest, options: DeleteOptions, now: datetime) -> Manifest | None:
    """Return the object as a deletion leaves it; None where it goes at once."""
    if served.strategy.dying is not None and not obj["metadata"].get("deletionTimestamp"):
        obj = served.strategy.dying(obj)
    finalizers = finalizers_of(served, obj, options)
    grace = _grace(served, obj, options)
    metadata = obj["metadata"]
    if not finalizers and grace == 0 and not is_held(served, obj):
        return None
    if metadata.get("deletionTimestamp"):
        return _hastened(obj, finalizers, grace)
    after = {**metadata, "deletionTimestamp": timestamp(now + timedelta(seconds=grace))}
    if not is_held(served, obj):
        after["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            after["generation"] = metadata["generation"] + 1
    return {**obj, "metadata": _with_finalizers(after, finalizers)}


def is_held(served: Served, obj: Manifest) -> bool:
    """Tell whether something beside finalizers keeps a deleted object."""
    return served.strategy.is_held is not None and served.strategy.is_held(obj)


def finalizers_of(served: Served, obj: Manifest, options: DeleteOptions) -> Sequence[str]:
    """Return the finalizers that the object has after the deletion was asked for."""
    present = list(obj["metadata"].get("finalizers") or ())
    others = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    wanted = _propagation(served, present, options)
    return [*others, wanted] if wanted else others


def may_go(served: Served, obj: Manifest) -> bool:
    """Tell of an object whether it was deleted and nothing holds it any more."""
    metadata = obj["metadata"]
    is_over = not metadata.get("deletionGracePeriodSeconds") and not metadata.get("finalizers")
    return bool(metadata.get("deletionTimestamp")) and is_over and not is_held(served, obj)


def _propagation(served: Served, present: Sequence[str], options: DeleteOptions) -> str:
    if options.orphan is not None:
        return ORPHAN if options.orphan else ""
    if options.propagation:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation, "")
    for name in (ORPHAN, FOREGROUND):
        if name in present:
            return name
    return ORPHAN if served.strategy.orphans_by_default else ""


def _grace(served: Served, obj: Manifest, options: DeleteOptions) -> int:
    if served.strategy.grace is None:
        return 0
    given = options.grace if options.grace is None or options.grace >= 0 else 1
    under_way = obj["metadata"].get("deletionGracePeriodSeconds")
    if obj["metadata"].get("deletionTimestamp"):
        return under_way or 0 if given is None else min(given, under_way or 0)
    return served.strategy.grace(obj, given)


def _hastened(obj: Manifest, finalizers: Sequence[str], grace: int) -> Manifest:
    """Return a deleted object with a shorter time; the same one where nothing changes."""
    metadata = obj["metadata"]
    before = metadata.get("deletionGracePeriodSeconds") or 0
    after = metadata
    if grace < before:
        moment = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=before - grace)
        after = {**metadata, "deletionTimestamp": timestamp(moment), "deletionGracePeriodSeconds": grace}
    if list(finalizers) != list(metadata.get("finalizers") or ()):
        after = _with_finalizers(after, finalizers)
    return obj if after is metadata else {**obj, "metadata": after}


def _with_finalizers(metadata: Mapping[str, Any], finalizers: Sequence[str]) -> dict[str, Any]:
    rest = {key: value for key, value in metadata.items() if key != "finalizers"}
    return {**rest, "finalizers": list(finalizers)} if finalizers else rest
