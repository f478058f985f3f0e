"""Create, change and delete objects: the same steps for every kind, with each kind's own strategy.

A change is a function from the live object to the new one, so that it can be tried again on a newer version. Between
reading the live object and handing the new one to the storage nothing else happens, unless admission waits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.admission.chain import Link, Operation, Review
from fleetqueue.apiserver.auth.users import User
from fleetqueue.apiserver.kinds.causes import Cause, invalid, invalid_value
from fleetqueue.apiserver.kinds.json_values import Unreadable
from fleetqueue.apiserver.patching.field_sets import Fields, of_paths
from fleetqueue.apiserver.patching.managed_fields import keep_times_of_no_change, update_managed_fields
from fleetqueue.apiserver.registry import deletion, generated_names
from fleetqueue.apiserver.registry.deletion import DeleteOptions
from fleetqueue.apiserver.registry.served import Served
from fleetqueue.apiserver.storage.interface import Entry, Storage
from fleetqueue.apiserver.validation import faults
from fleetqueue.apiserver.validation import metadata as metadata_rules

Change = Callable[[Manifest | None], Manifest]
"""From the live object (None where there is none) to the new one."""

STATUS: Final = "status"
STRICT, IGNORE = "Strict", "Ignore"
MOST_TRIES: Final = 5
"""How often a change that names no version is tried again when others are faster."""
STATUS_ONLY: Final = of_paths((STATUS,))


@dataclass(slots=True)
class Write:
    """One write: who, as which field manager, through which subresource; and what the client should be told."""

    user: User
    manager: str = ""
    subresource: str = ""
    dry_run: bool = False
    is_apply: bool = False
    """Whether the change has taken care of managedFields itself."""
    warnings: list[str] = field(default_factory=list)
    validation: str = ""
    """What is done about fields that are not known: Strict refuses, Ignore is silent, all else warns."""
    mistakes: Sequence[str] = ()
    """What else is wrong with the body and can be lived with."""
    patch: Callable[[Manifest], str] | None = None
    """How a refusal shows the patch that led to an object that cannot be read; None where there was no patch."""


class Store:
    def __init__(self, storage: Storage, admission: Link) -> None:
        self.storage = storage
        self.admission = admission

    async def create(self, served: Served, namespace: str, obj: Manifest, write: Write) -> Entry:
        """Store a new object; a name that the server makes up is tried again while it is taken."""
        obj = _placed(served, namespace, understood(served, obj, None, write))
        if obj["metadata"].get("resourceVersion"):
            raise errors.ServerError("resourceVersion should not be set on objects to be created")
        tries = generated_names.MOST_TRIES if obj["metadata"].get("generateName") else 1
        for _ in range(tries):
            named = generated_names.with_name(obj)
            try:
                return await self._create(served, named, write)
            except errors.AlreadyExists:
                if obj["metadata"].get("name") or not obj["metadata"].get("generateName"):
                    raise
        raise generated_names.exhausted(served, named["metadata"]["name"])

    async def update(
        self, served: Served, namespace: str, name: str, change: Change, write: Write
    ) -> tuple[Entry, bool]:
        """Change an object; return it, and whether it is new."""
        key = served.key(namespace, name)
        for attempt in range(MOST_TRIES):
            head = self.storage.head(key)
            live = None if head is None else served.shown(head)
            old = None if live is None else live.object
            new = understood(served, change(old), old, write)
            if live is None:
                return await self._create(served, _placed(served, namespace, new, name), write), True
            # A patch has the version of what it is put on; if that grew old, it is put on the newer one.
            is_bound = _check_version(served, new, live.object, write) and write.patch is None and not write.is_apply
            try:
                return await self._update(served, _placed(served, namespace, new, name), live, write), False
            except errors.Conflict:
                if is_bound or attempt == MOST_TRIES - 1 or self.storage.head(key) is head:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def delete(
        self, served: Served, namespace: str, name: str, options: DeleteOptions, write: Write
    ) -> tuple[Entry, bool]:
        """Delete an object; return it, and whether it is gone."""
        key = served.key(namespace, name)
        while True:
            live = served.shown(self.storage.head(key) or self.storage.get(key))
            deletion.check_preconditions(served, live.object, options)
            await self._admit("DELETE", served, None, live.object, write)
            after = deletion.marked(served, live.object, options, clock.now())
            if write.dry_run or after is live.object:
                return live if after is None else Entry.of(key, after, live.revision), after is None
            try:
                if after is None:
                    return _gone(served.shown(await self.storage.delete(key, expected=live.revision))), True
                changed = await self.storage.update(key, served.stored(after), expected=live.revision)
                return served.shown(changed), False
            except errors.Conflict:
                if options.resource_version:
                    raise

    async def _create(self, served: Served, obj: Manifest, write: Write) -> Entry:
        obj = self._owned(served, _new(served, obj), None, write)
        obj = await self._admitted("CREATE", served, obj, None, write)
        if served.strategy.prepare is not None:
            obj = served.strategy.prepare(obj, None, write.user)
        _refuse_if_faulty(served, obj, None)
        key = served.key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if write.dry_run:
            if self.storage.head(key) is not None:
                await self.storage.create(key, obj)  # which refuses, in the right words
            return Entry(key, obj, 0)
        try:
            return served.shown(await self.storage.create(key, served.stored(obj)))
        except errors.AlreadyExists:
            raise served.already_exists(obj["metadata"]["name"]) from None

    async def _update(self, served: Served, obj: Manifest, live: Entry, write: Write) -> Entry:
        old = live.object
        obj = self._owned(served, _kept(served, obj, old, write.subresource), old, write)
        obj = await self._admitted("UPDATE", served, obj, old, write)
        if served.strategy.prepare is not None and not write.subresource:
            obj = served.strategy.prepare(obj, old, write.user)
        obj = _counted(served, obj, old, write.subresource)
        _refuse_if_faulty(served, obj, old, write.subresource)
        obj = keep_times_of_no_change(old, obj)
        if obj is old or obj == old:
            await self.storage.reached(live.revision)
            return live
        if write.dry_run:
            return Entry(live.key, obj, live.revision)
        if deletion.may_go(served, obj):
            await self.storage.delete(live.key, expected=live.revision)
            return Entry(live.key, obj, live.revision)
        return served.shown(await self.storage.update(live.key, served.stored(obj), expected=live.revision))

    async def _admitted(
        self, operation: Operation, served: Served, obj: Manifest, old: Manifest | None, write: Write
    ) -> Manifest:
        admitted = await self._admit(operation, served, obj, old, write)
        assert admitted is not None
        return admitted

    async def _admit(
        self, operation: Operation, served: Served, new: Manifest | None, old: Manifest | None, write: Write
    ) -> Manifest | None:
        return await self.admission.admit(
            Review(operation, served.resource, write.user, new, old, write.subresource, write.dry_run, write.warnings)
        )

    def _owned(self, served: Served, obj: Manifest, old: Manifest | None, write: Write) -> Manifest:
        if write.is_apply:
            return obj
        return update_managed_fields(
            old,
            obj,
            served.schema,
            write.manager,
            served.resource.api_version,
            write.subresource,
            timestamp(clock.now()),
            reset=reset_fields(served, write.subresource),
        )


def _gone(entry: Entry) -> Entry:
    """Return what a deletion answers of an object that waited no longer."""
    metadata = entry.object["metadata"]
    if not metadata.get("deletionGracePeriodSeconds"):
        return entry
    after = {**entry.object, "metadata": {**metadata, "deletionGracePeriodSeconds": 0}}
    return Entry(entry.key, after, entry.revision)


def understood(served: Served, obj: Manifest, known: Manifest | None, write: Write) -> Manifest:
    """Return what came as an object of its kind, with defaults; refuses what cannot be read."""
    strategy = served.strategy
    try:
        obj, unknown = strategy.read(obj, known)
    except Unreadable as error:
        raise _unreadable(served, obj, str(error), write) from error
    found = [*write.mistakes, *(f'unknown field "{path}"' for path in unknown)]
    if found and write.validation == STRICT:
        raise _unreadable(served, obj, f"strict decoding error: {', '.join(found)}", write)
    if write.validation != IGNORE:
        write.warnings += [warning for warning in found if warning not in write.warnings]
    return strategy.default(obj)


def _unreadable(served: Served, obj: Manifest, why: str, write: Write) -> errors.ApiError:
    if write.patch is not None:
        return invalid("", "", "", [faults.invalid("patch", write.patch(obj), why)])
    resource = served.resource
    message = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'
    return errors.BadRequest(message, reason="BadRequest")


def reset_fields(served: Served, subresource: str) -> Fields:
    """Return the fields that an endpoint does not let anybody change."""
    if subresource == STATUS:
        names = [name for name in served.schema.properties if name not in ("apiVersion", "kind", "metadata", STATUS)]
        return of_paths(*((name,) for name in names))
    return STATUS_ONLY if served.has_status else {}


def _placed(served: Served, namespace: str, obj: Manifest, name: str = "") -> Manifest:
    """Return the object with the type and the place that the path names; refuses one that contradicts it."""
    resource, metadata = served.resource, obj.get("metadata") or {}
    if metadata.get("namespace", namespace) not in ("", namespace):
        raise errors.BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request",
            reason="BadRequest",
        )
    if name and metadata.get("name", name) not in ("", name):
        why = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise errors.BadRequest(why, reason="BadRequest")
    after = dict(metadata)
    if namespace:
        after["namespace"] = namespace
    if name:
        after["name"] = name
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": after, **rest}


def _new(served: Served, obj: Manifest) -> Manifest:
    """Return a new object with what the server alone says: who it is, since when; and without a status."""
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation")
    }
    metadata |= {"uid": clock.uid(), "creationTimestamp": timestamp(clock.now())}
    metadata.setdefault("name", "")
    if served.strategy.has_generation:
        metadata["generation"] = 1
    after = {**obj, "metadata": metadata}
    if served.has_status and not served.strategy.keeps_new_status:
        after.pop(STATUS, None)
        if served.strategy.new_status is not None:
            after[STATUS] = served.strategy.new_status
    return after


def _kept(served: Served, obj: Manifest, old: Manifest, subresource: str) -> Manifest:
    """Return the new object with what a write through this endpoint cannot change."""
    metadata = _kept_metadata(obj["metadata"], old["metadata"])
    if subresource in served.strategy.parts:
        return served.strategy.parts[subresource].keep({**obj, "metadata": metadata}, old)
    if subresource == STATUS:
        if served.strategy.keeps_status_metadata:
            metadata = {**old["metadata"], "managedFields": metadata.get("managedFields")}
        rest = {key: value for key, value in old.items() if key not in ("metadata", STATUS)}
        after = {**rest, "metadata": metadata}
        return {**after, STATUS: obj[STATUS]} if STATUS in obj else after
    after = {**obj, "metadata": metadata}
    if served.has_status:
        after.pop(STATUS, None)
        if STATUS in old:
            after[STATUS] = old[STATUS]
    return after


def _kept_metadata(new: Manifest, old: Manifest) -> Manifest:
    after = {key: value for key, value in new.items() if key not in ("resourceVersion", "selfLink")}
    for name in ("generation", "creationTimestamp", "deletionTimestamp"):
        after.pop(name, None)
        if name in old:
            after[name] = old[name]
    for name in ("uid", "deletionGracePeriodSeconds"):
        if name in old:
            after.setdefault(name, old[name])
    after["resourceVersion"] = old["resourceVersion"]
    return after


def _counted(served: Served, obj: Manifest, old: Manifest, subresource: str) -> Manifest:
    """Return the object with the next generation, if more than metadata and status changed."""
    counts = served.strategy.parts.get(subresource, served.strategy).counts_changes
    if not served.strategy.has_generation or not counts or subresource == STATUS:
        return obj
    beside = ("metadata", STATUS) if served.has_status else ("metadata",)
    if all(obj.get(key) == old.get(key) for key in {*obj, *old} - set(beside)) and not _relabelled(served, obj, old):
        return obj
    generation = old["metadata"].get("generation", 0) + 1
    return {**obj, "metadata": {**obj["metadata"], "generation": generation}}


def _relabelled(served: Served, obj: Manifest, old: Manifest) -> bool:
    """Tell whether other metadata make another generation."""
    names = served.strategy.counts_metadata
    return any((obj["metadata"].get(name) or {}) != (old["metadata"].get(name) or {}) for name in names)


def _check_version(served: Served, new: Manifest, live: Manifest, write: Write) -> bool:
    """Refuse a change of another version or another object; tell whether it names one at all."""
    metadata = new.get("metadata") or {}
    given = metadata.get("resourceVersion") or ""
    if not given and not served.strategy.updates_blindly:
        fault = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(served.resource.plural, served.resource.group, live["metadata"]["name"], [fault])
    if given and given != live["metadata"]["resourceVersion"]:
        why = "the object has been modified; please apply your changes to the latest version and try again"
        raise deletion.conflict(served, live["metadata"]["name"], why)
    uid = metadata.get("uid")
    if uid and uid != live["metadata"]["uid"] and write.patch is None:
        raise deletion.conflict(served, live["metadata"]["name"], _another(served, uid, live["metadata"]))
    return bool(given)


def _another(served: Served, uid: str, live: Manifest) -> str:
    """Say that another object is meant, in the words in which the real server's storage does."""
    path = "/".join(filter(None, (served.resource.plural, live.get("namespace"), live["name"])))
    why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {live['uid']}"
    error = "StorageError: invalid object, Code: 4"
    return f"{error}, Key: /registry/{path}, ResourceVersion: 0, AdditionalErrorMsg: {why}"


def _refuse_if_faulty(served: Served, obj: Manifest, old: Manifest | None, subresource: str = "") -> None:
    resource, metadata = served.resource, obj["metadata"]
    found: list[Cause] = metadata_rules.faults(
        metadata, namespaced=resource.namespaced, name_rule=served.strategy.name_rule
    )
    if served.strategy.knows_finalizers:
        found += metadata_rules.unqualified_finalizers(metadata)
    if old is not None:
        found += metadata_rules.change_faults(metadata, old["metadata"])
    found += _faults_of(served, subresource)(obj, old)
    if found:
        group = resource.group if served.place is None else served.place[0]
        raise invalid(resource.kind, group, metadata.get("name", ""), found)


def _faults_of(served: Served, subresource: str) -> Callable[[Manifest, Manifest | None], Sequence[Cause]]:
    strategy = served.strategy
    if subresource in strategy.parts:
        return strategy.parts[subresource].faults
    if subresource == STATUS and strategy.status_faults is not None:
        return strategy.status_faults
    return strategy.faults
