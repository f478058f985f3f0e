"""Record, after every write, which fields its manager now owns.

A manager owns what it changed. Whoever changes a field takes it from all others; a field that goes is nobody's. The
times of the entries say when their owner last changed something: a write that changes nothing leaves no trace.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import normalising
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.applied_fields import Misfit, check_types
from fleetqueue.embedded.apiserver.patching.comparison import Comparison, child_of
from fleetqueue.embedded.apiserver.patching.elements import ItemError
from fleetqueue.embedded.apiserver.patching.field_sets import NOTHING, Fields, difference, intersection, of_paths, union
from fleetqueue.embedded.apiserver.patching.forms import FieldsByForm
from fleetqueue.embedded.apiserver.patching.owners import (
    APPLY,
    UPDATE,
    FieldOwner,
    Name,
    UnreadableOwners,
    entries_of,
    name_in_order,
    read,
)
from fleetqueue.embedded.apiserver.patching.reset_fields import RESET_NOTHING, Reset
from fleetqueue.embedded.apiserver.patching.versions import Changes, ObjectVersions, OtherVersions

# As in the real server: above this, the oldest updaters become one, so that their entries cannot grow without end.
MOST_UPDATERS: Final = 10
ANCIENT: Final = "ancient-changes"

_UNOWNED_METADATA: Final = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
UNOWNED: Final = of_paths(
    ("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _UNOWNED_METADATA)
)
"""What the server or the path of the request decides: nobody owns it."""


@dataclass(frozen=True, slots=True)
class FieldWrite:
    """Who writes, through which endpoint, and when."""

    versions: ObjectVersions
    manager: str
    subresource: str
    now: str
    """RFC 3339, in whole seconds."""
    reset: Reset = RESET_NOTHING

    def owner(self, operation: str, fields: Fields, time: str = "") -> FieldOwner:
        """Return the entry of this manager."""
        return FieldOwner(self.manager or "unknown", operation, self.versions.request, self.subresource, fields, time)


def update_managed_fields(
    old: Manifest | None,
    new: Manifest,
    schema: Schema,
    manager: str,
    api_version: str,
    subresource: str,
    now: str,
    *,
    reset: Reset = RESET_NOTHING,
    other_versions: OtherVersions | None = None,
) -> Manifest:
    """Return the new object with the managedFields that it has after this create, update or patch (but not apply).

    Args:
        old: what is stored; None when the object is created.
        now: RFC 3339, in whole seconds.
        reset: the fields that this endpoint does not let anybody change.
        other_versions: the other versions of the kind.
    """
    write = FieldWrite(ObjectVersions(api_version, schema, other_versions), manager, subresource, now, reset)
    live = empty_object(schema) if old is None else old
    bare = without_entries(new)
    if old is None and _entries(new) is None:
        return _created(live, bare, write)
    try:
        changes = Changes(without_entries(live), bare, write.versions, reset)
        _check_reset(changes.all, bare, write)
        if changes.own.is_same and _entries(new) is not None and _entries(new) is _entries(live):
            return new
        owners = _known_owners(live, new, write)
        if not owners and uid_of(live):
            return bare  # managedFields were cleared; they begin again with the first apply
        owners = updated(owners, changes, write)
    except (ItemError, Misfit):
        return bare  # an object that cannot be read by its schema is better stored without them than not at all
    return with_entries(new, bare, entries_of(owners.values(), write.versions.schema_of))


_fields_by_form: Final = FieldsByForm()


def _created(empty: Manifest, new: Manifest, write: FieldWrite) -> Manifest:
    """Return a new object that comes without managedFields with its first entry."""

    def find() -> Fields:
        changes = Changes(empty, new, write.versions, write.reset)
        _check_reset(changes.all, new, write)
        return _changed(changes)

    try:
        fields = _fields_by_form.of(new, write.versions.schema, write.reset, find)
    except (ItemError, Misfit):
        return new  # without them, as any write that cannot be read by its schema
    owners = [write.owner(UPDATE, fields, write.now)] if fields else []
    return with_entries(new, new, entries_of(owners, write.versions.schema_of))


def _check_reset(changes: Comparison, new: Manifest, write: FieldWrite) -> None:
    """Look whether what is reset later fits its schema; nobody validates it, but the real server reads it here."""
    for element in write.reset.fields:
        if element in changes.modified or element in changes.added:
            check_types(new[element[2:]], child_of(write.versions.schema, element[2:]))


def _known_owners(live: Manifest, new: Manifest, write: FieldWrite) -> dict[Name, FieldOwner]:
    """Return the owners before the write: those that the writer sent, if they make sense, else the stored ones."""
    sent = _entries(new)
    if not write.subresource and sent is not _entries(live):
        if sent == [] or sent == [{}]:
            return {}
        try:
            if owners := read(sent, write.versions.schema_of):
                return owners
        except UnreadableOwners:
            pass
    try:
        return read(_entries(live), write.versions.schema_of)
    except UnreadableOwners:
        return {}


def updated(owners: dict[Name, FieldOwner], changes: Changes, write: FieldWrite) -> dict[Name, FieldOwner]:
    """Return the owners after an object has been changed."""
    own = changes.own
    if own.is_same:
        return owners
    after = {left.name: left for left in without_taken_fields(owners.values(), changes) if left.fields}
    mine = _changed(changes)
    if mine:
        owner = write.owner(UPDATE, mine, write.now)
        if (before := after.get(owner.name)) is not None:
            owner = before.owning(union(before.fields, mine)).at(write.now)
        after[owner.name] = owner
    return capped(after)


def _changed(changes: Changes) -> Fields:
    """Return the fields that become the writer's own."""
    return difference(union(changes.own.modified, changes.own.added), UNOWNED)


