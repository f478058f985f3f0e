"""From a CustomResourceDefinition to the resources that it defines: one for every version that is served."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final

from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.causes import Cause
from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.kinds.selectors import field_reader
from fleetqueue.embedded.apiserver.registry.conversion import (
    NO_CONVERTERS,
    Converters,
    KindVersions,
    only_renamed,
    version_order,
)
from fleetqueue.embedded.apiserver.registry.kinds.scaling import custom_scale_faults
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.strategy import (
    UNSUPPORTED_FIELD,
    RestUpdateStrategy,
    SelectableFields,
    StatusStrategy,
    Strategy,
)
from fleetqueue.embedded.apiserver.validation import custom_resources
from fleetqueue.embedded.apiserver.validation.defaulting import with_defaults
from fleetqueue.embedded.apiserver.validation.metadata import STANDARD_FINALIZERS
from fleetqueue.embedded.apiserver.validation.pruning import prune
from fleetqueue.embedded.apiserver.validation.structural_schema import CustomSchema, build

OBJECT_META: Final = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
TEXT: Final = Schema("string")
UNQUALIFIED: Final = (
    "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
)


def custom_kinds(definition: Manifest, converters: Converters = NO_CONVERTERS) -> list[Served]:
    """Return what a definition serves, by the names that were accepted for it."""
    versions = _versions(definition, converters)
    return [
        _served(definition, version, versions) for version in definition["spec"]["versions"] if version.get("served")
    ]


def _versions(definition: Manifest, converters: Converters) -> KindVersions:
    spec = definition["spec"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    schemas = {version["name"]: _custom(version).schema for version in spec["versions"]}
    convert = converters.get((spec["group"], spec["names"]["kind"]), only_renamed)
    wholes = {name: whole_schema(schema) for name, schema in schemas.items()}
    return KindVersions(spec["group"], stored, schemas, wholes, convert)


def _custom(version: Manifest) -> CustomSchema:
    return build((version.get("schema") or {}).get("openAPIV3Schema") or {})


def _served(definition: Manifest, version: Manifest, versions: KindVersions) -> Served:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    custom = _custom(version)
    resource = Resource(spec["group"], version["name"], names["kind"], names["plural"], spec["scope"] == "Namespaced")
    parts = tuple(sorted(version.get("subresources") or {}))
    served = Served(
        resource,
        versions.wholes[version["name"]],
        _strategy(custom, resource, version),
        list_kind=names["listKind"],
        singular=names["singular"],
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(part for part in parts if part == "status"),
        is_custom=True,
        scale=(version.get("subresources") or {}).get("scale"),
        stored_version=versions.stored,
        columns=tuple(version.get("additionalPrinterColumns") or ()),
        deprecation=_deprecation(resource, version, spec["versions"]),
        other_versions=versions.other_versions(version["name"]),
    )
    return _converting(served, versions, definition["status"].get("storedVersions") or ())


def _converting(served: Served, versions: KindVersions, stored: Sequence[str]) -> Served:
    """Let a version be converted, if it is not the stored one, or if objects may have been stored in another."""
    name = served.resource.version
    to_store = None if name == versions.stored else versions.store
    if to_store is None and len(stored) < 2:
        return served
    return replace(served, to_store=to_store, from_store=lambda obj: versions.show(obj, name))


@lru_cache(maxsize=1000)
def whole_schema(schema: Schema) -> Schema:
    """Return the schema of whole objects: the definition's own, and what all objects have."""
    common = {"apiVersion": TEXT, "kind": TEXT, "metadata": facts.schema_of_type(OBJECT_META)}
    return replace(schema, properties={**schema.properties, **common})


def _strategy(custom: CustomSchema, resource: Resource, version: Manifest) -> Strategy:
    scale = (version.get("subresources") or {}).get("scale") or {}

    def faults(new: Manifest, old: Manifest | None) -> list[Cause]:
        return [*custom_resources.validate(new, custom, old), *custom_scale_faults(new, scale)]

    def status_faults(new: Manifest, old: Manifest | None) -> list[Cause]:
        return [*custom_resources.validate_status(new, custom, old or {}), *custom_scale_faults(new, scale)]

    return Strategy(
        read=partial(_read, custom),
        default=lambda obj: with_defaults(obj, custom.schema, custom.defaulted),
        faults=faults,
        warnings=_finalizer_warnings,
        update=RestUpdateStrategy(is_unconditional=False),
        status=StatusStrategy(status_faults, keeps_metadata=True),
        selectable=SelectableFields({path: field_reader(path) for path in _selectable(version)}, UNSUPPORTED_FIELD),
    )


def _read(custom: CustomSchema, obj: Manifest, known: Manifest | None) -> tuple[Manifest, Sequence[str]]:
    dropped: list[str] = []
    return prune(obj, custom.schema, dropped, known, custom.pruned), dropped


def _finalizer_warnings(new: Manifest, old: Manifest | None) -> Sequence[str]:
    """Tell of new finalizers that do not say whose they are."""
    known = (*STANDARD_FINALIZERS, *(((old or {}).get("metadata") or {}).get("finalizers") or ()))
    names = sorted({*(new["metadata"].get("finalizers") or ())} - {*known})
    return [f"metadata.finalizers: {quoted(name)}: {UNQUALIFIED}" for name in names if "/" not in name]


def _selectable(version: Mapping[str, Any]) -> list[str]:
    return [field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()]


def _deprecation(resource: Resource, version: Manifest, versions: Sequence[Manifest]) -> str:
    """Return the warning of a deprecated version: its own, or one that names a better version if there is any."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    names = [other["name"] for other in versions if other.get("served") and not other.get("deprecated")]
    better = sorted(
        (name for name in names if version_order(name) < version_order(resource.version)), key=version_order
    )
    advice = f"; use {replace(resource, version=better[0]).api_version} {resource.kind}" if better else ""
    return f"{resource.api_version} {resource.kind} is deprecated{advice}"
