"""Deletions: their options, and whether an object goes or stays until its finalizers and grace period are over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.requests import number
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid, invalid_value, not_supported
from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.kinds.normalising import normalised
from fleetqueue.embedded.apiserver.kinds.table import type_of
from fleetqueue.embedded.apiserver.registry.list_options import flag
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.validation.metadata import FOREGROUND, ORPHAN

POLICIES: Final = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace: int | None = None
    propagation: str | None = None
    orphan: bool | None = None
    """The old form of the propagation."""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False

    @property
    def says_what_follows(self) -> bool:
        """Whether it says what becomes of dependents."""
        return self.propagation is not None or self.orphan is not None


def delete_options(body: Any, query: Mapping[str, str]) -> DeleteOptions:
    """Read the options; the query counts only where there is no body, as in Kubernetes."""
    given = _of_query(query) if body is None else _of_body(body)
    dry_run = given.get("dryRun") or []
    preconditions = given.get("preconditions") or {}
    options = DeleteOptions(
        given.get("gracePeriodSeconds"),
        given.get("propagationPolicy"),
        given.get("orphanDependents"),
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        bool(dry_run),
    )
    if faults := _faults(options, dry_run):
        raise invalid("DeleteOptions", "meta.k8s.io", "", faults)
    return options


def _of_body(body: Any) -> Mapping[str, Any]:
    try:
        return normalised(body, type_name=type_of("", "v1", "DeleteOptions"))[0]
    except Unreadable as error:
        raise errors.BadRequest(str(error), reason="BadRequest") from error


def _of_query(query: Mapping[str, str]) -> Mapping[str, Any]:
    orphan = query.get("orphanDependents")
    return {
        "gracePeriodSeconds": number(query, "gracePeriodSeconds"),
        "propagationPolicy": query.get("propagationPolicy"),
        "orphanDependents": None if orphan is None else flag(orphan),
        "dryRun": [query["dryRun"]] if "dryRun" in query else [],
    }


def _faults(options: DeleteOptions, dry_run: list[str]) -> list[Cause]:
    problems = []
    if options.propagation is not None and options.orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(invalid_value("propagationPolicy", options.propagation, detail))
    if options.propagation is not None and options.propagation not in POLICIES:
        problems.append(not_supported("propagationPolicy", options.propagation, [*POLICIES, "nil"]))
    if any(value != "All" for value in dry_run):
        problems.append(not_supported("dryRun", dry_run, ["All"]))
    return problems


def check_preconditions(served: Served, obj: Manifest, options: DeleteOptions) -> None:
    """Refuse to delete another object than the one that is meant."""
    metadata = obj["metadata"]
    for given, field, what, hint in (
        (options.uid, "uid", "UID", "The object might have been deleted and then recreated"),
        (options.resource_version, "resourceVersion", "ResourceVersion", "The object might have been modified"),
    ):
        if given and given != metadata.get(field):
            why = f"the {what} in the precondition ({given}) does not match the {what} in record ({metadata[field]})."
            raise served.conflict(metadata["name"], f"{why} {hint}", kind=served.resource.kind)


def after_deletion(served: Served, obj: Manifest, options: DeleteOptions, now: datetime) -> Manifest | None:
    """Return the object as a deletion leaves it; None where it goes at once."""
    prepare = served.strategy.deletion.prepare
    if prepare is not None and not obj["metadata"].get("deletionTimestamp"):
        obj = prepare(obj)
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
    held = served.strategy.deletion.is_held
    return held is not None and held(obj)


def finalizers_of(served: Served, obj: Manifest, options: DeleteOptions) -> Sequence[str]:
    """Return the finalizers that the object has after the deletion request."""
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
    return ORPHAN if served.strategy.deletion.orphans_by_default else ""


def _grace(served: Served, obj: Manifest, options: DeleteOptions) -> int:
    grace = served.strategy.deletion.grace
    if grace is None:
        return 0
    given = options.grace if options.grace is None or options.grace >= 0 else 1
    under_way = obj["metadata"].get("deletionGracePeriodSeconds")
    if obj["metadata"].get("deletionTimestamp"):
        return under_way or 0 if given is None else min(given, under_way or 0)
    return grace(obj, given)


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
