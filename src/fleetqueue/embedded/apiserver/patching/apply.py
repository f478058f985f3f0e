"""Server-side apply: merge a configuration into an object, and let its manager own exactly what it names.

A field that others own with another value is a conflict, unless the applier forces it and takes the field. A field that
the applier named last time and does not name now goes, if nobody else owns it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import ANY, ATOMIC, Schema
from fleetqueue.embedded.apiserver.patching import conflicts, last_applied
from fleetqueue.embedded.apiserver.patching.applied_fields import Misfit, named_fields
from fleetqueue.embedded.apiserver.patching.comparison import ABSENT, child_of, is_equal
from fleetqueue.embedded.apiserver.patching.conflicts import Conflicts
from fleetqueue.embedded.apiserver.patching.elements import ItemError, of_item
from fleetqueue.embedded.apiserver.patching.field_sets import NOTHING, Fields, difference, intersection, union
from fleetqueue.embedded.apiserver.patching.managed_fields import (
    UNOWNED,
    FieldWrite,
    empty_object,
    updated,
    with_entries,
    without_entries,
    without_taken_fields,
)
from fleetqueue.embedded.apiserver.patching.owners import APPLY, FieldOwner, Name, UnreadableOwners, entries_of, read
from fleetqueue.embedded.apiserver.patching.pruning import pruned
from fleetqueue.embedded.apiserver.patching.reset_fields import RESET_NOTHING, Reset
from fleetqueue.embedded.apiserver.patching.versions import Changes, ObjectVersions, OtherVersions

BEFORE_FIRST_APPLY = "before-first-apply"


def apply(
    live: Manifest | None,
    applied: Manifest,
    schema: Schema,
    manager: str,
    api_version: str,
    subresource: str,
    now: str,
    *,
    kind: str = "",
    force: bool = False,
    reset: Reset = RESET_NOTHING,
    other_versions: OtherVersions | None = None,
) -> Manifest:
    """Return the object after the apply, with its managedFields; the very same object if nothing changes.

    Explicit nulls stay in it for the defaulting that follows. Raises Conflict, BadRequest, and ServerError for a
    configuration that does not fit the schema (so does the real server).

    Args:
        live: what is stored; None when the apply creates the object.
        kind: what the configuration must be; not checked if empty.
        now, reset, other_versions: as in `managed_fields.update_managed_fields`.
    """
    _check_type(applied, api_version, kind)
    write = FieldWrite(ObjectVersions(api_version, schema, other_versions), manager, subresource, now, reset)
    stored = live or {}
    owners = _owners_before(stored, write)
    named = _named(applied, schema)
    try:
        after = _apply(stored, applied, named, owners, write, force)
    except Conflicts as found:
        others = found.taken
        if manager == last_applied.MANAGER:
            others = last_applied.beside_own(found.taken, stored, schema)
        if others:
            raise conflicts.refusal(others) from None
        after = _apply(stored, applied, named, owners, write, force=True)
    return last_applied.kept_true(after, applied) if manager == last_applied.MANAGER else after


def _check_type(applied: Manifest, api_version: str, kind: str) -> None:
    version = applied.get("apiVersion") or ""
    if kind and (version != api_version or applied.get("kind") != kind):
        raise errors.BadRequest(f"invalid object type: {_type(applied)}", reason="BadRequest")
    if (applied.get("metadata") or NOTHING).get("managedFields") is not None:
        raise errors.BadRequest("metadata.managedFields must be nil", reason="BadRequest")


def _type(applied: Manifest) -> str:
    version = applied.get("apiVersion") or ""
    return f"{version if '/' in version else f'/{version}'}, Kind={applied.get('kind') or ''}"


def _owners_before(live: Manifest, write: FieldWrite) -> dict[Name, FieldOwner]:
    try:
        owners = read((live.get("metadata") or NOTHING).get("managedFields"), write.versions.schema_of)
    except UnreadableOwners as problem:
        raise errors.ServerError(f"failed to decode managed fields: {problem}") from None
    if owners or not live:
        return owners
    before = replace(write, manager=BEFORE_FIRST_APPLY)
    try:
        changes = Changes(empty_object(write.versions.schema), without_entries(live), write.versions, write.reset)
        return updated({}, changes, before)
    except ItemError as problem:
        raise _unreadable(problem) from None


def _unreadable(problem: ItemError) -> errors.ServerError:
    return errors.ServerError(f"failed to create typed live object: {problem}")


def _named(applied: Manifest, schema: Schema) -> Fields:
    try:
        return named_fields(applied, schema)
    except Misfit as problem:
        metadata = applied.get("metadata") or NOTHING
        whose = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_type(applied)}"
        raise errors.ServerError(f"failed to create typed patch object ({whose}): {problem}") from None


def _apply(
    live: Manifest, applied: Manifest, named: Fields, owners: Mapping[Name, FieldOwner], write: FieldWrite, force: bool
) -> Manifest:
    mine = write.owner(APPLY, write.reset.left(named))
    before = owners.get(mine.name)
    others = [owner for name, owner in owners.items() if name != mine.name]
    try:
        merged = merge(live, applied, write.versions.schema)
        own = difference(mine.fields, UNOWNED)
        if before is not None and _names_less(own, before, write):
            merged = pruned(merged, before, (mine, *others), write.versions)
        others = _others_after(live, merged, others, write, force)
    except ItemError as problem:
        raise _unreadable(problem) from None
    mine = _mine_after(mine.owning(own), before, write.now if merged is not live else "")
    entries = entries_of([owner for owner in (mine, *others) if owner.fields], write.versions.schema_of)
    return with_entries(merged, without_entries(merged), entries)


def _names_less(own: Fields, before: FieldOwner, write: FieldWrite) -> bool:
    """Tell whether an applier owned something before that it does not name now."""
    if before.api_version != write.versions.request and write.versions.other_versions is not None:
        return True  # in another version the same field may have another name
    return before.fields != own and bool(difference(before.fields, own))


def _others_after(
    live: Manifest, merged: Manifest, others: list[FieldOwner], write: FieldWrite, force: bool
) -> list[FieldOwner]:
    """Return the others without what they lose; raises Conflicts if they would and it is not forced."""
    if merged is live or not others:
        return others
    changes = Changes(live, merged, write.versions, write.reset)
    if changes.own.is_same:
        return others
    if not force and (taken := conflicts.all_of(_losses(others, changes))):
        raise Conflicts(taken)
    return list(without_taken_fields(others, changes))


def _losses(others: list[FieldOwner], changes: Changes) -> Iterator[tuple[FieldOwner, Fields]]:
    for owner in others:
        there = changes.of(owner.api_version)
        if there is not None and (lost := intersection(owner.fields, union(there.modified, there.added))):
            yield owner, lost


def _mine_after(mine: FieldOwner, before: FieldOwner | None, changed: str) -> FieldOwner:
    """Return the applier's own entry: what it names, with the time of the last apply that changed something."""
    if before is None:
        return mine.at(changed)
    same_version = before.api_version == mine.api_version
    return (before.owning(mine.fields) if same_version else mine).at(changed or before.time)


