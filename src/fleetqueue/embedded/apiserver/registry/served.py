"""A resource that the server serves, built-in or custom: where it lives, what shape it has, how it behaves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import Cause
from fleetqueue.embedded.apiserver.kinds.names import NameRule, subdomain
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.versions import Faces
from fleetqueue.embedded.apiserver.storage import keys, refusals
from fleetqueue.embedded.apiserver.storage.interface import Entry

UNKNOWN_FIELD: Final = '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'
UNSUPPORTED_FIELD: Final = "field label not supported: {}"


def _read_as_it_is(obj: Manifest, known: Manifest | None) -> tuple[Manifest, Sequence[str]]:
    return obj, ()


def _as_it_is(obj: Manifest) -> Manifest:
    return obj


def _no_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return ()


@dataclass(frozen=True, slots=True)
class Part:
    """A subresource that is a part of the stored object."""

    keep: Callable[[Manifest, Manifest], Manifest]
    """From the object that came and the one that is there to the one that a write through this endpoint makes."""
    faults: Callable[[Manifest, Manifest | None], Sequence[Cause]] = _no_faults
    counts_changes: bool = True
    """Whether another spec is another generation."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a kind differs from the others. Functions never change what they are given."""

    name_rule: NameRule = subdomain
    has_generation: bool = True
    knows_finalizers: bool = False
    """Whether a finalizer must say whose it is, or be one that Kubernetes itself uses."""
    read: Callable[[Manifest, Manifest | None], tuple[Manifest, Sequence[str]]] = _read_as_it_is
    """Makes an object of this kind from what came, and says which of its fields are not known; raises Unreadable.
    What is the very same in the object that is there needs no second look."""
    default: Callable[[Manifest], Manifest] = _as_it_is
    """Fills in what may be left out, after `read`."""
    prepare: Callable[[Manifest, Manifest | None, User], Manifest] | None = None
    """Sets what clients may not: on create (old is None), and on update of the main resource."""
    faults: Callable[[Manifest, Manifest | None], Sequence[Cause]] = _no_faults
    status_faults: Callable[[Manifest, Manifest | None], Sequence[Cause]] | None = None
    """The rules for a write to the status, where they are others."""
    warnings: Callable[[Manifest, Manifest | None], Sequence[str]] | None = None
    """What is allowed and odd, and told to who creates an object or updates it."""
    parts: Mapping[str, Part] = field(default_factory=dict)
    """What a write through another subresource changes."""
    counts_changes: bool = True
    """Whether another spec is another generation."""
    counts_metadata: Sequence[str] = ()
    """The parts of the metadata that count as well: labels, annotations."""
    new_status: Manifest | None = None
    """The status that an object begins with; None where it begins without one."""
    keeps_new_status: bool = False
    """Whether who creates an object may say its status at once."""
    fields: Mapping[str, Callable[[Manifest], str]] = field(default_factory=dict)
    """What field selectors can ask, beside name and namespace."""
    unknown_field: str = UNKNOWN_FIELD
    """How a selector by another field is refused."""
    updates_blindly: bool = True
    """Whether an update without a resourceVersion overwrites."""
    creates_on_update: bool = False
    grace: Callable[[Manifest, int | None], int] | None = None
    """Returns the seconds until a deleted object may go; None where it may at once."""
    dying: Callable[[Manifest], Manifest] | None = None
    """Changes an object when its deletion is asked for the first time."""
    is_held: Callable[[Manifest], bool] | None = None
    """Tells whether a deleted object stays for another reason than its finalizers."""
    orphans_by_default: bool = False
    deletion_warning: str = ""
    """What is told to who deletes an object without saying what becomes of its dependents."""
    answers_deleted: bool = False
    """Whether a deletion answers the object even when it is gone at once."""
    status_keeps: Sequence[str] = ()
    """The parts of the metadata that a write to the status leaves alone."""
    keeps_status_metadata: bool = False
    """Whether a write to the status leaves the metadata alone, as for custom kinds."""


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """One version of a resource, as requests name it."""

    resource: Resource
    schema: Schema
    strategy: Strategy = Strategy()
    list_kind: str = ""
    singular: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    verbs: Sequence[str] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    subresources: Sequence[str] = ()
    is_custom: bool = False
    scale: Mapping[str, str] | None = None
    """Where a custom kind has its replicas, by the words of its definition; None where it has no scale."""
    columns: Sequence[Mapping[str, Any]] = ()
    """Printer columns of a custom kind."""
    place: tuple[str, str] | None = None
    """The group and plural under which objects are stored, where several faces share one store."""
    to_store: Callable[[Manifest], Manifest] | None = None
    """From this face of an object to the stored one; None where they are the same."""
    from_store: Callable[[Manifest], Manifest] | None = None
    faces: Faces | None = None
    """How the owners of fields of other versions see an object of this one; None where versions do not differ."""
    stored_version: str = ""
    """The version in which objects of a custom kind are stored."""
    deprecation: str = ""
    """The warning that goes with every answer of a deprecated version."""

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    def key(self, namespace: str, name: str) -> str:
        group, plural = self.place or (self.resource.group, self.resource.plural)
        return keys.key_of(group, plural, namespace, name)

    def prefix(self, namespace: str = "") -> str:
        group, plural = self.place or (self.resource.group, self.resource.plural)
        return keys.prefix_of(group, plural, namespace)

    def not_found(self, name: str) -> errors.NotFound:
        return refusals.not_found(keys.key_of(self.resource.group, self.resource.plural, "", name))

    def already_exists(self, name: str) -> errors.AlreadyExists:
        return refusals.already_exists(keys.key_of(self.resource.group, self.resource.plural, "", name))

    def shown(self, entry: Entry) -> Entry:
        """Return a stored entry with the face of this resource."""
        if self.from_store is None:
            return entry
        face = self.from_store(entry.object)
        return entry if face is entry.object else Entry(entry.key, face, entry.revision)

    def stored(self, obj: Manifest) -> Manifest:
        return obj if self.to_store is None else self.to_store(obj)

    def select(self, path: str) -> Callable[[Manifest], str] | None:
        """Return how a field selector reads a field; None where it may not."""
        if path == "metadata.name":
            return lambda obj: str(obj["metadata"]["name"])
        if path == "metadata.namespace" and (self.resource.namespaced or self.strategy.unknown_field is UNKNOWN_FIELD):
            return lambda obj: str(obj["metadata"].get("namespace", ""))
        return self.strategy.fields.get(path)