def without_taken_fields(owners: Iterable[FieldOwner], changes: Changes) -> Iterator[FieldOwner]:
    """Return owners without the fields that another has changed or removed, each in its own version."""
    for owner in owners:
        taken = changes.of(owner.api_version)
        if taken is not None:
            yield _bereft(owner, taken)


def _bereft(owner: FieldOwner, changes: Comparison) -> FieldOwner:
    fields = owner.fields
    for taken in changes:
        if taken and (lost := intersection(fields, taken)):
            fields = difference(fields, lost)
    return owner.owning(fields)


def capped(owners: dict[Name, FieldOwner]) -> dict[Name, FieldOwner]:
    """Return the owners with the oldest updaters of each version joined, until they are few enough."""
    updaters = [owner for owner in owners.values() if owner.operation != APPLY]
    if len(updaters) <= MOST_UPDATERS:
        return owners
    after = dict(owners)
    surplus = len(updaters) - MOST_UPDATERS
    oldest: dict[str, FieldOwner] = {}
    for owner in sorted(updaters, key=lambda owner: (owner.time, name_in_order(owner.name))):
        joined = FieldOwner(ANCIENT, UPDATE, owner.api_version, "", owner.fields, owner.time)
        if surplus and oldest.setdefault(owner.api_version, owner) is not owner and owner.name != joined.name:
            before = after.get(joined.name) or after.pop(oldest[owner.api_version].name)
            del after[owner.name]
            after[joined.name] = joined.owning(union(owner.fields, before.fields))
            surplus -= 1
    return after


def keep_times_of_no_change(old: Manifest, new: Manifest) -> Manifest:
    """Return the old object if the new one differs from it only in the times of its managedFields."""
    if old is new or not _entries(new):
        return new
    if without_entries(old) != without_entries(new) or _timeless(_entries(old)) != _timeless(_entries(new)):
        return new
    return old


def _timeless(entries: Any) -> list[Manifest]:
    return [{key: value for key, value in entry.items() if key != "time"} for entry in entries or ()]


def _entries(obj: Manifest) -> Any:
    return (obj.get("metadata") or NOTHING).get("managedFields")


def uid_of(obj: Manifest) -> str:
    """Return the uid; empty for what is not stored yet."""
    return (obj.get("metadata") or NOTHING).get("uid") or ""


def without_entries(obj: Manifest) -> Manifest:
    """Return the object without its managedFields."""
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def with_entries(obj: Manifest, bare: Manifest, entries: list[Manifest]) -> Manifest:
    """Return the object with these managedFields; itself where it has them already."""
    if not entries:
        return bare
    if _entries(obj) == entries:
        return obj
    return {**bare, "metadata": {**(bare.get("metadata") or NOTHING), "managedFields": entries}}


@cache
def empty_object(schema: Schema) -> Manifest:
    """Return the fields that an object of a built-in kind has without anybody setting them.

    Go writes some fields always, empty or null, as `{"spec": {"containers": None}, "status": {}}` of a Pod. So whoever
    creates a Pod sets what is in its containers, but not that there are containers. Custom kinds have nothing of the
    sort.
    """
    return normalising.empty_object(schema.name) if schema.name else {}
