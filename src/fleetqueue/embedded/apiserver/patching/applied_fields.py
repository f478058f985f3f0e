"""Find the fields that an applied configuration names, and refuse one that does not fit its kind."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.kinds.schema import ANY, ATOMIC, Schema
from fleetqueue.embedded.apiserver.patching.elements import FIELD, ITSELF, ItemError, as_text, of_item
from fleetqueue.embedded.apiserver.patching.field_sets import LEAF, Fields

Path = tuple[Any, str] | None
"""Where we are: the way to the parent, and the last element; made only of tuples, since most are never shown."""


class Misfit(ValueError):
    """A configuration that does not fit its kind, with everything that is wrong with it."""


def named_fields(applied: Manifest, schema: Schema) -> Fields:
    """Return the set of fields that a configuration names."""
    walk = _Walk()
    fields = walk.map(applied, schema, None)
    if walk.problems:
        raise Misfit(_told(walk.problems))
    return fields


def all_fields(obj: Manifest, schema: Schema) -> Fields:
    """Return the set of fields that an object has; of items with the same keys only that they are there."""
    return _Walk(allows_doubles=True).map(obj, schema, None)


def check_types(value: Any, schema: Schema) -> None:
    """Refuse a value that does not fit; items of a list may be doubled."""
    walk = _Walk(allows_doubles=True)
    walk.value(value, schema, None)
    if walk.problems:
        raise Misfit(_told(walk.problems))


def _told(problems: list[tuple[Path, str]]) -> str:
    lines = [f"{place}: {text}" if (place := "".join(_steps(path))) else text for path, text in problems]
    return lines[0] if len(lines) == 1 else "\n".join(["errors:", *(f"  {line}" for line in lines)])


def _steps(path: Path) -> Iterator[str]:
    if path is not None:
        yield from _steps(path[0])
        yield as_text(path[1])


class _Walk:
    """One walk through a configuration; it returns tries and notes what does not fit."""

    def __init__(self, *, allows_doubles: bool = False) -> None:
        self.allows_doubles = allows_doubles
        self.problems: list[tuple[Path, str]] = []

    def map(self, value: Manifest, schema: Schema, path: Path, keeps: bool = False) -> Fields:
        """Return what is inside; `keeps` where what is around it may have fields that nobody describes."""
        fields: Fields = {}
        properties = schema.properties
        keeps = keeps or schema.keeps_unknown
        for name, inner in value.items():
            element = FIELD + name
            child = properties.get(name)
            if child is not None:
                if type(inner) is str and child.type == "string":  # nearly always
                    fields[element] = LEAF
                elif (node := self.value(inner, child, (path, element), keeps)) is not None:
                    fields[element] = node
            elif (child := _unnamed(schema, keeps)) is not None:
                fields[element] = _and_itself(self.value(inner, child, (path, element), keeps))
            else:
                self.problems.append(((path, element), "field not declared in schema"))
                return fields
        return fields

    def value(self, value: Any, schema: Schema, path: Path, keeps: bool = False) -> Fields | None:
        """Return what is inside; LEAF for a value seen as one, None where nothing is named (an empty list)."""
        if value is None:
            return LEAF
        kind = schema.type
        if isinstance(value, dict):
            if kind in ("object", ""):
                fields = self.map(value, schema, path, keeps)
                return LEAF if schema.is_atomic or not value else fields or None
        elif isinstance(value, list):
            if kind in ("array", ""):
                return self.list(value, schema, path, keeps or schema.keeps_unknown)
        elif _fits(value, schema):
            return LEAF
        self.problems.append((path, _complaint(value, schema)))
        return LEAF

    def list(self, value: list[Any], schema: Schema, path: Path, keeps: bool) -> Fields | None:
        inner = schema.items or ANY
        if schema.list_type == ATOMIC:
            for index, item in enumerate(value):
                if isinstance(item, (dict, list)) or not _fits(item, inner):
                    self.value(item, inner, (path, f"i:{index}"), keeps)
            return LEAF
        fields: Fields = {}
        for index, item in enumerate(value):
            try:
                element = of_item(item, schema)
            except ItemError as problem:
                self.problems.append((path, f"element {index}: {problem}"))
                break
            node = _and_itself(self.value(item, inner, (path, element), keeps))
            if element in fields and not self.allows_doubles:
                self.problems.append((path, f"duplicate entries for key {as_text(element)}"))
            fields[element] = LEAF if element in fields else node
        return fields or None


def _unnamed(schema: Schema, keeps: bool) -> Schema | None:
    """Return the schema of a field without a name in it; None where there may be none."""
    if schema.values is not None:
        return schema.values
    return ANY if keeps or not schema.properties else None


def _and_itself(node: Fields | None) -> Fields:
    return {ITSELF: LEAF, **node} if node else LEAF


def _fits(value: Any, schema: Schema) -> bool:
    kind = schema.type
    if value is None or kind == "" or schema.is_int_or_string:
        return kind not in ("object", "array")
    if kind == "string":
        # of strings with a format (times, quantities) only that they are scalars is checked
        return isinstance(value, str) or schema.format not in ("", "byte")
    if kind == "boolean":
        return isinstance(value, bool)
    return kind in ("integer", "number") and isinstance(value, (int, float)) and not isinstance(value, bool)


def _complaint(value: Any, schema: Schema) -> str:
    kind = schema.type
    if kind in ("integer", "number"):
        return f"expected numeric (int or float), got {go_text.kind(value)}"
    if kind == "string" and schema.format in ("", "byte"):
        return f"expected string, got &value.valueUnstructured{{Value:{go_text.source(value)}}}"
    expected = {"object": "map", "array": "list", "boolean": "boolean"}.get(kind, "any scalar")
    return f"expected {expected}, got &{{{go_text.text(value)}}}"
