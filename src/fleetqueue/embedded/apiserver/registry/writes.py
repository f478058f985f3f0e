"""One write and its body: read as an object of the kind that the path names, or refused as a real server does."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import invalid, invalid_value
from fleetqueue.embedded.apiserver.kinds.go_text import json_text
from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.kinds.normalising import normalised
from fleetqueue.embedded.apiserver.kinds.table import UnknownKind, type_of
from fleetqueue.embedded.apiserver.registry.served import Served

STRICT, IGNORE = "Strict", "Ignore"


@dataclass(slots=True)
class Write:
    """One write: its user, field manager and subresource; and the warnings for the client."""

    user: User
    manager: str = ""
    subresource: str = ""
    dry_run: bool = False
    owns: bool = True
    """Whether what is changed becomes the manager's own."""
    is_apply: bool = False
    """Whether the change has taken care of managedFields itself."""
    warnings: list[str] = field(default_factory=list)
    validation: str = ""
    """What is done about fields that are not known: Strict refuses, Ignore is silent, all else warns."""
    mistakes: Sequence[str] = ()
    """What else is wrong with the body and only warned of."""
    patch: Callable[[Manifest], str] | None = None
    """How a refusal shows the patch that led to an object that cannot be read; None where there was no patch."""
    is_strategic: bool = False
    path_name: str = ""
    """The name that the request's path has; none where an object is created in its collection."""


def decoded(served: Served, obj: Manifest, known: Manifest | None, write: Write) -> Manifest:
    """Return what came as an object of its kind, with defaults; refuses what cannot be read."""
    strategy, came = served.strategy, obj
    try:
        if write.patch is not None:
            check_patched_kind(served, obj)
        obj, unknown = (obj, ()) if is_merged(served, write) else strategy.read(obj, known)
    except Unreadable as error:
        raise _unreadable(served.resource, obj, str(error), write) from error
    _tell(served.resource, obj, unknown, write)
    obj = _with_cleared_entries(strategy.default(obj), came)
    return with_owners(obj, write.warnings, is_patched=write.is_apply or write.patch is not None)


def _with_cleared_entries(obj: Manifest, came: Manifest) -> Manifest:
    """Return the object with its managedFields emptied where the body says so; decoding had dropped the empty list."""
    if (came.get("metadata") or {}).get("managedFields") != [] or obj["metadata"].get("managedFields") == []:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "managedFields": []}}


def is_merged(served: Served, write: Write) -> bool:
    """Tell whether an object is what an apply made of a custom kind: only what is stored of that is read again."""
    return write.is_apply and served.is_custom


def typed(resource: Resource, body: Any, write: Write) -> Manifest:
    """Return a body that is no stored object, such as a Scale, as one of its kind; refuses what cannot be read."""
    body = {} if body is None else body
    try:
        if isinstance(body, dict):
            check_kind(resource, body)
        after, unknown = normalised(body, type_name=type_of(resource.group, resource.version, resource.kind))
    except Unreadable as error:
        raise _unreadable(resource, body, str(error), write) from error
    _tell(resource, body, unknown, write)
    return after


def _tell(resource: Resource, obj: Manifest, unknown: Sequence[str], write: Write) -> None:
    """Warn of unknown fields and other mistakes in a body, or refuse it where validation is strict."""
    problems = [*write.mistakes, *(f'unknown field "{path}"' for path in unknown)]
    if problems and write.validation == STRICT:
        is_yaml = problems[0].startswith("line ")
        message = f"yaml: unmarshal errors:\n  {', '.join(problems)}" if is_yaml else ", ".join(problems)
        raise _unreadable(resource, obj, f"strict decoding error: {message}", write)
    if write.validation != IGNORE:
        write.warnings += [warning for warning in problems if warning not in write.warnings]


def _unreadable(resource: Resource, obj: Manifest, why: str, write: Write) -> errors.ApiError:
    if write.patch is not None:
        why = _converted(why) if write.is_strategic else why
        return invalid("", "", "", [invalid_value("patch", write.patch(obj), why)])
    message = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'
    return errors.BadRequest(message, reason="BadRequest")


_MISMATCH: Final = re.compile(r"json: cannot unmarshal (\w+)(?: \S+)? into .* of type (\S+)")
_FOUND: Final = {"object": "map[string]interface {}", "array": "[]interface {}", "number": "int64"}


def _converted(why: str) -> str:
    """Say of a value of the wrong type what a real server says of strategic patches, which it reads in another way."""
    match = _MISMATCH.fullmatch(why)
    if match is None:
        return why
    kind, wanted = _FOUND.get(match[1], match[1]), match[2]
    if wanted.startswith(("[]", "map[")):
        return f"cannot restore {'slice' if wanted.startswith('[]') else 'map'} from {kind}"
    return f"cannot restore struct from: {kind}" if "." in wanted else f"unrecognized type: {wanted}"


REPEATED_OWNERS: Final = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may"
    " reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def with_owners(obj: Manifest, warnings: list[str], *, is_patched: bool) -> Manifest:
    """Return the object with each of its owners once; warns of repeated ones."""
    owners = obj["metadata"].get("ownerReferences") if "metadata" in obj else None
    if not owners or len(owners) < 2:
        return obj
    unique: list[Manifest] = []
    repeated: list[str] = []
    for owner in owners:
        if owner in unique:
            repeated.append(str(owner.get("uid")))
        else:
            unique.append(owner)
    if not repeated:
        return obj
    # A real server looks at patches later than at whole objects, and says so.
    when = " after mutating admission happens" if is_patched else ""
    warnings.append(REPEATED_OWNERS.format(when, ", ".join(repeated)))
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": unique}}


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
