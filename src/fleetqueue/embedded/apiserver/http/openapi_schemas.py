"""The shapes of kinds as OpenAPI has them, without descriptions: fields, types, and how lists are merged."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.schema import ATOMIC, Schema

REFERENCE: Final = "#/components/schemas/"
META: Final = "apimachinery.pkg.apis.meta.v1"
BUILT_IN: Final = "io.k8s."
ONE_OF: Final[dict[str, Manifest]] = {
    "apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}
EXTENSION: Final = "x-kubernetes-"


class Components:
    """The types of one document: those that were added, and all that they refer to."""

    def __init__(self) -> None:
        self.schemas: dict[str, Manifest] = {}

    def add_type(self, name: str) -> str:
        """Add a built-in type, such as `api.core.v1.Pod`, and what it needs; return how the document calls it."""
        return self._add(facts.schema_of_type(name))

    def add_kind(self, name: str, schema: Schema) -> str:
        """Add the shape of a custom kind, with what every object has."""
        shape = self._inline(schema)
        shape["properties"] = {**shape.get("properties", {}), **self._of_every_object()}
        self.schemas[name] = shape
        return name

    def _of_every_object(self) -> Manifest:
        meta = self.add_type(f"{META}.ObjectMeta")
        return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _reference(meta)}

    def add_list(self, name: str, item: str) -> str:
        """Add the list of a custom kind."""
        properties = {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": REFERENCE + item}},
            "kind": {"type": "string"},
            "metadata": _reference(self.add_type(f"{META}.ListMeta")),
        }
        self.schemas[name] = {"type": "object", "required": ["items"], "properties": properties}
        return name

    def _add(self, schema: Schema) -> str:
        name = BUILT_IN + schema.name
        if name not in self.schemas:
            self.schemas[name] = {}  # known from now on: a type may lead back to itself
            self.schemas[name].update(ONE_OF.get(schema.name) or self._shape(schema))
        return name

    def _value(self, schema: Schema) -> Manifest:
        """Return the shape of a field: a built-in type is referred to, all else stands where it is."""
        if not schema.name:
            return {**self._inline(schema), **_merging(schema)}
        reference = self._add(schema)
        beside = {**_default(schema), **_merging(schema)}
        return {**_reference(reference), **beside} if beside else _reference(reference)

    def _inline(self, schema: Schema) -> Manifest:
        return {**self._shape(schema), **_default(schema), **schema.rules}

    def _shape(self, schema: Schema) -> Manifest:
        shape: Manifest = dict(_of_scalar(schema))
        if schema.required:
            shape["required"] = list(schema.required)
        if schema.properties:
            shape["properties"] = {name: self._value(schema.properties[name]) for name in sorted(schema.properties)}
        if schema.is_embedded:
            shape["properties"] = {**shape.get("properties", {}), **self._of_every_object()}
            shape["required"] = [*shape.get("required", ()), "kind", "apiVersion"]
        if schema.values is not None:
            shape["additionalProperties"] = self._value(schema.values)
        if schema.items is not None:
            shape["items"] = self._value(schema.items)
        if schema.is_nullable:
            shape["nullable"] = True
        return {**shape, **_extensions(schema)}


def _of_scalar(schema: Schema) -> Iterator[tuple[str, str]]:
    if schema.type:
        yield "type", schema.type
    if schema.format:
        yield "format", schema.format


def _extensions(schema: Schema) -> Manifest:
    extensions: Manifest = {}
    if schema.keeps_unknown and not schema.name:
        extensions[f"{EXTENSION}preserve-unknown-fields"] = True
    if schema.is_embedded:
        extensions[f"{EXTENSION}embedded-resource"] = True
    if schema.is_int_or_string:
        extensions |= {"anyOf": [{"type": "integer"}, {"type": "string"}], f"{EXTENSION}int-or-string": True}
    if schema.is_atomic:
        extensions[f"{EXTENSION}map-type"] = ATOMIC
    return extensions


def _merging(schema: Schema) -> Manifest:
    """Return what an apply and a strategic merge do with a field."""
    extensions: Manifest = {}
    if schema.type == "array":
        extensions[f"{EXTENSION}list-type"] = schema.list_type
        if schema.list_keys:
            extensions[f"{EXTENSION}list-map-keys"] = list(schema.list_keys)
    if schema.patch_key:
        extensions[f"{EXTENSION}patch-merge-key"] = schema.patch_key
    if schema.patch_strategies:
        extensions[f"{EXTENSION}patch-strategy"] = ",".join(schema.patch_strategies)
    return extensions


def _default(schema: Schema) -> Manifest:
    return {} if schema.default is UNSET else {"default": schema.default}


def _reference(name: str) -> Manifest:
    return {"allOf": [{"$ref": REFERENCE + name}]}


def mark(schemas: dict[str, Manifest], name: str, kinds: Iterable[tuple[str, str, str]]) -> None:
    """Say of a type for which kinds it is the shape: group, version and kind of each."""
    marks = [{"group": group, "version": version, "kind": kind} for group, version, kind in kinds]
    schemas[name] = {**schemas[name], f"{EXTENSION}group-version-kind": marks}
