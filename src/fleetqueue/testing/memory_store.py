"""Objects as an API server keeps them: versions, generations, finalizers, and a history for watches."""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest

NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
LABEL_KEY: Final = re.compile(r"([a-z0-9][-a-z0-9.]{0,251}[a-z0-9]?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
SERVER_OWNED: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
"""The metadata that no client can change."""


@dataclass(frozen=True, slots=True)
class Change:
    revision: int
    collection: str
    before: Manifest | None
    after: Manifest | None
    """None after a deletion; `last` is then the object's last state."""
    last: Manifest


class MemoryStore:
    """Stored objects are never changed, and leave only as copies (`copied`)."""

    def __init__(self) -> None:
        self.revision = 1
        self.compacted = 0
        """Watches from a revision below this one have expired."""
        self.changes: list[Change] = []
        self.on_change: Callable[[Change], None] = lambda change: None
        self._objects: dict[str, dict[str, Manifest]] = {}

    def find(self, collection: str, key: str) -> Manifest | None:
        return self._objects.get(collection, {}).get(key)

    def get(self, collection: str, key: str) -> Manifest:
        found = self.find(collection, key)
        if found is None:
            raise errors.NotFound(f'{collection} "{key.rpartition("/")[2]}" not found')
        return found

    def all(self, collection: str) -> list[Manifest]:
        """Return a collection in the order of its keys."""
        return [obj for _, obj in sorted(self._objects.get(collection, {}).items())]

    def create(self, collection: str, manifest: Manifest) -> Manifest:
        metadata = dict(manifest.get("metadata") or {})
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + clock.suffix()
        validate(collection, metadata)
        key = key_of(metadata.get("namespace", ""), metadata["name"])
        if self.find(collection, key) is not None:
            raise errors.AlreadyExists(f'{collection} "{metadata["name"]}" already exists', reason="AlreadyExists")
        fresh = {"uid": new_uid(), "creationTimestamp": conditions.timestamp(clock.now()), "generation": 1}
        metadata = {**fresh, **metadata}
        return self._commit(collection, key, None, {**manifest, "metadata": metadata})

    def update(self, collection: str, key: str, wanted: Manifest) -> Manifest:
        """Store what an object has become; nothing happens where nothing differs."""
        live = self.get(collection, key)
        metadata = dict(wanted["metadata"])
        for field in SERVER_OWNED:
            metadata.pop(field, None)
        metadata |= {field: live["metadata"][field] for field in SERVER_OWNED if field in live["metadata"]}
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
        validate(collection, metadata, live["metadata"])
        wanted = {**wanted, "metadata": metadata}
        if wanted == live:
            return live
        if _body(wanted) != _body(live):
            metadata["generation"] += 1
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            return self._commit(collection, key, live, None, last=wanted)
        return self._commit(collection, key, live, wanted)

    def delete(self, collection: str, key: str, preconditions: Manifest) -> Manifest:
        """Remove an object, or mark it where finalizers still hold it."""
        live = self.get(collection, key)
        check_preconditions(collection, live, preconditions)
        metadata = live["metadata"]
        if not metadata.get("finalizers"):
            return self._commit(collection, key, live, None, last=live)
        if "deletionTimestamp" in metadata:
            return live
        marks = {"deletionTimestamp": conditions.timestamp(clock.now()), "deletionGracePeriodSeconds": 0}
        marked = {**metadata, **marks, "generation": metadata["generation"] + 1}
        return self._commit(collection, key, live, {**live, "metadata": marked})

    def compact(self) -> None:
        """Forget the past: who watches from an older revision must list again."""
        self.compacted = self.revision
        self.changes.clear()

    def _commit(
        self, collection: str, key: str, before: Manifest | None, after: Manifest | None, last: Manifest | None = None
    ) -> Manifest:
        self.revision += 1
        shown = after or last or {}
        shown = {**shown, "metadata": {**shown["metadata"], "resourceVersion": str(self.revision)}}
        objects = self._objects.setdefault(collection, {})
        if after is None:
            del objects[key]
        else:
            objects[key] = shown
        change = Change(self.revision, collection, before, shown if after else None, shown)
        self.changes.append(change)
        self.on_change(change)
        return shown


def check_preconditions(collection: str, live: Manifest, wanted: Manifest) -> None:
    """Refuse a deletion that was meant for another object of this name, or for an older version of it."""
    uid, metadata = wanted.get("uid"), live["metadata"]
    if uid and uid != metadata["uid"]:
        why = f"UID in precondition: {uid}, UID in object meta: {metadata['uid']}"
        raise _conflict(collection, live, f"Precondition failed: {why}")
    if wanted.get("resourceVersion") not in (None, "", metadata["resourceVersion"]):
        raise _conflict(collection, live, "the ResourceVersion in the precondition does not match")


def check_identity(collection: str, live: Manifest, wanted: Manifest) -> None:
    """Refuse a patch that was meant for an older version of an object, or for another object of this name."""
    if wanted.get("resourceVersion") not in (None, "", live["metadata"]["resourceVersion"]):
        raise _conflict(
            collection, live, "the object has been modified; please apply your changes to the latest version"
        )
    if wanted.get("uid") not in (None, "", live["metadata"]["uid"]):
        cause = {"reason": "FieldValueInvalid", "field": "metadata.uid", "message": "field is immutable"}
        message = f'{collection} "{live["metadata"]["name"]}" is invalid: metadata.uid: field is immutable'
        raise errors.Invalid(message, details={"causes": [cause]})


def _conflict(collection: str, live: Manifest, why: str) -> errors.Conflict:
    return errors.Conflict(f'Operation cannot be fulfilled on {collection} "{live["metadata"]["name"]}": {why}')


def validate(collection: str, metadata: Manifest, live: Manifest | None = None) -> None:
    """Refuse names, labels and annotations that Kubernetes refuses, and new finalizers on a dying object."""
    name = metadata.get("name")
    if not name:
        raise errors.Invalid(
            f"{collection} is invalid: metadata.name: Required value: name or generateName is required"
        )
    wrong = [f"metadata.name: {name!r}"] if not _is_name(collection, str(name)) else []
    for key, value in (metadata.get("labels") or {}).items():
        if not (LABEL_KEY.fullmatch(key) and isinstance(value, str) and LABEL_VALUE.fullmatch(value)):
            wrong.append(f"metadata.labels: {key}={value!r}")
    for key, value in (metadata.get("annotations") or {}).items():
        if not (LABEL_KEY.fullmatch(key) and isinstance(value, str)):
            wrong.append(f"metadata.annotations: {key}={value!r}")
    if live and "deletionTimestamp" in live and set(metadata.get("finalizers") or ()) - set(live["finalizers"]):
        wrong.append("metadata.finalizers: no new finalizers can be added if the object is being deleted")
    if wrong:
        raise errors.Invalid(f'{collection} "{name}" is invalid: {"; ".join(wrong)}')


def copied(value: Any) -> Any:
    """Copy by way of JSON, as a real request would; what is no JSON fails here."""
    return orjson.loads(orjson.dumps(value))


def new_uid() -> str:
    return str(uuid.UUID(int=int(clock.between(0, 2**128 - 1)), version=4))


def _is_name(collection: str, name: str) -> bool:
    if collection.endswith(".rbac.authorization.k8s.io"):
        return "/" not in name and "%" not in name
    return NAME.fullmatch(name) is not None and ".." not in name


def _body(manifest: Manifest) -> Manifest:
    return {field: value for field, value in manifest.items() if field not in ("metadata", "status")}
