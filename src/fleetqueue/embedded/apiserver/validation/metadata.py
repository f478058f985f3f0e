"""The rules that the metadata of every object keeps: names, labels, annotations, owners, finalizers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, required, too_long
from fleetqueue.embedded.apiserver.kinds.go_text import GoStruct
from fleetqueue.embedded.apiserver.kinds.names import NameRule, label, label_value, prefix_of, qualified_name

MOST_ANNOTATION_BYTES: Final = 256 * 1024
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
STANDARD_FINALIZERS: Final = (ORPHAN, FOREGROUND, "kubernetes")
OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
IMMUTABLE: Final = "field is immutable"
LONGEST_MANAGER: Final = 128
LONGEST_SUBRESOURCE: Final = 256
NO_METADATA: Final[Mapping[str, Any]] = {}
_NAMES: Final = ("name", "generateName", "namespace")


def faults(
    metadata: Mapping[str, Any], *, namespaced: bool, name_rule: NameRule, old: Mapping[str, Any] = NO_METADATA
) -> list[Cause]:
    """Return what is wrong with the metadata of an object.

    Args:
        old: metadata that were in order: an equal name is so, too, and any other part that is the very same.
    """
    problems: list[Cause] = []
    if not old or any(metadata.get(name) != old.get(name) for name in _NAMES):
        problems += _name_faults(metadata, name_rule)
        problems += _namespace_faults(metadata, namespaced)
    for name, part_faults in _PARTS:
        part = metadata.get(name)
        if part and part is not old.get(name):
            problems += part_faults(part)
    return problems


def unqualified_finalizers(metadata: Mapping[str, Any]) -> list[Cause]:
    """Return the faults of finalizers that are nobody's; built-in kinds want to know whose each is."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid_value(f"metadata.finalizers[{position}]", name, detail)
        for position, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def change_faults(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """Return what an update may not do to metadata."""
    problems = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            shown = ", ".join(f'"{name}"' for name in added)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
            problems.append(forbidden("metadata.finalizers", f"{detail} []string{{{shown}}}"))
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(field) != old.get(field):
            problems.append(invalid_value(f"metadata.{field}", new.get(field, ""), IMMUTABLE))
    return problems


def _name_faults(metadata: Mapping[str, Any], name_rule: NameRule) -> Iterable[Cause]:
    prefix = metadata.get("generateName") or ""
    if prefix:
        yield from (invalid_value("metadata.generateName", prefix, why) for why in prefix_of(name_rule)(prefix))
    name = metadata.get("name") or ""
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from (invalid_value("metadata.name", name, why) for why in name_rule(name))


def _namespace_faults(metadata: Mapping[str, Any], namespaced: bool) -> Iterable[Cause]:
    namespace = metadata.get("namespace") or ""
    if not namespaced:
        return [forbidden("metadata.namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [required("metadata.namespace")]
    return [invalid_value("metadata.namespace", namespace, why) for why in label(namespace)]


def _label_faults(labels: Mapping[str, str]) -> Iterable[Cause]:
    for key, value in labels.items():
        yield from (invalid_value("metadata.labels", key, why) for why in qualified_name(key))
        yield from (invalid_value("metadata.labels", value, why) for why in label_value(value))


def _annotation_faults(annotations: Mapping[str, str]) -> Iterable[Cause]:
    for key in annotations:
        yield from (invalid_value("metadata.annotations", key, why) for why in qualified_name(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MOST_ANNOTATION_BYTES:
        yield too_long("metadata.annotations", MOST_ANNOTATION_BYTES)


def _owner_faults(owners: Sequence[Manifest]) -> Iterable[Cause]:
    field, controller = "metadata.ownerReferences", ""
    for owner in owners:
        yield from _faults_of_owner(owner, field)
        if owner.get("controller"):
            this = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                detail = 'Only one reference can have Controller set to true. Found "true" in references for'
                yield invalid_value(field, list(map(_shown_owner, owners)), f"{detail} {controller} and {this}")
            controller = controller or this


def _faults_of_owner(owner: Manifest, field: str) -> Iterable[Cause]:
    version = owner.get("apiVersion") or ""
    if not version.rpartition("/")[2] or version.count("/") > 1:
        yield invalid_value(f"{field}.apiVersion", version, "version must not be empty")
    for part in ("kind", "name", "uid"):
        if not owner.get(part):
            yield invalid_value(f"{field}.{part}", "", "must not be empty")
    if (version, owner.get("kind")) == ("v1", "Event"):
        yield invalid_value(field, _shown_owner(owner), "/v1, Kind=Event is disallowed from being an owner")


def _shown_owner(owner: Manifest) -> GoStruct:
    return GoStruct((name, owner[name]) for name in OWNER_FIELDS if name in owner)


def _finalizer_faults(finalizers: Sequence[str]) -> Iterable[Cause]:
    field = "metadata.finalizers"
    for finalizer in finalizers:
        yield from (invalid_value(field, finalizer, why) for why in qualified_name(finalizer))
    if {ORPHAN, FOREGROUND} <= set(finalizers):
        yield invalid_value(field, list(finalizers), f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set")


def _manager_faults(entries: Sequence[Manifest]) -> Iterable[Cause]:
    for position, entry in enumerate(entries):
        field, manager, subresource = (
            f"metadata.managedFields[{position}]",
            entry.get("manager"),
            entry.get("subresource"),
        )
        if manager:
            yield from manager_faults(manager, f"{field}.manager")
        if subresource and len(subresource.encode()) > LONGEST_SUBRESOURCE:
            yield too_long(f"{field}.subresource", LONGEST_SUBRESOURCE)


_PARTS: Final[Sequence[tuple[str, Callable[[Any], Iterable[Cause]]]]] = (
    ("labels", _label_faults),
    ("annotations", _annotation_faults),
    ("ownerReferences", _owner_faults),
    ("finalizers", _finalizer_faults),
    ("managedFields", _manager_faults),
)


def manager_faults(manager: str, field: str) -> Iterable[Cause]:
    """Return what is wrong with the name of a field manager."""
    if manager.isascii() and manager.isprintable() and len(manager) <= LONGEST_MANAGER:
        return
    if len(manager.encode()) > LONGEST_MANAGER:
        yield too_long(field, LONGEST_MANAGER)
    for position, char in enumerate(manager):
        if not char.isprintable():
            place = len(manager[:position].encode())
            yield invalid_value(field, manager, f"invalid character U+{ord(char):04X} (at position {place})")
