"""What every object has: metadata, a place in the API, and a typed view for reading.

Views are only ever decoded, never changed or encoded: they forget the fields that they do not model. What is absent
therefore simply reads as empty. Writes are dicts.
"""

from datetime import datetime
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import msgspec

from fleetqueue.api.scheme import Manifest, Resource


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _ViewMeta(msgspec.StructMeta):
    """Tells type checkers that every view is frozen without each having to say so; msgspec inherits it anyway."""


class View(msgspec.Struct, metaclass=_ViewMeta, kw_only=True, frozen=True, gc=False, rename="camel"):
    """A part of an object, for reading. Frozen, so that a default such as `Spec()` can be shared.

    Views hold no cycles, so that garbage collection need not look at them: with 50,000 objects in a cache, each of its
    full rounds would take a quarter of a second.
    """


class OwnerReference(View):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Object(View):
    """A kind; subclasses name their resource and the fields that somebody reads."""

    resource: ClassVar[Resource]
    keeps_raw: ClassVar[bool] = True
    """Whether caches keep objects of this kind as they came, beside the view. Who compares them with what is wanted
    needs that; of a kind that has very many objects and is only read, what `kept` returns is enough."""

    metadata: ObjectMeta

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone where there is no namespace."""
        metadata = self.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name

    @property
    def is_deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The object that made this one and answers for it."""
        for owner in self.metadata.owner_references:  # a plain loop, since it is asked at every change
            if owner.controller:
                return owner
        return None

    def __str__(self) -> str:
        return f'{self.resource.kind} "{self.key}"'

    @classmethod
    def view(cls, raw: Manifest) -> Self:
        """Decode; Go writes some empty lists as null, which then read as empty."""
        try:
            return msgspec.convert(raw, cls)
        except msgspec.ValidationError:
            return msgspec.convert(without_nulls(raw), cls)

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Drop what nobody reads from memory before an object is cached."""
        metadata = raw.get("metadata", {})
        if "managedFields" in metadata:
            raw = {**raw, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}
        return raw

    @property
    def precondition(self) -> Manifest:
        """The metadata of a write that must be a Conflict if this is another object, or has changed."""
        return {"uid": self.uid, "resourceVersion": self.metadata.resource_version}

    @classmethod
    def kept(cls, raw: Manifest) -> Self:
        """Return what a cache keeps of an object, where it does not keep the object itself."""
        return cls.view(cls.trim(raw))

    @classmethod
    def manifest(
        cls,
        name: str,
        namespace: str = "",
        *,
        labels: dict[str, Any] | None = None,
        annotations: dict[str, Any] | None = None,
        **body: Any,
    ) -> Manifest:
        """Build an object of this kind, to be written."""
        metadata: Manifest = {"name": name}
        if namespace:
            metadata["namespace"] = namespace
        if labels:
            metadata["labels"] = labels
        if annotations:
            metadata["annotations"] = annotations
        return {"apiVersion": cls.resource.api_version, "kind": cls.resource.kind, "metadata": metadata, **body}


O = TypeVar("O", bound=Object)  # noqa: E741 - reads as "object"


def key_of(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def time_of_write(answer: Manifest) -> datetime | None:
    """Return when, by the server's clock, an object was last written; None where the server does not say."""
    entries = answer["metadata"].get("managedFields") or ()
    times = [datetime.fromisoformat(entry["time"]) for entry in entries if entry.get("time")]
    return max(times, default=None)


def split_key(key: str) -> tuple[str, str]:
    """Return (namespace, name)."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def precondition_of(metadata: Manifest) -> Manifest:
    """Return `Object.precondition` for an object as the API gives it."""
    return {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}


def without_nulls(value: Any) -> Any:
    """Drop every null member, at any depth."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(v) for v in value]
    return value


def owner_reference(resource: Resource, name: str, uid: str) -> Manifest:
    """Say with which object another one is deleted."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, "name": name, "uid": uid}


def controller_reference(resource: Resource, name: str, uid: str) -> Manifest:
    """Say which object made another and answers for it; its deletion can wait for that of the other."""
    return {**owner_reference(resource, name, uid), "controller": True, "blockOwnerDeletion": True}


def changes(live: Any, wanted: Manifest) -> Manifest:
    """Return the merge patch that gives `live` every field of `wanted`; empty if it has them all.

    A wanted None means: must not be there. Fields that are not wanted are left alone; an empty map wants nothing.
    """
    patch: Manifest = {}
    for field, value in wanted.items():
        have = live.get(field) if isinstance(live, dict) else None
        if isinstance(value, dict):
            inner = changes(have, value)
            if inner:
                patch[field] = inner
        elif have != value:
            patch[field] = value
    return patch


def replacement(live: Manifest, wanted: Manifest) -> Manifest:
    """Return the merge patch that makes `wanted` of `live`, with nothing else left; empty where they are equal."""
    patch: Manifest = {field: None for field in live if field not in wanted}
    for field, value in wanted.items():
        have = live.get(field)
        if isinstance(value, dict) and isinstance(have, dict):
            if inner := replacement(have, value):
                patch[field] = inner
        elif have != value:
            patch[field] = value
    return patch
