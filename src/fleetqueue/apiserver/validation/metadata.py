"""The rules that the metadata of every object keeps: names, labels, annotations, owners, finalizers."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.kinds.causes import Cause, forbidden, invalid_value, required, too_long

NameRule = Callable[[str], Sequence[str]]
"""Says what is wrong with a name; nothing where it is right."""

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_KEY: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = rf"({_KEY})?"
_1035: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_PATTERNS: Final = {text: re.compile(text) for text in (_LABEL, _SUBDOMAIN, _KEY, _VALUE, _1035)}

REMEMBERED: Final = 4096
"""How many names each rule remembers: the same few come again and again."""
MOST_ANNOTATION_BYTES: Final = 256 * 1024
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
STANDARD_FINALIZERS: Final = (ORPHAN, FOREGROUND, "kubernetes")
OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
IMMUTABLE: Final = "field is immutable"


@lru_cache(maxsize=REMEMBERED)
def subdomain(name: str) -> Sequence[str]:
    """The rule for most names: `a.example`."""
    said = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
        " and end with an alphanumeric character"
    )
    return _checked(name, 253, _SUBDOMAIN, said, "example.com")


@lru_cache(maxsize=REMEMBERED)
def label(name: str) -> Sequence[str]:
    """The rule for namespaces and the like: no dots."""
    said = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
        " with an alphanumeric character"
    )
    return _checked(name, 63, _LABEL, said, "my-name", "123-abc")


def service_name(name: str) -> list[str]:
    """The rule for services: a label that begins with a letter."""
    said = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
        " character, and end with an alphanumeric character"
    )
    return _checked(name, 63, _1035, said, "my-name", "abc-123")


def path_segment(name: str) -> list[str]:
    """The rule for the rest, such as roles: whatever can stand in a URL."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]


def faults(metadata: Mapping[str, Any], *, namespaced: bool, name_rule: NameRule) -> list[Cause]:
    """Return what is wrong with the metadata of an object, whether it is new or changed."""
    found = list(_name_faults(metadata, name_rule))
    found += _namespace_faults(metadata, namespaced)
    found += _label_faults(metadata.get("labels") or {})
    found += _annotation_faults(metadata.get("annotations") or {})
    found += _owner_faults(metadata.get("ownerReferences") or ())
    found += _finalizer_faults(metadata.get("finalizers") or ())
    return found


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
    found = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            shown = ", ".join(f'"{name}"' for name in added)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
            found.append(forbidden("metadata.finalizers", f"{detail} []string{{{shown}}}"))
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(field) != old.get(field):
            found.append(invalid_value(f"metadata.{field}", new.get(field, ""), IMMUTABLE))
    return found


def _name_faults(metadata: Mapping[str, Any], name_rule: NameRule) -> Iterable[Cause]:
    prefix = metadata.get("generateName") or ""
    if prefix:
        masked = f"{prefix[:-1]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        yield from (invalid_value("metadata.generateName", prefix, why) for why in name_rule(masked))
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
        if not (owner.get("apiVersion") or "").rpartition("/")[2]:
            yield invalid_value(f"{field}.apiVersion", owner.get("apiVersion", ""), "version must not be empty")
        for part in ("kind", "name", "uid"):
            if not owner.get(part):
                yield invalid_value(f"{field}.{part}", "", "must not be empty")
        if owner.get("controller"):
            this = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                detail = 'Only one reference can have Controller set to true. Found "true" in references for'
                shown = [{name: one[name] for name in OWNER_FIELDS if name in one} for one in owners]
                yield invalid_value(field, shown, f"{detail} {controller} and {this}")
            controller = controller or this


def _finalizer_faults(finalizers: Sequence[str]) -> Iterable[Cause]:
    field = "metadata.finalizers"
    for finalizer in finalizers:
        yield from (invalid_value(field, finalizer, why) for why in qualified_name(finalizer))
    if {ORPHAN, FOREGROUND} <= set(finalizers):
        yield invalid_value(field, list(finalizers), f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set")


@lru_cache(maxsize=REMEMBERED)
def qualified_name(name: str) -> Sequence[str]:
    """The rule for keys of labels: a name, or a subdomain, a slash and a name."""
    said = (
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
        " character"
    )
    form = _sentence(said, _KEY, "MyName", "my.name", "123-abc")
    if name.count("/") > 1:
        return [f"a valid label key {form} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    prefix, slash, key = name.rpartition("/")
    problems = []
    if slash:
        problems += [f"prefix part {why}" for why in (subdomain(prefix) if prefix else ["must be non-empty"])]
    if not key:
        problems.append("name part must be non-empty")
    elif len(key) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _PATTERNS[_KEY].fullmatch(key):
        problems.append(f"name part {form}")
    return problems


@lru_cache(maxsize=REMEMBERED)
def label_value(value: str) -> Sequence[str]:
    said = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start"
        " and end with an alphanumeric character"
    )
    return _checked(value, 63, _VALUE, said, "MyValue", "my_value", "12345")


def _checked(text: str, longest: int, pattern: str, said: str, *examples: str) -> list[str]:
    problems = []
    if len(text) > longest:
        problems.append(f"must be no more than {longest} bytes")
    if not _PATTERNS[pattern].fullmatch(text):
        problems.append(_sentence(said, pattern, *examples))
    return problems


def _sentence(said: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{said} (e.g. {shown}regex used for validation is '{pattern}')"
