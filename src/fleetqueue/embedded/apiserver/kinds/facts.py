"""What the server knows of Kubernetes' built-in kinds: where they are served, and the shape of their objects.

Nothing is read or built before it is needed, and nothing twice: a process with a hundred clusters has one of each.
"""

from functools import cache
from typing import Any, Final

from msgspec import UNSET, UnsetType

from fleetqueue.embedded.apiserver.kinds.schema import ATOMIC, Schema
from fleetqueue.embedded.apiserver.kinds.table import BuiltIn, Details, TypeField, table, type_of

_META: Final = "apimachinery.pkg.apis.meta.v1"
_APIEXTENSIONS: Final = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
_JSON_SCHEMA: Final = f"{_APIEXTENSIONS}.JSONSchemaProps"

_SCALARS: Final[dict[str, tuple[str, str, Any]]] = {
    "string": ("string", "", ""),
    "bool": ("boolean", "", False),
    "int32": ("integer", "int32", 0),
    "int64": ("integer", "int64", 0),
    "float64": ("number", "double", 0),
    "bytes": ("string", "byte", UNSET),
}
"""JSON type, format, and what a field has that may be neither absent nor null."""

_WITH_THEIR_OWN_JSON: Final[dict[str, dict[str, Any]]] = {
    f"{_META}.Time": {"type": "string", "format": "date-time"},
    f"{_META}.MicroTime": {"type": "string", "format": "date-time"},
    f"{_META}.FieldsV1": {"type": "object", "keeps_unknown": True},
    "apimachinery.pkg.runtime.RawExtension": {"type": "object", "keeps_unknown": True, "is_atomic": True},
    "apimachinery.pkg.api.resource.Quantity": {"format": "quantity"},  # a string or a number
    "apimachinery.pkg.util.intstr.IntOrString": {"format": "int-or-string", "is_int_or_string": True},
    f"{_APIEXTENSIONS}.JSON": {"keeps_unknown": True},
}
_OR_SOMETHING_ELSE: Final = tuple(f"{_JSON_SCHEMA}Or{other}" for other in ("Array", "Bool", "StringArray"))
"""A JSON schema, or a value of another type that does not need a schema."""

_NO_DETAILS: Final = Details()


def kinds() -> tuple[BuiltIn, ...]:
    """Return every built-in resource of every version, in the order of discovery."""
    return table().resources


@cache
def schema(group: str, version: str, kind: str) -> Schema:
    """Return the shape of a kind, of a list kind, or of the options of a request; raises UnknownKind for others.

    A default is that of OpenAPI: also the zero of what Go always writes, such as `{}` for `status`.
    """
    return schema_of_type(type_of(group, version, kind))


def schema_of_type(name: str) -> Schema:
    """Return the shape of a type, such as `api.core.v1.PodSpec`, for a schema that refers to it."""
    return _schema(name)


def _schema(described: str, details: Details = _NO_DETAILS, default: Any = UNSET) -> Schema:
    """Build the schema of a field from its described type."""
    strategies = tuple(filter(None, details.strategies.split(",")))
    common: dict[str, Any] = {"patch_strategies": strategies, "patch_key": details.key, "default": default}
    described = described.removeprefix("*").removeprefix("=")
    if described.startswith("[]"):
        common |= {"list_type": details.list_type or ATOMIC, "list_keys": details.list_keys}
        return Schema("array", items=_schema(described[2:]), **common)
    is_atomic = details.map_type == ATOMIC
    if described.startswith("{}"):
        return Schema("object", values=_schema(described[2:]), is_atomic=is_atomic, **common)
    if described in _SCALARS:
        json_type, json_format, _ = _SCALARS[described]
        return Schema(json_type, json_format, **common)
    return _named(described, is_atomic, common)


def _named(name: str, is_atomic: bool, common: dict[str, Any]) -> Schema:
    if name in _WITH_THEIR_OWN_JSON:
        return Schema(name=name, **_WITH_THEIR_OWN_JSON[name], **common)
    if name in _OR_SOMETHING_ELSE:
        return Schema(name=name, properties=_properties(_JSON_SCHEMA), **common)
    return Schema(
        "object",
        name=name,
        properties=_properties(name),
        required=_required(name),
        is_atomic=is_atomic or name in table().atomic,
        **common,
    )


_built: dict[str, dict[str, Schema]] = {}
"""The fields of each type that was needed; they are filled last, since a type may lead back to itself."""


def _properties(name: str) -> dict[str, Schema]:
    properties = _built.get(name)
    if properties is None:
        properties = _built[name] = {}
        properties |= {field.name: _schema(field.type, field.details, _default(field)) for field in flat_fields(name)}
    return properties


def flat_fields(name: str) -> tuple[TypeField, ...]:
    """Return the fields of a type as its JSON has them: those of inlined types among its own."""
    flat: list[TypeField] = []
    for field in table().types[name]:
        flat += [field] if field.name else flat_fields(field.type)
    return tuple(flat)


def _required(name: str) -> tuple[str, ...]:
    return tuple(sorted(field.name for field in flat_fields(name) if field.is_required))


def _default(field: TypeField) -> Any | UnsetType:
    if field.details.default is not UNSET:
        return field.details.default
    if field.type in _SCALARS:
        return UNSET if field.omits_empty else _SCALARS[field.type][2]
    return {} if field.type in table().types else UNSET
