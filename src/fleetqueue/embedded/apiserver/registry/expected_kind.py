"""Whether what came is an object of the kind that its path names, and in which words it is refused if not."""

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.kinds.causes import invalid, invalid_value
from fleetqueue.embedded.apiserver.kinds.go_text import json_text
from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.kinds.normalising import normalised
from fleetqueue.embedded.apiserver.kinds.table import UnknownKind, type_of
from fleetqueue.embedded.apiserver.registry.served import Served


def check_kind(resource: Resource, obj: Manifest, *, is_custom: bool = False) -> None:
    """Refuse an object that says to be of another kind; one that says nothing is taken for what it should be."""
    api_version, kind = obj.get("apiVersion", resource.api_version), obj.get("kind") or resource.kind
    if not api_version and not is_custom:
        api_version = resource.api_version
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    if not is_custom and (why := _unfit(resource, obj, api_version, kind)):
        version = api_version.rpartition("/")[2]
        message = f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}'
        raise errors.BadRequest(message, reason="BadRequest")
    if api_version != resource.api_version:
        message = f"the API version in the data ({api_version}) does not match the expected API version"
        raise errors.BadRequest(f"{message} ({resource.api_version})", reason="BadRequest")
    raise _another_custom_kind(resource, obj)


def check_patched_kind(served: Served, obj: Manifest) -> None:
    """Refuse what a patch made of an object where it is of another kind now; raises Unreadable with Go's words."""
    resource = served.resource
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    if served.is_custom:
        if not kind:
            bare = {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}
            raise Unreadable(f"Object 'Kind' is missing in '{json_text(bare)}'")
        raise _another_custom_kind(resource, obj)
    if why := _unfit(resource, obj, api_version or resource.api_version, kind or resource.kind):
        raise Unreadable(why)


def _unfit(resource: Resource, obj: Manifest, api_version: str, kind: str) -> str:
    """Say why an object of one built-in kind is none of another; nothing where it is only another version."""
    group, _, version = api_version.rpartition("/")
    try:
        normalised(obj, type_name=type_of(group, version, kind))
    except (UnknownKind, Unreadable) as error:
        return str(error)
    if kind == resource.kind:
        return ""
    return f"converting ({version}.{kind}) to ({_package(resource.group)}.{resource.kind}): unknown conversion"


def _package(group: str) -> str:
    """Return the Go package in which Kubernetes has its own form of a group's kinds."""
    return "core" if group in ("", "events.k8s.io") else group.partition(".")[0]


def _another_custom_kind(resource: Resource, obj: Manifest) -> errors.Invalid:
    causes = []
    if obj.get("kind") != resource.kind:
        causes.append(invalid_value("kind", obj.get("kind"), f"must be {resource.kind}"))
    if obj.get("apiVersion", resource.api_version) != resource.api_version:
        causes.append(invalid_value("apiVersion", obj["apiVersion"], f"must be {resource.api_version}"))
    name = (obj.get("metadata") or {}).get("name", "")
    return invalid(obj.get("kind") or resource.kind, resource.group, name, causes)
