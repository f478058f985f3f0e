"""CustomResourceDefinitions: what may be left out, what is refused, what the server alone says."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.auth.users import User
from fleetqueue.apiserver.kinds.causes import Cause, invalid_value, not_supported, required
from fleetqueue.apiserver.validation.metadata import label, service_name, subdomain
from fleetqueue.apiserver.validation.schema_problems import schema_problems

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a deleted definition until its objects are gone."""
SCOPES: Final = ("Cluster", "Namespaced")


def default(obj: Manifest) -> Manifest:
    """Fill in the names that follow from others, and how versions are converted."""
    spec = obj.get("spec") or {}
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    names.setdefault("singular", kind.lower())
    if kind:
        names.setdefault("listKind", f"{kind}List")
    after = {**spec, "names": names}
    after.setdefault("conversion", {"strategy": "None"})
    return {**obj, "spec": after}


def prepare(obj: Manifest, old: Manifest | None, user: User) -> Manifest:
    """Remember in which versions objects may be stored."""
    status = dict((old or {}).get("status") or {})
    stored = list(status.get("storedVersions") or ())
    for version in obj["spec"].get("versions") or ():
        if version.get("storage") and version.get("name") not in stored:
            stored.append(version["name"])
    return {**obj, "status": {**status, "storedVersions": stored}}


def dying(obj: Manifest) -> Manifest:
    """Let a definition wait for its objects."""
    metadata = obj["metadata"]
    finalizers = list(metadata.get("finalizers") or ())
    if CLEANUP not in finalizers:
        finalizers.append(CLEANUP)
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    pending = {"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "message": message}
    status = obj.get("status") or {}
    conditions = [*(status.get("conditions") or ()), {"lastTransitionTime": timestamp(clock.now()), **pending}]
    return {**obj, "metadata": {**metadata, "finalizers": finalizers}, "status": {**status, "conditions": conditions}}


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return list(_faults(new, old))


def _faults(new: Manifest, old: Manifest | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    names, group = spec.get("names") or {}, str(spec.get("group") or "")
    name = new["metadata"].get("name", "")
    if name != f"{names.get('plural', '')}.{group}":
        yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _group_faults(group)
    yield from _scope_faults(spec, old)
    yield from _name_faults(names)
    yield from _version_faults(spec.get("versions") or (), old)


def _group_faults(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
        return
    yield from (invalid_value("spec.group", group, why) for why in subdomain(group))
    if "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")


def _scope_faults(spec: Mapping[str, Any], old: Manifest | None) -> Iterator[Cause]:
    scope = spec.get("scope") or ""
    if not scope:
        yield required("spec.scope")
    elif scope not in SCOPES:
        yield not_supported("spec.scope", scope, SCOPES)
    elif old is not None and scope != old["spec"].get("scope"):
        yield invalid_value("spec.scope", scope, "field is immutable")


def _name_faults(names: Mapping[str, Any]) -> Iterator[Cause]:
    for part in ("plural", "singular", "kind", "listKind"):
        value = str(names.get(part) or "")
        if not value:
            yield required(f"spec.names.{part}")
        else:
            yield from (invalid_value(f"spec.names.{part}", value, why) for why in service_name(value.lower()))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid_value("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")


def _version_faults(versions: Sequence[Manifest], old: Manifest | None) -> Iterator[Cause]:
    if not versions:
        yield required("spec.versions", "must have at least one version")
        return
    found = [str(version.get("name") or "") for version in versions]
    for index, version in enumerate(versions):
        yield from _one_version(version, f"spec.versions[{index}]")
    if len(set(found)) < len(found):
        yield invalid_value("spec.versions", list(versions), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield invalid_value("spec.versions", list(versions), detail)


def _one_version(version: Manifest, path: str) -> Iterator[Cause]:
    name = str(version.get("name") or "")
    yield from (invalid_value(f"{path}.name", name, why) for why in label(name))
    openapi = (version.get("schema") or {}).get("openAPIV3Schema")
    if openapi is None:
        yield required(f"{path}.schema.openAPIV3Schema", "schemas are required")
        return
    has_status = "status" in (version.get("subresources") or {})
    yield from schema_problems(openapi, f"{path}.schema.openAPIV3Schema", has_status=has_status)
