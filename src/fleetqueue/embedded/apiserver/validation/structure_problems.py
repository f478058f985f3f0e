"""Is a schema structural? Every value must have a type, so that unknown fields can be told from known ones."""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, required
from fleetqueue.embedded.apiserver.validation.cel import re2

Openapi = Mapping[str, Any]
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_KEEP, _EMBED, _UNION = (
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
)  # fmt: skip
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NOT_NESTED = (
    ("type", "must be empty to be structural"), ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"), ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"), ("nullable", "must be false to be structural"),
    (_KEEP, "must be false to be structural"), (_EMBED, "must be false to be structural"),
    (_UNION, "must be false to be structural"), ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)  # fmt: skip


def structure_problems(openapi: Openapi, path: str) -> list[Cause]:
    """Return what keeps a schema from being structural, sorted as the real server sorts it."""
    problems = [*_invariants(openapi, "root", path), *_incomplete(openapi, openapi, path, path)]
    return sorted(problems, key=lambda cause: cause.sentence)


def _invariants(openapi: Openapi, level: str, path: str) -> Iterator[Cause]:
    items, additional = openapi.get("items"), openapi.get("additionalProperties")
    if openapi.get("type") == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _invariants(items, "item", f"{path}.items")
    for name, child in (openapi.get("properties") or {}).items():
        yield from _invariants(child, "field", f"{path}.properties[{name}]")
    if additional is not None:
        if level == "root":
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(additional, dict):
            yield from _invariants(additional, "field", f"{path}.additionalProperties")
    for other in (_KEEP, _EMBED):
        if openapi.get(_UNION) and openapi.get(other):
            yield invalid_value(f"{path}.{other}", True, f"must be false if {_UNION} is true")
    yield from _value_problems(openapi, path, openapi)
    yield from _type_problems(openapi, level, path)
    yield from _meta_problems(openapi, level, path)


def _type_problems(openapi: Openapi, level: str, path: str) -> Iterator[Cause]:
    kind, embedded = openapi.get("type") or "", bool(openapi.get(_EMBED))
    if embedded and kind != "object":
        message = f"must be object if {_EMBED} is true"
        yield invalid_value(f"{path}.type", kind, message) if kind else required(f"{path}.type", message)
    elif not kind and not openapi.get(_UNION) and not openapi.get(_KEEP):
        yield required(f"{path}.type", _EMPTY_TYPE[level])
    if embedded and openapi.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", f"must not be used if {_EMBED} is set")
    if level == "root" and kind and kind != "object":
        yield invalid_value(f"{path}.type", kind, "must be object at the root")
    if embedded and not openapi.get(_KEEP) and not openapi.get("properties"):
        yield required(f"{path}.properties", f"must not be empty if {_EMBED} is true without {_KEEP}")


def _meta_problems(openapi: Openapi, level: str, path: str) -> Iterator[Cause]:
    properties = openapi.get("properties") or {}
    is_object = level == "root" or bool(openapi.get(_EMBED))
    for name in ("kind", "apiVersion"):
        kind = properties.get(name, {}).get("type", "") if is_object and name in properties else "string"
        if kind != "string":
            yield invalid_value(f"{path}.properties[{name}].type", kind, "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    if is_object and metadata.get("type") != "object":
        yield invalid_value(f"{path}.properties[metadata].type", metadata.get("type", ""), "must be object")
    if level == "root" and not _is_plain_metadata(metadata):
        message = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(f"{path}.properties[metadata]", message)


def _is_plain_metadata(metadata: Openapi) -> bool:
    words = {word for word, value in metadata.items() if value not in (None, "", [], {}, False)}
    return words <= {"type", "default", "properties"} and set(metadata.get("properties") or ()) <= {
        "name",
        "generateName",
    }


def _value_problems(openapi: Openapi, path: str, top: Openapi | None = None) -> Iterator[Cause]:
    """Problems of anyOf, allOf, oneOf, not and patterns."""
    all_of = openapi.get("allOf") or []
    if not (top is not None and openapi.get("anyOf") == _INT_OR_STRING):
        yield from _junction(openapi.get("anyOf") or [], f"{path}.anyOf")
    for position, part in enumerate(all_of):
        is_union = top is not None and position == 0 and part.get("anyOf") == _INT_OR_STRING
        without = {word: value for word, value in part.items() if word != "anyOf"} if is_union else part
        yield from _nested(without, f"{path}.allOf[{position}]")
    yield from _junction(openapi.get("oneOf") or [], f"{path}.oneOf")
    if openapi.get("not") is not None:
        yield from _nested(openapi["not"], f"{path}.not")
    if openapi.get("pattern"):
        try:
            re2.compiled(openapi["pattern"])
        except re2.BadPattern as error:
            message = f"must be a valid regular expression, but isn't: {error}"
            yield invalid_value(f"{path}.pattern", openapi["pattern"], message)


def _junction(parts: list[Openapi], path: str) -> Iterator[Cause]:
    for position, part in enumerate(parts):
        yield from _nested(part, f"{path}[{position}]")


def _nested(openapi: Openapi, path: str) -> Iterator[Cause]:
    """Inside anyOf and its like a schema may only restrict values, not describe them."""
    yield from _value_problems(openapi, path)
    if isinstance(openapi.get("items"), dict):
        yield from _nested(openapi["items"], f"{path}.items")
    for name, child in (openapi.get("properties") or {}).items():
        yield from _nested(child, f"{path}.properties[{name}]")
    for word, message in _NOT_NESTED:
        if openapi.get(word) not in (None, "", [], False):
            yield forbidden(f"{path}.{word}", message)
    if "metadata" in (openapi.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _incomplete(values: Openapi, openapi: Openapi | None, path: str, at: str) -> Iterator[Cause]:
    """Every field of a nested schema must be described outside it, too."""
    nested = [(values["not"], f"{at}.not")] if values.get("not") is not None else []
    for word in ("allOf", "anyOf", "oneOf"):
        nested += [(part, f"{at}.{word}[{position}]") for position, part in enumerate(values.get(word) or ())]
    for part, place in nested:
        yield from _uncovered(part, openapi, path, place)


def _uncovered(values: Openapi, openapi: Openapi | None, path: str, at: str) -> Iterator[Cause]:
    if openapi is None:
        yield required(path, f"because it is defined in {at}")
        return
    yield from _incomplete(values, openapi, path, at)
    if isinstance(values.get("items"), dict):
        yield from _uncovered(values["items"], openapi.get("items"), f"{path}.items", f"{at}.items")
    for name, part in (values.get("properties") or {}).items():
        described = (openapi.get("properties") or {}).get(name)
        place = f"{at}.properties[{name}]"
        if described is None:
            yield required(f"{path}.properties[{name}]", f"because it is defined in {place}")
        else:
            yield from _uncovered(part, described, f"{path}.properties[{name}]", place)
