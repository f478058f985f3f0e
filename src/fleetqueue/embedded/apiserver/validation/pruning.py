"""Bring what came as an object of a custom kind into the form that the server reads it in.

Fields that the schema does not know go, and so do nulls that mean nothing; metadata are read as those of built-in
kinds. What came in is not touched, and all of it that needs no change is shared.
"""

from decimal import Decimal
from typing import Any, Final

from msgspec import UNSET

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value
from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.kinds.normalising import normalised
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.validation.correlation import is_described
from fleetqueue.embedded.apiserver.validation.known_parts import KnownParts

OBJECT_META: Final = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
_META: Final = frozenset({"apiVersion", "kind", "metadata"})
_NOTHING: Final = Schema()
_ANYTHING: Final = Schema(keeps_unknown=True)
_LEAST, _MOST = -(2**63), 2**63 - 1
_NO_FIELDS: Final[Manifest] = {}


def prune(
    obj: Manifest,
    schema: Schema,
    dropped: list[str] | None = None,
    known: Manifest | None = None,
    in_order: KnownParts | None = None,
) -> Manifest:
    """Return the object in order: the same object if it is so already; raises Unreadable.

    The paths of what the schema does not know, such as `spec.list[0].x`, are added to `dropped` in order. Metadata of
    `known`, an object in order, need no second look; nor do fields that are `in_order`, and what is shared with fields
    of `known` that are; it gets those that are found to be so.
    """
    walk = _Walk(in_order=in_order, known=known)
    kept = walk.root(obj, schema, known)
    if dropped is not None:
        dropped += [*walk.of_metadata, *sorted(walk.dropped), *sorted(walk.of_embedded)]
    return kept


def pruned_value(value: Any, schema: Schema) -> Any:
    """Return a value that is no whole object, such as a default, without what the schema does not know."""
    return _Walk(only_prunes=True).value(value, schema, "")


def check_embedded(value: Any, schema: Schema, path: str) -> None:
    """Read the objects in a value; raises BadPart for one that cannot be read."""
    _Walk().value(value, schema, path)


