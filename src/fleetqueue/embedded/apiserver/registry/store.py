"""Create, change and delete objects: the same steps for every kind, with each kind's own strategy.

A change is a function from the live object to the new one, so that it can be tried again on a newer version. Between
reading the live object and handing the new one to the storage nothing else happens, unless admission waits.
"""

from collections.abc import Callable
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import AdmissionRequest, Link, Operation
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid, invalid_value
from fleetqueue.embedded.apiserver.patching.managed_fields import keep_times_of_no_change, update_managed_fields
from fleetqueue.embedded.apiserver.patching.reset_fields import Reset, reset_fields
from fleetqueue.embedded.apiserver.registry import deletion
from fleetqueue.embedded.apiserver.registry.deletion import DeleteOptions
from fleetqueue.embedded.apiserver.registry.served import MODIFIED, Served
from fleetqueue.embedded.apiserver.registry.shaping import (
    STATUS,
    check_has_name,
    with_generated_name,
    with_generation,
    with_identity_of_path,
    with_kept_fields,
    with_system_fields,
    without_system_fields,
    without_version,
)
from fleetqueue.embedded.apiserver.registry.strategy import Validate
from fleetqueue.embedded.apiserver.registry.writes import Write, decoded, is_merged
from fleetqueue.embedded.apiserver.storage.interface import Storage, StorageEntry
from fleetqueue.embedded.apiserver.validation import metadata as metadata_rules
from fleetqueue.embedded.apiserver.validation.metadata import NO_METADATA

Change = Callable[[Manifest | None], Manifest]
"""From the live object (None where there is none) to the new one."""

SCALE: Final = "scale"
MOST_TRIES: Final = 5
"""How often a change that names no version is tried again when others are faster."""
MOST_GENERATED_NAMES: Final = 8


class RegistryStore:
    def __init__(self, storage: Storage, admission: Link) -> None:
        self.storage = storage
        self.admission = admission

    async def create(self, served: Served, namespace: str, obj: Manifest, write: Write) -> StorageEntry:
        """Store a new object; a name that the server makes up is tried again while it is taken."""
        obj = with_identity_of_path(served, namespace, decoded(served, obj, None, write))
        tries = MOST_GENERATED_NAMES if obj["metadata"].get("generateName") else 1
        for _ in range(tries):
            named = with_generated_name(obj)
            try:
                return await self._create(served, named, write)
            except errors.AlreadyExists:
                if obj["metadata"].get("name") or not obj["metadata"].get("generateName"):
                    raise
        raise served.no_unique_name(named["metadata"]["name"])

    async def update(
        self, served: Served, namespace: str, name: str, change: Change, write: Write
    ) -> tuple[StorageEntry, bool]:
        """Change an object; return it, and whether it is new."""
        key = served.key(namespace, name)
        for attempt in range(MOST_TRIES):
            head = self.storage.head(key)
            live = None if head is None else served.as_served(head)
            old = None if live is None else live.object
            after = decoded(served, change(old), old, write)
            check_has_name(after, name)
            if live is None:
                _check_new_uid(served, namespace, name, after, write)
                made = without_version(with_identity_of_path(served, namespace, after, name))
                return await self._create(served, made, write), True
            # A patch has the version of what it is put on; if that grew old, it is put on the newer one.
            is_bound = _check_version(served, after, live.object, write) and write.patch is None and not write.is_apply
            try:
                return await self._update(
                    served, with_identity_of_path(served, namespace, after, name), live, write
                ), False
            except errors.Conflict:
                if is_bound or attempt == MOST_TRIES - 1 or self.storage.head(key) is head:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def delete(
        self, served: Served, namespace: str, name: str, options: DeleteOptions, write: Write
    ) -> tuple[StorageEntry, bool]:
        """Delete an object; return it, and whether it is gone."""
        key = served.key(namespace, name)
        while True:
            live = served.as_served(self.storage.head(key) or self.storage.get(key))
            deletion.check_preconditions(served, live.object, options)
            await self._admit("DELETE", served, None, live.object, write)
            after = deletion.after_deletion(served, live.object, options, clock.now())
            if write.dry_run or after is live.object:
                return live if after is None else StorageEntry.of(key, after, live.revision), after is None
            try:
                if after is None:
                    return _gone(served, served.as_served(await self.storage.delete(key, expected=live.revision))), True
                changed = await self.storage.update(key, served.as_stored(after), expected=live.revision)
                return served.as_served(changed), False
            except errors.Conflict:
                if options.resource_version:
                    raise

    async def _create(self, served: Served, obj: Manifest, write: Write) -> StorageEntry:
        obj = with_system_fields(served, self._owned(served, without_system_fields(obj), None, write))
        obj = await self._admitted("CREATE", served, obj, None, write)
        if served.strategy.prepare is not None:
            obj = served.strategy.prepare(obj, None, write.user)
        _refuse_if_faulty(served, obj, None)
        _warn(served, obj, None, write)
        if is_merged(served, write):
            obj, _ = served.strategy.read(obj, None)
        key = served.key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if write.dry_run:
            if self.storage.head(key) is not None:
                await self.storage.create(key, obj)  # which refuses, in the right words
            return StorageEntry(key, obj, 0)
        if obj["metadata"].get("resourceVersion"):
            why = "resourceVersion should not be set on objects to be created"
            raise errors.BadRequest(why, reason="BadRequest")
        try:
            return served.as_served(await self.storage.create(key, served.as_stored(obj)))
        except errors.AlreadyExists:
            raise self._taken(served, key, obj["metadata"]["name"]) from None

    def _taken(self, served: Served, key: str, name: str) -> errors.AlreadyExists:
        error, there = served.already_exists(name), self.storage.head(key)
        if there is None or not there.object["metadata"].get("deletionTimestamp"):
            return error
        message = f"object is being deleted: {error.message}"
        return errors.AlreadyExists(message, reason=error.reason, details=error.details)

    async def _update(self, served: Served, obj: Manifest, live: StorageEntry, write: Write) -> StorageEntry:
        old = live.object
        obj = with_kept_fields(served, self._owned(served, obj, old, write), old, write.subresource)
        obj = await self._admitted("UPDATE", served, obj, old, write)
        if served.strategy.prepare is not None and not write.subresource:
            obj = served.strategy.prepare(obj, old, write.user)
        obj = with_generation(served, obj, old, write.subresource)
        _refuse_if_faulty(served, obj, old, write.subresource)
        _warn(served, obj, old, write)
        if is_merged(served, write):
            obj, _ = served.strategy.read(obj, old)
        obj = keep_times_of_no_change(old, obj)
        if obj is old or obj == old:
            await self.storage.reached(live.revision)
            return live
        if write.dry_run:
            return StorageEntry(live.key, obj, live.revision)
        if deletion.may_go(served, obj):
            await self.storage.delete(live.key, expected=live.revision)
            return StorageEntry(live.key, obj, live.revision)
        return served.as_served(await self.storage.update(live.key, served.as_stored(obj), expected=live.revision))

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
            AdmissionRequest(
                operation,
                served.resource,
                write.user,
                new,
                old,
                write.subresource,
                write.dry_run,
                write.warnings,
                write.path_name,
            )
        )

    def _owned(self, served: Served, obj: Manifest, old: Manifest | None, write: Write) -> Manifest:
        if write.is_apply or not write.owns:
            return obj
        return update_managed_fields(
            old,
            obj,
            served.schema,
            write.manager,
            served.resource.api_version,
            write.subresource,
            "" if write.subresource == SCALE else timestamp(clock.now()),  # nobody tells a Scale's owners the time
            reset=reset_by(served, write.subresource),
            other_versions=served.other_versions,
        )


