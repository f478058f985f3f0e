"""What is wrong with the schema of a CRD, in the words of the real server; a CRD with any of these is refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.validation.default_problems import default_problems
from fleetqueue.embedded.apiserver.validation.rule_problems import compile_problems, form_problems
from fleetqueue.embedded.apiserver.validation.structure_problems import structure_problems

Openapi = Mapping[str, Any]
_TYPES = ["array", "boolean", "integer", "number", "object", "string"]
_META = frozenset({"apiVersion", "kind", "metadata"})
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_ROOT_WITH_STATUS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_ROOT_WORDS = frozenset(word[0].lower() + word[1:] for word in _ROOT_WITH_STATUS.split()) | {
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
}  # fmt: skip


@dataclass(frozen=True)
class NodePosition:
    """Where a node stands, as far as that decides what it may contain."""

    no_defaults: str | None = None
    """Why there may be no defaults; None where there may be."""
    inside_meta: bool = False
    uncorrelatable: str = ""
    """The path of the list whose items cannot be found again in the old object, if the node is below one."""


@dataclass
class SchemaProblems:
    """Problems of the schema come before those of its rules."""

    schema: list[Cause] = field(default_factory=list)
    rules: list[Cause] = field(default_factory=list)


def schema_problems(openapi: Openapi, path: str, *, has_status: bool = False) -> list[Cause]:
    """Return all that is wrong with an `openAPIV3Schema`; `path` is its own, in the CRD."""
    root_problems = [*_root_problems(openapi, path, has_status)]
    is_readable = not _has_unsupported(openapi)
    structural = (structure_problems(openapi, path) or list(default_problems(openapi, path))) if is_readable else []
    below = SchemaProblems()
    _walk(openapi, path, NodePosition(), below, is_root=True, compiles=is_readable and not structural)
    return [*root_problems, *structural, *below.schema, *below.rules]


def _has_unsupported(openapi: Openapi) -> bool:
    """Whether words occur that no structural schema has; the rest of it is then not looked at as one."""
    if any(openapi.get(word) is not None for word in _UNSUPPORTED) or isinstance(openapi.get("items"), list):
        return True
    below = [*(openapi.get("properties") or {}).values()]
    below += [openapi[word] for word in ("items", "additionalProperties", "not") if isinstance(openapi.get(word), dict)]
    below += [part for word in ("allOf", "anyOf", "oneOf") for part in openapi.get(word) or ()]
    return any(map(_has_unsupported, below))


def _root_problems(openapi: Openapi, path: str, has_status: bool) -> Iterator[Cause]:
    kind = openapi.get("type") or ""
    if has_status and kind not in ("", "object"):
        message = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid_value(f"{path}.type", kind, message)
    elif has_status and any(value for word, value in openapi.items() if word not in _ROOT_WORDS):
        message = "fields are allowed at the root of the schema if the status subresource is enabled"
        yield invalid_value(path, openapi, f"only [{_ROOT_WITH_STATUS}] {message}")
    if openapi.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")


def _walk(
    openapi: Openapi,
    path: str,
    position: NodePosition,
    faults: SchemaProblems,
    *,
    is_root: bool = False,
    compiles: bool = False,
) -> bool:
    """Collect the problems of a node and all below it; returns whether the schema is right so far down."""
    before = len(faults.schema)
    faults.schema += _own_problems(openapi, path, position)
    _walk_additional(openapi, path, position, faults, compiles)
    _walk_properties(openapi, path, position, faults, is_root, compiles)
    for word in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(openapi.get(word) or ()):
            _walk(part, f"{path}.{word}[{index}]", position, faults)
    if isinstance(openapi.get("not"), dict):
        _walk(openapi["not"], f"{path}.not", position, faults)
    if isinstance(openapi.get("items"), dict):
        lost = openapi.get("x-kubernetes-list-type") != "map"
        _walk(
            openapi["items"],
            f"{path}.items",
            _without_old(position, path) if lost else position,
            faults,
            compiles=compiles,
        )
    faults.schema += list_problems(openapi, path)
    faults.schema += form_problems(openapi, path)
    is_right = len(faults.schema) == before
    if is_right and compiles:
        is_object = is_root or bool(openapi.get("x-kubernetes-embedded-resource"))
        faults.rules += compile_problems(openapi, path, position.uncorrelatable, is_object=is_object)
    return is_right


def _without_old(position: NodePosition, path: str) -> NodePosition:
    return position if position.uncorrelatable else replace(position, uncorrelatable=path)


def _walk_additional(
    openapi: Openapi, path: str, position: NodePosition, faults: SchemaProblems, compiles: bool
) -> None:
    additional = openapi.get("additionalProperties")
    if additional is None:
        return
    if openapi.get("properties") and additional is not True:
        message = "additionalProperties and properties are mutual exclusive"
        faults.schema.append(forbidden(f"{path}.additionalProperties", message))
    if isinstance(additional, dict):
        if position.inside_meta:
            position = replace(position, no_defaults="inside additionalProperties applying to object metadata")
        _walk(additional, f"{path}.additionalProperties", position, faults, compiles=compiles)


def _walk_properties(
    openapi: Openapi, path: str, position: NodePosition, faults: SchemaProblems, is_root: bool, compiles: bool
) -> None:
    is_object = is_root or bool(openapi.get("x-kubernetes-embedded-resource"))
    if openapi.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
        position = _without_old(position, path)
    for name, child in (openapi.get("properties") or {}).items():
        inner = position
        if is_object and name in _META:
            inner = replace(inner, inside_meta=True)
            if is_root:
                inner = replace(inner, no_defaults=f"in top-level {name}")
        _walk(child, f"{path}.properties[{name}]", inner, faults, compiles=compiles)


def _own_problems(openapi: Openapi, path: str, position: NodePosition) -> Iterator[Cause]:
    kind = openapi.get("type") or ""
    if kind and kind not in _TYPES:
        yield not_supported(f"{path}.type", kind, _TYPES)
    if openapi.get("default") is not None and position.no_defaults is not None:
        yield forbidden(f"{path}.default", f"must not be set {position.no_defaults}")
    for word in _UNSUPPORTED:
        if openapi.get(word) is not None:
            yield forbidden(f"{path}.{word}", f"{word} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(openapi.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if position.inside_meta and openapi.get("x-kubernetes-embedded-resource"):
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if openapi.get("uniqueItems"):
        message = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", message)
    if openapi.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid_value(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")


_LIST, _KEYS, _MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"


def list_problems(openapi: Openapi, path: str) -> Iterator[Cause]:
    """Return what is wrong with the list and map type of one node: keys must exist, be scalars and be always there."""
    yield from _map_type(openapi, path)
    kind, listed = openapi.get("type") or "", openapi.get(_LIST)
    items = openapi.get("items")
    if listed is not None and kind != "array":
        message = f"must be array if {_LIST} is specified"
        yield invalid_value(f"{path}.type", kind, message) if kind else required(f"{path}.type", message)
    elif listed == "set" and isinstance(items, dict):
        yield from _set_items(items, path)
    if listed not in (None, "atomic", "set", "map"):
        yield not_supported(f"{path}.{_LIST}", listed, ["atomic", "set", "map"])
    if openapi.get(_KEYS) and listed != "map":
        message = f"must be map if {_KEYS} is non-empty"
        yield invalid_value(f"{path}.{_LIST}", listed, message) if listed else required(f"{path}.{_LIST}", message)
    if listed == "map":
        yield from _map_items(openapi, items, path)
    if isinstance(items, dict) and listed in ("set", "map"):
        yield from _always_there(openapi, items, listed, path)


def _map_type(openapi: Openapi, path: str) -> Iterator[Cause]:
    kind, mapped = openapi.get("type") or "", openapi.get(_MAP)
    if mapped is not None and kind != "object":
        message = f"must be object if {_MAP} is specified"
        yield invalid_value(f"{path}.type", kind, message) if kind else required(f"{path}.type", message)
    if mapped not in (None, "atomic", "granular"):
        yield not_supported(f"{path}.{_MAP}", mapped, ["atomic", "granular"])


def _set_items(items: Openapi, path: str) -> Iterator[Cause]:
    message = f"must be atomic as item of a list with {_LIST}=set"
    if items.get("type") == "array" and items.get(_LIST) not in (None, "atomic"):
        yield invalid_value(f"{path}.items.{_LIST}", items.get(_LIST), message)
    if items.get("type") == "object" and items.get(_MAP) != "atomic":
        yield invalid_value(f"{path}.items.{_MAP}", items.get(_LIST), message)


def _map_items(openapi: Openapi, items: Any, path: str) -> Iterator[Cause]:
    keys = openapi.get(_KEYS) or []
    if not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST} is map")
    if not isinstance(items, dict):
        return
    if items.get("type") != "object":
        yield invalid_value(
            f"{path}.items.type", items.get("type") or "", f"must be object if parent array's {_LIST} is map"
        )
        return
    for position, key in enumerate(keys):
        described = (items.get("properties") or {}).get(key)
        if described is None:
            yield invalid_value(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        elif described.get("type") in ("array", "object"):
            message = f"must be a scalar type if parent array's {_LIST} is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", items["type"], message)
        if key in keys[:position]:
            yield invalid_value(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")


def _always_there(openapi: Openapi, items: Openapi, listed: str, path: str) -> Iterator[Cause]:
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST} is {listed}")
    for key in (openapi.get(_KEYS) or ()) if listed == "map" else ():
        described = (items.get("properties") or {}).get(key)
        if described is None:
            continue
        at, subject = f"{path}.items.properties[{key}]", f"this property is in {_KEYS}, so it"
        if key not in (items.get("required") or ()) and described.get("default") is None:
            yield required(f"{at}.default", f"{subject} must have a default or be a required property")
        if described.get("nullable"):
            yield forbidden(f"{at}.nullable", f"{subject} cannot be nullable")
