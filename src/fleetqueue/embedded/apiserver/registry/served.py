"""A resource that the server serves, built-in or custom: its names, its schema, its strategy, where it is stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.versions import OtherVersions
from fleetqueue.embedded.apiserver.registry.strategy import DEFAULT_STRATEGY, UNKNOWN_FIELD, Strategy
from fleetqueue.embedded.apiserver.storage import keys, refusals
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """One version of a resource, as requests name it."""

    resource: Resource
    schema: Schema
    strategy: Strategy = DEFAULT_STRATEGY
    list_kind: str = ""
    singular: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    verbs: Sequence[str] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    subresources: Sequence[str] = ()
    is_custom: bool = False
    scale: Mapping[str, str] | None = None
    """The paths of a custom kind's replicas, as in its definition; None where it has no scale."""
    columns: Sequence[Mapping[str, Any]] = ()
    """Printer columns of a custom kind."""
    place: tuple[str, str] | None = None
    """The group and plural under which objects are stored, where several APIs share one store."""
    to_store: Callable[[Manifest], Manifest] | None = None
    """From an object of this version to the stored one; None where they are the same."""
    from_store: Callable[[Manifest], Manifest] | None = None
    other_versions: OtherVersions | None = None
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

    def no_unique_name(self, name: str) -> errors.AlreadyExists:
        """Every generated name that was tried exists; the client may try again."""
        resource = self.resource
        message = (
            f'{resource} "{name}" already exists, the server was not able to generate a unique name for the object'
        )
        details = {"name": name, "group": resource.group, "kind": resource.plural, "retryAfterSeconds": 1}
        return errors.AlreadyExists(message, reason="AlreadyExists", details={k: v for k, v in details.items() if v})

    def conflict(self, name: str, why: str, *, kind: str = "") -> errors.Conflict:
        """An operation cannot be done on an object as it is; `kind` is for messages that do not name the plural."""
        group, kind = self.resource.group, kind or self.resource.plural
        message = f'Operation cannot be fulfilled on {f"{kind}.{group}" if group else kind} "{name}": {why}'
        details = {"name": name, "group": group, "kind": kind}
        return errors.Conflict(message, reason="Conflict", details={k: v for k, v in details.items() if v})

    def uid_conflict(self, uid: str, live: Manifest) -> errors.Conflict:
        """Another object is meant than the one with these metadata; in the words of the real server's storage."""
        path = "/".join(filter(None, (self.resource.plural, live.get("namespace"), live["name"])))
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {live['uid']}"
        error = f"StorageError: invalid object, Code: 4, Key: /registry/{path}, ResourceVersion: 0"
        return self.conflict(live["name"], f"{error}, AdditionalErrorMsg: {why}")

    def as_served(self, entry: StorageEntry) -> StorageEntry:
        """Return a stored entry in this version."""
        if self.from_store is None:
            return entry
        converted = self.from_store(entry.object)
        return entry if converted is entry.object else StorageEntry(entry.key, converted, entry.revision)

    def as_stored(self, obj: Manifest) -> Manifest:
        return obj if self.to_store is None else self.to_store(obj)

    def select(self, path: str) -> Callable[[Manifest], str] | None:
        """Return how a field selector reads a field; None where it may not."""
        if path == "metadata.name":
            return lambda obj: str(obj["metadata"]["name"])
        selectable = self.strategy.selectable
        if path == "metadata.namespace" and (self.resource.namespaced or selectable.refusal is UNKNOWN_FIELD):
            return lambda obj: str(obj["metadata"].get("namespace", ""))
        return selectable.readers.get(path)
