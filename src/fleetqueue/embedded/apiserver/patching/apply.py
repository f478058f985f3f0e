"""Server-side apply: merge a configuration into an object, and let its manager own exactly what it names.

A field that others own with another value is a conflict, unless the applier forces it and takes the field. A field that
the applier named last time and does not name now goes, if nobody else owns it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching import conflicts, last_applied
from fleetqueue.embedded.apiserver.patching.applied_fields import Misfit, named_fields
from fleetqueue.embedded.apiserver.patching.conflicts import Conflicts
from fleetqueue.embedded.apiserver.patching.elements import ItemError
from fleetqueue.embedded.apiserver.patching.empty_objects import empty_object
from fleetqueue.embedded.apiserver.patching.field_sets import NOTHING, Fields, difference, intersection, union
from fleetqueue.embedded.apiserver.patching.managed_fields import (
    UNOWNED,
    Write,
    bereft,
    updated,
    with_entries,
    without_entries,
)
from fleetqueue.embedded.apiserver.patching.merging import merge
from fleetqueue.embedded.apiserver.patching.owners import APPLY, Name, Owner, UnreadableOwners, entries_of, read
from fleetqueue.embedded.apiserver.patching.pruning import pruned
from fleetqueue.embedded.apiserver.patching.reset_fields import RESET_NOTHING, Reset
from fleetqueue.embedded.apiserver.patching.versions import Changes, Faces, Versions

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
    faces: Faces | None = None,
) -> Manifest:
    """Return the object after the apply, with its managedFields; the very same object if nothing changes.

    Explicit nulls stay in it for the defaulting that follows. Raises Conflict, BadRequest, and ServerError for a
    configuration that does not fit the schema (so does the real server).

    Args:
        live: what is stored; None when the apply creates the object.
        kind: what the configuration must be; not asked if empty.
        now, reset, faces: as in `managed_fields.update_managed_fields`.
    """
    _check_type(applied, api_version, kind)
    write = Write(Versions(api_version, schema, faces), manager, subresource, now, reset)
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


def _owners_before(live: Manifest, write: Write) -> dict[Name, Owner]:
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
    live: Manifest, applied: Manifest, named: Fields, owners: Mapping[Name, Owner], write: Write, force: bool
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


def _names_less(own: Fields, before: Owner, write: Write) -> bool:
    """Tell whether an applier owned something before that it does not name now."""
    if before.api_version != write.versions.request and write.versions.faces is not None:
        return True  # in another version the same field may have another name
    return before.fields != own and bool(difference(before.fields, own))


def _others_after(live: Manifest, merged: Manifest, others: list[Owner], write: Write, force: bool) -> list[Owner]:
    """Return the others without what they lose; raises Conflicts if they would and it is not forced."""
    if merged is live or not others:
        return others
    changes = Changes(live, merged, write.versions, write.reset)
    if changes.own.is_same:
        return others
    if not force and (taken := conflicts.all_of(_losses(others, changes))):
        raise Conflicts(taken)
    return list(bereft(others, changes))


def _losses(others: list[Owner], changes: Changes) -> Iterator[tuple[Owner, Fields]]:
    for owner in others:
        there = changes.of(owner.api_version)
        if there is not None and (lost := intersection(owner.fields, union(there.modified, there.added))):
            yield owner, lost


def _mine_after(mine: Owner, before: Owner | None, changed: str) -> Owner:
    """Return the applier's own entry: what it names, with the time of the last apply that changed something."""
    if before is None:
        return mine.at(changed)
    same_version = before.api_version == mine.api_version
    return (before.owning(mine.fields) if same_version else mine).at(changed or before.time)
