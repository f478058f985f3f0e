"""What CustomResourceDefinitions are refused for: names, versions, columns, scale; not the schemas themselves.

What all versions have in common is looked at once, and blamed at the place that the oldest form of definitions had for
it: `spec.validation` where all schemas are the same, `spec.additionalPrinterColumns` where all columns are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, duplicate, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.names import old_label, subdomain
from fleetqueue.embedded.apiserver.registry.kinds import definition_schemas
from fleetqueue.embedded.apiserver.registry.kinds.definition_approval import approval_faults
from fleetqueue.embedded.apiserver.registry.kinds.definition_conversion import conversion_faults

SCOPES: Final = ("Cluster", "Namespaced")
IMMUTABLE: Final = "field is immutable"
MIXED: Final = "may have mixed case, but should otherwise match: "
UNIQUE, ONE_STORED = "must contain unique version names", "must have exactly one version marked as storage version"
PRESERVED: Final = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
)
SELECTABLE: Final = ("string", "boolean", "integer")
NOT_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
MOVED: Final = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until a storage"
    " migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new.get("spec") or {}
    problems = [] if old is not None else list(_full_name_faults(new["metadata"].get("name", ""), spec))
    problems += _spec_faults(spec)
    if old is not None:
        problems += _change_faults(spec, old)
    problems += name_faults((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")
    problems += _stored_faults((new.get("status") or {}).get("storedVersions"), spec.get("versions") or ())
    problems += approval_faults(new, old)
    if spec.get("preserveUnknownFields"):
        problems.append(invalid_value("spec.preserveUnknownFields", True, PRESERVED))
    return problems


def status_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return list(name_faults((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames"))


def _full_name_faults(name: str, spec: Mapping[str, Any]) -> Iterator[Cause]:
    if name != f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group') or ''}":
        yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _change_faults(spec: Mapping[str, Any], old: Manifest) -> Iterator[Cause]:
    before, names, old_names = old["spec"], spec.get("names") or {}, old["spec"].get("names") or {}
    conditions = (old.get("status") or {}).get("conditions") or ()
    if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
        if spec.get("scope") != before.get("scope"):
            yield invalid_value("spec.scope", spec.get("scope", ""), IMMUTABLE)
        if names.get("kind") != old_names.get("kind"):
            yield invalid_value("spec.names.kind", names.get("kind", ""), IMMUTABLE)
    if spec.get("group") != before.get("group"):
        yield invalid_value("spec.group", spec.get("group", ""), IMMUTABLE)
    if names.get("plural") != old_names.get("plural"):
        yield invalid_value("spec.names.plural", names.get("plural", ""), IMMUTABLE)


def _stored_faults(stored: Sequence[str] | None, versions: Sequence[Manifest]) -> Iterator[Cause]:
    if not stored:
        yield invalid_value("status.storedVersions", None, "must have at least one stored version")
        return
    names = [version.get("name") for version in versions]
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            detail = f"must have the storage version {version.get('name')}"
            yield invalid_value("status.storedVersions", list(stored), detail)
    for index, name in enumerate(stored):
        if name not in names:
            yield invalid_value(f"status.storedVersions[{index}]", name, MOVED.format(name))


# The spec


def _spec_faults(spec: Mapping[str, Any]) -> Iterator[Cause]:
    versions = spec.get("versions") or ()
    yield from _group_faults(str(spec.get("group") or ""))
    scope = spec.get("scope") or ""
    if not scope:
        yield required("spec.scope")
    elif scope not in SCOPES:
        yield not_supported("spec.scope", scope, SCOPES)
    yield from _version_faults(spec, versions)
    names = spec.get("names") or {}
    for part in ("plural", "singular", "kind", "listKind"):
        if not names.get(part):
            yield required(f"spec.names.{part}")
    yield from name_faults(names, "spec.names")
    yield from _common_faults(versions)
    yield from conversion_faults(spec.get("conversion"))


def _group_faults(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif why := subdomain(group):
        yield invalid_value("spec.group", group, ",".join(why))
    elif "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")


def name_faults(names: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for part in ("plural", "singular", "kind", "listKind"):
        value = str(names.get(part) or "")
        is_kind = part.lower().endswith("kind")
        if value and (why := old_label(value.lower() if is_kind else value)):
            yield invalid_value(f"{path}.{part}", value, (MIXED if is_kind else "") + ",".join(why))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid_value(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    for part in ("shortNames", "categories"):
        for index, value in enumerate(names.get(part) or ()):
            if why := old_label(value):
                yield invalid_value(f"{path}.{part}[{index}]", value, ",".join(why))


def _version_faults(spec: Mapping[str, Any], versions: Sequence[Manifest]) -> Iterator[Cause]:
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", str(version.get("name") or "")
        if why := old_label(name):
            yield invalid_value(f"{path}.name", name, ",".join(why))
            if index == 0:
                yield invalid_value("spec.version", name, ",".join(why))
        yield from _deprecation_faults(version, path)
        if _openapi(version) is None:
            yield required(f"{path}.schema.openAPIV3Schema")
        yield from _part_faults(version, path, versions)
    if len({version.get("name") for version in versions}) < len(versions):
        yield invalid_value("spec.versions", list(versions), UNIQUE)
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid_value("spec.versions", list(versions) or spec.get("versions"), ONE_STORED)


def _deprecation_faults(version: Manifest, path: str) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid_value(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")
        return
    if len(warning) > 256:
        yield invalid_value(f"{path}.deprecationWarning", warning, "must be <= 256 characters long")
    if not warning:
        yield invalid_value(f"{path}.deprecationWarning", warning, "must not be an empty string")


# The parts of versions: schemas, subresources, columns, fields to select by


def _is_common(versions: Sequence[Manifest], part: str) -> bool:
    return all((version.get(part) or None) == (versions[0].get(part) or None) for version in versions)


def _part_faults(version: Manifest, path: str, versions: Sequence[Manifest]) -> Iterator[Cause]:
    """Tell what is wrong with the parts that are a version's own."""
    if not _is_common(versions, "schema"):
        yield from _schema_faults(version, f"{path}.schema.openAPIV3Schema", has_status=_has_status(version))
    if not _is_common(versions, "subresources"):
        yield from scale_faults(version.get("subresources") or {}, f"{path}.subresources")
    if not _is_common(versions, "additionalPrinterColumns"):
        yield from column_faults(version.get("additionalPrinterColumns") or (), f"{path}.additionalPrinterColumns")
    if not _is_common(versions, "selectableFields") and version.get("selectableFields"):
        if _is_common(versions, "schema"):
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield invalid_value(f"{path}.selectableFields", "", detail)
        else:
            yield from _selectable_faults(version, f"{path}.selectableFields")


