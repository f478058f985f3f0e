"""Whole objects inside others: they need an apiVersion and a kind, and metadata that could be stored."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, required
from fleetqueue.embedded.apiserver.kinds.names import old_label, path_segment
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.validation import metadata


def faults_below(value: Any, schema: Schema, path: str = "") -> Iterator[Cause]:
    """Find what is wrong with embedded objects in a value and below it."""
    if not holds_embedded(schema):
        return
    if type(value) is dict:
        if schema.is_embedded:
            yield from _of_object(value, path)
        for name, item in value.items():
            child = schema.properties.get(name)
            if child is not None:
                yield from faults_below(item, child, _joined(path, name))
            elif schema.values is not None:
                yield from faults_below(item, schema.values, f"{path}[{name}]")
    elif type(value) is list and schema.items is not None:
        for position, item in enumerate(value):
            yield from faults_below(item, schema.items, f"{path}[{position}]")


@lru_cache(maxsize=100_000)
def holds_embedded(schema: Schema) -> bool:
    """Whether there are embedded objects here or below."""
    below = [*schema.properties.values(), *(child for child in (schema.values, schema.items) if child is not None)]
    return schema.is_embedded or any(map(holds_embedded, below))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _of_object(value: dict[str, Any], path: str) -> Iterator[Cause]:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield required(_joined(path, name))
    for name, item in value.items():
        if name == "apiVersion":
            yield from _of_version(item, _joined(path, name))
        elif name == "kind":
            yield from _of_kind(item, _joined(path, name))
        elif name == "metadata" and isinstance(item, dict):
            yield from _of_metadata(item, path)


def _of_version(value: Any, path: str) -> Iterator[Cause]:
    if not isinstance(value, str):
        yield invalid_value(path, value, "must be a string")
    elif not value:
        yield invalid_value(path, value, "must not be empty")
    elif value.count("/") > 1:
        yield invalid_value(path, value, f"unexpected GroupVersion string: {value}")


def _of_kind(value: Any, path: str) -> Iterator[Cause]:
    if not isinstance(value, str):
        yield invalid_value(path, value, "must be a string")
    elif not value:
        yield invalid_value(path, value, "must not be empty")
    else:
        problems = old_label(value.lower())
        if problems:
            yield invalid_value(path, value, "may have mixed case, but should otherwise match: " + ",".join(problems))


def _of_metadata(value: dict[str, Any], path: str) -> Iterator[Cause]:
    named = {**value, "name": value.get("name") or "fakename"}
    for cause in metadata.faults(named, namespaced=bool(value.get("namespace")), name_rule=path_segment):
        yield cause._replace(field=_joined(path, cause.field))