def _gone(served: Served, entry: StorageEntry) -> StorageEntry:
    """Return what a deletion answers of an object that could have waited, and did not."""
    metadata = entry.object["metadata"]
    if served.strategy.deletion.grace is None:
        return entry
    after = {**metadata, "deletionGracePeriodSeconds": 0}
    if "deletionTimestamp" not in metadata:
        after["deletionTimestamp"] = timestamp(clock.now())
        after["generation"] = metadata.get("generation", 0) + 1
    return StorageEntry(entry.key, {**entry.object, "metadata": after}, entry.revision)


def reset_by(served: Served, subresource: str) -> Reset:
    """Return the fields that an endpoint does not let anybody change."""
    resource = served.resource
    return reset_fields(
        resource.group, resource.kind, subresource, is_custom=served.is_custom, has_status=served.has_status
    )


def _check_version(served: Served, new: Manifest, live: Manifest, write: Write) -> bool:
    """Refuse a change of another version or another object; tell whether it names one at all."""
    metadata = new.get("metadata") or {}
    given = metadata.get("resourceVersion") or ""
    given = "" if given == "0" else given
    if not given and not served.strategy.update.is_unconditional:
        fault = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(served.resource.plural, served.resource.group, live["metadata"]["name"], [fault])
    if given and given != live["metadata"]["resourceVersion"]:
        raise served.conflict(live["metadata"]["name"], MODIFIED)
    uid = metadata.get("uid")
    if uid and uid != live["metadata"]["uid"] and write.patch is None and not write.is_apply:
        raise served.uid_conflict(uid, live["metadata"])
    return bool(given)


def _check_new_uid(served: Served, namespace: str, name: str, obj: Manifest, write: Write) -> None:
    """Refuse to create what is meant to be there already."""
    uid = (obj.get("metadata") or {}).get("uid")
    if uid and write.is_apply:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise served.conflict(name, why)
    if uid:
        raise served.uid_conflict(uid, {"namespace": namespace, "name": name, "uid": ""})


def _refuse_if_faulty(served: Served, obj: Manifest, old: Manifest | None, subresource: str = "") -> None:
    resource, metadata = served.resource, obj["metadata"]
    problems: list[Cause] = metadata_rules.faults(
        metadata,
        namespaced=resource.namespaced,
        name_rule=served.strategy.name_rule,
        old=NO_METADATA if old is None else old["metadata"],
    )
    if served.strategy.qualifies_finalizers:
        problems += metadata_rules.unqualified_finalizers(metadata)
    if old is not None:
        problems += metadata_rules.change_faults(metadata, old["metadata"])
    problems += _faults_of(served, subresource)(obj, old)
    if problems:
        group = resource.group if served.place is None else served.place[0]
        raise invalid(resource.kind, group, metadata.get("name", ""), problems)


def _warn(served: Served, obj: Manifest, old: Manifest | None, write: Write) -> None:
    if served.strategy.warnings is not None and not write.subresource:
        write.warnings += served.strategy.warnings(obj, old)


def _faults_of(served: Served, subresource: str) -> Validate:
    strategy = served.strategy
    if subresource in strategy.subresources:
        return strategy.subresources[subresource].faults
    if subresource == STATUS and strategy.status.faults is not None:
        return strategy.status.faults
    return strategy.faults