def _common_faults(versions: Sequence[Manifest]) -> Iterator[Cause]:
    """Tell what is wrong with the parts that all versions have in common."""
    if not versions:
        return
    first = versions[0]
    if _is_common(versions, "schema"):
        has_status = any(map(_has_status, versions))
        yield from _schema_faults(first, "spec.validation.openAPIV3Schema", has_status=has_status)
    if _is_common(versions, "subresources"):
        yield from scale_faults(first.get("subresources") or {}, "spec.subresources")
    if _is_common(versions, "additionalPrinterColumns"):
        yield from column_faults(first.get("additionalPrinterColumns") or (), "spec.additionalPrinterColumns")
    if _is_common(versions, "selectableFields") and first.get("selectableFields"):
        if _is_common(versions, "schema") and _openapi(first) is not None:
            yield from _selectable_faults(first, "spec.selectableFields")
        else:
            yield invalid_value("spec.selectableFields", "", "may only be set when validations.schema is included")


def _has_status(version: Manifest) -> bool:
    return "status" in (version.get("subresources") or {})


def _openapi(version: Manifest) -> Manifest | None:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _selectable_faults(version: Manifest, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, field in enumerate(version["selectableFields"]):
        where, asked = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not asked:
            yield required(where)
            continue
        schema, why = _found(asked, _openapi(version) or {})
        if why:
            yield invalid_value(where, asked, f"is an invalid path: {why}")
            continue
        if asked.startswith(".metadata"):
            yield invalid_value(where, asked, "must not point to fields in metadata")
        if (schema or {}).get("type") not in SELECTABLE:
            yield invalid_value(where, asked, NOT_SELECTABLE)
        if asked in seen:
            yield duplicate(where, asked)
        seen.add(asked)


def _found(path: str, schema: Manifest | None) -> tuple[Manifest | None, str]:
    """Return the schema at a path, or why it leads nowhere."""
    if not path.startswith("."):
        return None, f"expected [ or . but got: {path.partition('.')[0]}"
    for part in path[1:].split("."):
        if "[" in part:
            return None, "array notation is not allowed"
        inner = (schema or {}).get("properties")
        schema = inner.get(part) if inner is not None else (schema or {}).get("additionalProperties")
        if not isinstance(schema, dict):
            return None, "does not refer to a valid field"
    return schema, ""


def _schema_faults(version: Manifest, path: str, *, has_status: bool) -> Sequence[Cause]:
    openapi = _openapi(version)
    return () if openapi is None else definition_schemas.problems(openapi, path, has_status=has_status)


TYPES: Final = "boolean,date,integer,number,string"
FORMATS: Final = "byte,date,date-time,double,float,int32,int64,password"


def column_faults(columns: Sequence[Mapping[str, Any]], path: str) -> Iterator[Cause]:
    for index, column in enumerate(columns):
        where, kind, shape = f"{path}[{index}]", column.get("type") or "", column.get("format") or ""
        if not column.get("name"):
            yield required(f"{where}.name")
        if not kind:
            yield required(f"{where}.type", f"must be one of {TYPES}")
        elif kind not in TYPES.split(","):
            yield invalid_value(f"{where}.type", kind, f"must be one of {TYPES}")
        if shape and shape not in FORMATS.split(","):
            yield invalid_value(f"{where}.format", shape, f"must be one of {FORMATS}")
        if not column.get("jsonPath"):
            yield required(f"{where}.JSONPath")
        else:
            yield from _path_faults(f"{where}.JSONPath", column["jsonPath"])


def scale_faults(subresources: Mapping[str, Any], path: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for name, under in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        where, value = f"{path}.scale.{name}", scale.get(name) or ""
        if not value:
            yield required(where)
        elif problems := list(_path_faults(where, value)):
            yield from problems
        elif not value.startswith(f"{under}."):
            yield invalid_value(where, value, f"should be a json path under {under}")
    where, value = f"{path}.scale.labelSelectorPath", scale.get("labelSelectorPath") or ""
    if value and (problems := list(_path_faults(where, value))):
        yield from problems
    elif value and not value.startswith((".spec.", ".status.")):
        yield invalid_value(where, value, "should be a json path under either .spec or .status")


def _path_faults(where: str, path: str) -> Iterator[Cause]:
    if not path.startswith("."):
        yield invalid_value(where, path, "must be a simple json path starting with .")