def merge(live: Manifest, applied: Manifest, schema: Schema) -> Manifest:
    """Return the object with all that the configuration names; nothing is removed, unchanged parts are shared."""
    merged = live
    for name, value in applied.items():
        before = live.get(name, ABSENT)
        after = value if before is ABSENT else _merged(before, value, child_of(schema, name))
        if after is not before:
            if merged is live:
                merged = dict(live)
            merged[name] = after
    return merged


def _merged(before: Any, after: Any, schema: Schema) -> Any:
    if before is after or (not (type(before) is dict and before) and is_equal(before, after)):
        return before
    if isinstance(before, dict) and before and (after is None or isinstance(after, dict)) and not schema.is_atomic:
        return merge(before, after or {}, schema)
    if isinstance(before, list) and before and (after is None or isinstance(after, list)):
        return after if schema.list_type == ATOMIC else _merge_lists(before, after or [], schema)
    return after


def _merge_lists(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """Merge items with the same keys: in the applied order, the others where they stood between them."""
    ours = [of_item(item, schema) for item in live]
    theirs = [of_item(item, schema) for item in applied]
    items = _Items(live, ours, applied, theirs, schema.items or ANY)
    order = [element for element in theirs if element in items.live]
    merged: list[Any] = []
    done: set[str] = set()
    left = right = 0
    while left < len(ours) or right < len(theirs):
        wanted = order[0] if order else None
        mine = ours[left] if left < len(ours) else None
        if mine is not None and right < len(theirs):
            if mine == theirs[right]:
                left += 1
            elif mine in items.applied and wanted is not None and wanted != mine:
                left += 1  # it has, or gets, its place in the applied order
                continue
        if mine is not None and mine not in items.applied:
            merged.append(live[left])
            left += 1
            continue
        if mine in done and left < len(ours):
            left += 1
        if right < len(theirs):
            element = theirs[right]
            merged.append(items.merged(element))
            done.add(element)
            right += 1
            if element == wanted:
                order.pop(0)
    return live if len(merged) == len(live) and all(a is b for a, b in zip(merged, live, strict=True)) else merged


class _Items:
    """The items of both lists by their elements; those of the object whose keys are doubled are not merged."""

    def __init__(self, live: list[Any], ours: list[str], applied: list[Any], theirs: list[str], schema: Schema) -> None:
        self.schema = schema
        self.applied = dict(zip(theirs, applied, strict=True))
        self.live: dict[str, Any] = {}
        for element, item in zip(ours, live, strict=True):
            self.live[element] = None if element in self.live else item

    def merged(self, element: str) -> Any:
        """Return the applied item, merged into that of the object."""
        before = self.live.get(element)
        after = self.applied[element]
        return after if before is None else _merged(before, after, self.schema)