class BadPart(Unreadable):
    """An object in another one that cannot be read."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.sentence)
        self.cause = cause


class _Walk:
    """One walk through a value, and what is found on the way."""

    def __init__(
        self, *, only_prunes: bool = False, in_order: KnownParts | None = None, known: Manifest | None = None
    ) -> None:
        self.only_prunes = only_prunes
        self.in_order = in_order
        self.known = known or {}
        self.of_metadata: list[str] = []
        self.dropped: list[str] = []
        self.of_embedded: list[str] = []

    def root(self, obj: Manifest, schema: Schema, known: Manifest | None) -> Manifest:
        kept = self.fields(obj, schema, "", is_object=True)
        if "metadata" not in obj:
            return kept
        before = (known or {}).get("metadata")
        metadata, unknown = normalised(obj["metadata"], before, type_name=OBJECT_META)
        self.of_metadata = [f"metadata.{path}" for path in unknown]
        return kept if metadata is obj["metadata"] else {**kept, "metadata": metadata}

    def part(self, value: Any, schema: Schema, name: str) -> Any:
        """Bring a field of the object itself in order, unless it is known to be."""
        if self.in_order is None:
            return self.value(value, schema, name)
        if self.in_order.has(name, value):
            return value
        before = self.known.get(name)
        kept = self.value(value, schema, name, self.in_order.known(name, before))
        self.in_order.follow(name, before, kept)
        return kept

    def value(self, value: Any, schema: Schema, path: str, before: Any = None) -> Any:
        """Bring a value in order; `before` is one in order, of which it may have kept parts."""
        if type(value) is dict:
            kept = self.fields(value, schema, path, is_object=schema.is_embedded, before=before)
            return self.embedded(kept, path) if schema.is_embedded and not self.only_prunes else kept
        if type(value) is list:
            return self.items(value, schema, path, before)
        return value

    def fields(self, value: Manifest, schema: Schema, path: str, *, is_object: bool, before: Any = None) -> Manifest:
        properties, values, keeps = schema.properties, schema.values, schema.keeps_unknown
        before = before if type(before) is dict else _NO_FIELDS
        changed: Manifest = {}
        gone: list[str] = []
        for name, item in value.items():
            if is_object and name in _META:
                continue
            child = properties.get(name) or values
            if child is None:
                if not keeps:
                    gone.append(name)
                    if path or name not in _META:
                        self.dropped.append(_joined(path, name))
                    continue
                child = _ANYTHING
            kind = type(item)
            if kind is str:  # nearly always
                continue
            if item is None:
                if not self.only_prunes and child is not _ANYTHING and _means_nothing(child):
                    gone.append(name)
                continue
            if kind is dict or kind is list:
                previous = before.get(name)
                if item is previous:
                    continue
                kept = self.value(item, child, _joined(path, name), previous) if path else self.part(item, child, name)
            else:
                kept = item if self.only_prunes else _number(item, child)
            if kept is not item:
                changed[name] = kept
        if not changed and not gone:
            return value
        made = {**value, **changed}
        for name in gone:
            del made[name]
        return made

    def items(self, value: list[Any], schema: Schema, path: str, before: Any = None) -> list[Any]:
        items = schema.items
        if items is None:
            items = _ANYTHING if schema.keeps_unknown else _NOTHING
        elif schema.keeps_unknown:
            items = _keeping(items)
        made: list[Any] | None = None
        before = before if type(before) is list else ()
        for position, item in enumerate(value):
            kind = type(item)
            if kind is str or item is None:
                continue
            if kind is dict or kind is list:
                previous = before[position] if position < len(before) else None
                if item is previous:
                    continue
                kept = self.value(item, items, f"{path}[{position}]", previous)
            else:
                kept = item if self.only_prunes else _number(item, items)
            if kept is not item:
                made = list(value) if made is None else made
                made[position] = kept
        return value if made is None else made

    def embedded(self, value: Manifest, path: str) -> Manifest:
        """Read what every object has of one inside another."""
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                raise BadPart(invalid_value(_joined(path, name), value[name], "must be a string"))
        if "metadata" not in value:
            return value
        before, at = value["metadata"], _joined(path, "metadata")
        try:
            after, unknown = normalised(before, type_name=OBJECT_META)
        except Unreadable as error:
            raise BadPart(invalid_value(at, before, str(error))) from error
        self.of_embedded += [f"{at}.{name}" for name in unknown]
        return value if after is before else {**value, "metadata": after}


def _means_nothing(schema: Schema) -> bool:
    """Whether a null is as good as no field: it is not allowed, and nothing is filled in for it."""
    return not schema.is_nullable and schema.default is UNSET and is_described(schema)


def _number(value: Any, schema: Schema) -> Any:
    """Return a number as Go writes and reads it again: a whole one is an integer, if it fits into 64 bits.

    Where a rule asks for an integer it stays what it is, since to rules `1.0` is none.
    """
    if type(value) is int:
        return value if _LEAST <= value <= _MOST else float(value)
    if type(value) is not float or not value.is_integer() or (schema.rules and _is_ruled_integer(schema)):
        return value
    whole = int(Decimal(repr(value)))
    return whole if _LEAST <= whole <= _MOST else value


def _is_ruled_integer(schema: Schema) -> bool:
    is_integer = schema.type == "integer" or schema.is_int_or_string
    return is_integer and bool(schema.rules.get("x-kubernetes-validations"))


def _keeping(schema: Schema) -> Schema:
    """Return a schema that keeps what it does not know, as its list does."""
    return Schema(
        properties=schema.properties,
        values=schema.values,
        items=schema.items,
        is_embedded=schema.is_embedded,
        keeps_unknown=True,
    )


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
