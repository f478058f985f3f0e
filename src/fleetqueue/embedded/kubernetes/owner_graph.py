"""Who owns whom, over all kinds, as the objects themselves say, and who has to be looked at after a change.

Most objects of a cluster never concern the garbage collector. Only these do: one that names an owner whom nobody knows,
one whose owner waits for its dependents to go, and one that is itself to be deleted together with, or apart from, its
dependents.
"""

from collections.abc import Iterable, Sequence
from types import new_class
from typing import Any, ClassVar, Final, cast

from fleetqueue.api.meta import Object, OwnerReference
from fleetqueue.api.scheme import Manifest, Resource

FOREGROUND: Final = "foregroundDeletion"
"""Finalizer of an owner that goes after its dependents."""
ORPHAN: Final = "orphan"
"""Finalizer of an owner whose dependents stay."""
KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "finalizers", "ownerReferences")


class OwnedObject(Object):
    """An object of any kind, of which only the metadata is read; `owned_object_class` makes the class for one kind."""

    keeps_raw: ClassVar[bool] = False

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        metadata = raw["metadata"]
        return {"metadata": {field: metadata[field] for field in KEPT if field in metadata}}

    @property
    def owners(self) -> Sequence[OwnerReference]:
        return self.metadata.owner_references

    @property
    def is_waiting(self) -> bool:
        """Whether it goes as soon as its dependents have gone."""
        return self.is_deleting and FOREGROUND in self.metadata.finalizers

    @property
    def is_leaving_orphans(self) -> bool:
        return self.is_deleting and ORPHAN in self.metadata.finalizers

    @property
    def id(self) -> str:
        """Who it is among all kinds: `pods default/web`."""
        return f"{self.resource} {self.key}"


def owner_facts(obj: OwnedObject) -> tuple[Any, ...]:
    """Return all of an object that garbage is known by: most changes of most objects leave it as it was."""
    metadata = obj.metadata
    return metadata.deletion_timestamp, metadata.finalizers, metadata.owner_references


def owned_object_class(resource: Resource) -> type[OwnedObject]:
    """Make the class of one kind."""
    body = {"resource": resource, "__annotations__": {"resource": ClassVar[Resource]}}
    return cast(
        type[OwnedObject],
        new_class(f"Owned{resource.kind}", (OwnedObject,), exec_body=lambda space: space.update(body)),
    )


class OwnerGraph:
    def __init__(self) -> None:
        self._by_uid: dict[str, OwnedObject] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        """From an owner's uid to the uids of what names it."""

    def get(self, uid: str) -> OwnedObject | None:
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> list[OwnedObject]:
        return [self._by_uid[dependent] for dependent in self._dependents.get(uid, ())]

    def change(self, old: OwnedObject | None, new: OwnedObject | None) -> list[OwnedObject]:
        """Take a change; return who has to be looked at."""
        if old is not None:
            self._forget(old)
        if new is not None:
            self._by_uid[new.uid] = new
            for owner in new.owners:
                self._dependents.setdefault(owner.uid, {})[new.uid] = None
        return list(self._concerned(old, new))

    def all_concerned(self) -> list[OwnedObject]:
        """Return who has to be looked at, of all there are."""
        return [obj for obj in self._by_uid.values() if self._concerns(obj)]

    def _concerned(self, old: OwnedObject | None, new: OwnedObject | None) -> Iterable[OwnedObject]:
        if new is not None and self._concerns(new):
            yield new
        for obj in (old, new):
            for owner in obj.owners if obj is not None else ():
                known = self._by_uid.get(owner.uid)
                if known is not None and known.is_waiting:
                    yield known
        is_end = old is not None and (new is None or new.uid != old.uid)
        if old is not None and is_end:
            yield from self.dependents(old.uid)
        if new is not None and new.is_waiting and not (old is not None and old.is_waiting):
            yield from self.dependents(new.uid)

    def _concerns(self, obj: OwnedObject) -> bool:
        if obj.is_waiting or obj.is_leaving_orphans:
            return True
        owners = [self._by_uid.get(owner.uid) for owner in obj.owners]
        return any(owner is None or owner.is_waiting or not _may_own(owner, obj) for owner in owners)

    def _forget(self, obj: OwnedObject) -> None:
        self._by_uid.pop(obj.uid, None)
        for owner in obj.owners:
            dependents = self._dependents.get(owner.uid, {})
            dependents.pop(obj.uid, None)
            if not dependents:
                self._dependents.pop(owner.uid, None)


def _may_own(owner: OwnedObject, obj: OwnedObject) -> bool:
    return owner.namespace in ("", obj.namespace)
