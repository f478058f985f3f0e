"""Who owns which fields of an object: the entries of metadata.managedFields, read and written."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from fleetqueue.api.kept_json import kept_json
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.kinds.schema import ANY, ATOMIC, Schema
from fleetqueue.embedded.apiserver.patching.comparison import child_of
from fleetqueue.embedded.apiserver.patching.elements import FIELD, ITSELF, parse
from fleetqueue.embedded.apiserver.patching.field_sets import LEAF, Fields, ordered

APPLY: Final = "Apply"
UPDATE: Final = "Update"
# How many read sets are remembered, a few KB each; one that is forgotten costs some 20 µs when it is read again.
REMEMBERED: Final = 512

Name = tuple[str, str, str, str]
"""What tells two owners apart: manager, operation, apiVersion (of an Update only), subresource."""


class UnreadableOwners(ValueError):
    """managedFields that nobody could have meant."""


class FieldOwner(NamedTuple):
    """One entry: a manager, how and through which endpoint it wrote, and the fields that are its own."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    fields: Fields
    time: str = ""
    stored: Manifest | None = None
    """The entry as it is stored, while nothing has changed."""

    @property
    def name(self) -> Name:
        """Return what tells it from the others; an applier is the same in every version."""
        version = "" if self.operation == APPLY else self.api_version
        return self.manager, self.operation, version, self.subresource

    def owning(self, fields: Fields) -> "FieldOwner":
        """Return the same owner with other fields."""
        return self if fields is self.fields or fields == self.fields else self._replace(fields=fields, stored=None)

    def at(self, time: str) -> "FieldOwner":
        """Return the same owner with another time."""
        return self if time == self.time else self._replace(time=time, stored=None)

    def as_entry(self, schema: Schema | None = None) -> Manifest:
        """Return the entry to store; its fields are known to fit a schema if that is given."""
        if self.stored is not None:
            return self.stored
        entry = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version}
        if self.time:
            entry["time"] = self.time
        fields = _in_order(self.fields)
        _remember(fields, schema)
        stored = {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields}
        return {**stored, "subresource": self.subresource} if self.subresource else stored


def name_in_order(name: Name) -> str:
    """Return what owners are sorted by where they have no time: their names as JSON."""
    manager, operation, version, subresource = name
    parts = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return ",".join(f"{go_text.quoted(key)}:{go_text.quoted(value)}" for key, value in parts.items() if value)


def read(entries: Any, schema_of: Callable[[str], Schema | None]) -> dict[Name, FieldOwner]:
    """Read managedFields, each of which has a version of its own; raises UnreadableOwners.

    Entries of a version that does not exist any more are left out.
    """
    owners = (_read_one(entry, index, schema_of) for index, entry in enumerate(entries or ()))
    return {owner.name: owner for owner in owners if owner is not None}


def _read_one(entry: Manifest, index: int, schema_of: Callable[[str], Schema | None]) -> FieldOwner | None:
    operation, version, sort = entry.get("operation"), entry.get("apiVersion"), entry.get("fieldsType")
    if operation not in (APPLY, UPDATE):
        raise UnreadableOwners("operation must be `Apply` or `Update`")
    if not version:
        raise UnreadableOwners("apiVersion must not be empty")
    if sort != "FieldsV1":
        what = f"invalid fieldsType {go_text.quoted(sort)}" if sort else "missing fieldsType"
        raise UnreadableOwners(f"{what} in managed fields entry {index}")
    schema = schema_of(version)
    if schema is None:
        return None
    stored = entry.get("fieldsV1") or LEAF
    fields = _read_fields(stored, schema)
    return FieldOwner(
        manager=entry.get("manager") or "",
        operation=operation,
        api_version=version,
        subresource=entry.get("subresource") or "",
        fields=fields,
        time=entry.get("time") or "",
        stored=entry if fields is stored else None,
    )


_remembered: dict[int, tuple[Fields, Schema | None]] = {}
"""Sets that are known to be written as we write them, and the schema that they are known to fit."""


def _remember(fields: Fields, schema: Schema | None = None) -> None:
    while len(_remembered) >= REMEMBERED:
        del _remembered[next(iter(_remembered))]
    _remembered[id(fields)] = (fields, schema)


_written: dict[bytes, Fields] = {}
"""Sets as they are written, by the JSON of the set that they were made of: objects of a sort share theirs. In the
order of their use, since those that name an owner are never met again."""


def _in_order(fields: Fields) -> Fields:
    key = kept_json(fields)
    sorted_fields = _written.pop(key, None)
    if sorted_fields is None:
        sorted_fields = ordered(fields)
        while len(_written) >= REMEMBERED:
            del _written[next(iter(_written))]
    _written[key] = sorted_fields
    return sorted_fields


def _read_fields(stored: Fields, schema: Schema) -> Fields:
    """Return a stored set as we write it, and as the schema of today has it; itself where nothing is to be done."""
    known = _remembered.get(id(stored))
    if known is not None and known[1] is schema:
        return stored
    fields = stored if known is not None else _parsed(stored)
    fields = fitted(fields, schema)
    _remember(fields, schema)
    return fields


def _parsed(stored: Any, *, top: bool = True) -> Fields:
    if not isinstance(stored, dict):
        raise UnreadableOwners("fieldsV1 is not a map of maps")
    parsed: Fields = {}
    for element, inner in stored.items():
        known = element if element == ITSELF and not top else _element(element)
        if known:
            node = LEAF if known == ITSELF else _parsed(inner, top=False)
            parsed[known] = node or LEAF
    if len(parsed) == 1 and ITSELF in parsed:
        return LEAF
    return stored if parsed == stored else parsed


def _element(element: str) -> str:
    if element == ITSELF:
        return ""
    try:
        return parse(element)
    except (ValueError, AttributeError) as problem:
        raise UnreadableOwners(str(problem)) from None


def fitted(fields: Fields, schema: Schema) -> Fields:
    """Return the set with what is now one value owned as one: a custom kind may have become so since it was written."""
    changed: Fields = {}
    for element, node in fields.items():
        if node and (inner := _inner(element, schema)) is not None:
            fit = LEAF if is_one(inner) else fitted(node, inner)
            if fit is not node:
                changed[element] = fit
    return {**fields, **changed} if changed else fields


def is_one(schema: Schema) -> bool:
    """Tell whether an apply sees a map or a list of this shape as one value."""
    return schema.is_atomic if schema.type == "object" else schema.type == "array" and schema.list_type == ATOMIC


def _inner(element: str, schema: Schema) -> Schema | None:
    if element == ITSELF:
        return None
    inner = child_of(schema, element[2:]) if element.startswith(FIELD) else schema.items or ANY
    return None if inner is ANY else inner


def entries_of(owners: Iterable[FieldOwner], schema_of: Callable[[str], Schema | None]) -> list[Manifest]:
    """Return the managedFields to store: appliers first, then by time and name."""
    return [owner.as_entry(schema_of(owner.api_version)) for owner in sorted(owners, key=_order)]


def _order(owner: FieldOwner) -> tuple[str, ...]:
    return owner.operation, owner.time, owner.manager, owner.api_version, owner.subresource
