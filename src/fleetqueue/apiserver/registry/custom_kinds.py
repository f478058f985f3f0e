"""From a CustomResourceDefinition to the resources that it defines: one for every version that is served."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.apiserver.kinds import facts
from fleetqueue.apiserver.kinds.json_values import Unreadable
from fleetqueue.apiserver.kinds.schema import Schema
from fleetqueue.apiserver.kinds.selectors import field_reader
from fleetqueue.apiserver.registry.served import Served, Strategy
from fleetqueue.apiserver.validation import custom_resources, embedded_objects
from fleetqueue.apiserver.validation.defaulting import with_defaults
from fleetqueue.apiserver.validation.pruning import prune
from fleetqueue.apiserver.validation.structural_schema import CustomSchema, build

OBJECT_META: Final = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
TEXT: Final = Schema("string")


def custom_kinds(definition: Manifest) -> list[Served]:
    """Return what a definition serves, by the names that were accepted for it."""
    spec = definition["spec"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    return [_served(definition, version, stored) for version in spec["versions"] if version.get("served")]


def _served(definition: Manifest, version: Manifest, stored: str) -> Served:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    custom = build((version.get("schema") or {}).get("openAPIV3Schema") or {})
    resource = Resource(spec["group"], version["name"], names["kind"], names["plural"], spec["scope"] == "Namespaced")
    parts = tuple(sorted(version.get("subresources") or {}))
    served = Served(
        resource,
        whole_schema(custom.schema),
        _strategy(custom, resource, version),
        list_kind=names["listKind"],
        singular=names["singular"],
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(part for part in parts if part == "status"),
        is_custom=True,
        columns=tuple(version.get("additionalPrinterColumns") or ()),
        deprecation=_deprecation(resource, version),
    )
    if version["name"] == stored:
        return served
    other = replace(resource, version=stored).api_version
    return replace(served, to_store=_renamed(other), from_store=_renamed(resource.api_version))


def whole_schema(schema: Schema) -> Schema:
    """Return the schema of whole objects: the definition's own, and what all objects have."""
    common = {"apiVersion": TEXT, "kind": TEXT, "metadata": facts.schema_of_type(OBJECT_META)}
    return replace(schema, properties={**schema.properties, **common})


def _strategy(custom: CustomSchema, resource: Resource, version: Manifest) -> Strategy:
    return Strategy(
        read=partial(_read, custom.schema),
        default=lambda obj: with_defaults(obj, custom.schema),
        faults=lambda new, old: custom_resources.validate(new, custom, old),
        status_faults=lambda new, old: custom_resources.validate_status(new, custom, old or {}),
        fields={path: field_reader(path) for path in _selectable(version)},
        updates_blindly=False,
        keeps_status_metadata=True,
    )


def _read(schema: Schema, obj: Manifest, known: Manifest | None) -> tuple[Manifest, Sequence[str]]:
    dropped: list[str] = []
    pruned = prune(obj, schema, dropped)
    if (fault := embedded_objects.malformed(pruned, schema)) is not None:
        raise Unreadable(fault.sentence)
    return pruned, dropped


def _selectable(version: Mapping[str, Any]) -> list[str]:
    return [field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()]


def _renamed(api_version: str) -> Callable[[Manifest], Manifest]:
    """The conversion without a converter: the same object under another version."""
    return lambda obj: {**obj, "apiVersion": api_version}


def _deprecation(resource: Resource, version: Manifest) -> str:
    if not version.get("deprecated"):
        return ""
    return version.get("deprecationWarning") or f"{resource.api_version} {resource.kind} is deprecated"
