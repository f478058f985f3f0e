"""One write, and what came with it: read as an object of its kind, or refused in the words of a real server."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import invalid, invalid_value
from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.kinds.normalising import normalised
from fleetqueue.embedded.apiserver.kinds.table import type_of
from fleetqueue.embedded.apiserver.registry.expected_kind import check_kind, check_patched_kind
from fleetqueue.embedded.apiserver.registry.owner_references import with_owners
from fleetqueue.embedded.apiserver.registry.served import Served

STRICT, IGNORE = "Strict", "Ignore"


@dataclass(slots=True)
class Write:
    """One write: who, as which field manager, through which subresource; and what the client should be told."""

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
    """What else is wrong with the body and can be lived with."""
    patch: Callable[[Manifest], str] | None = None
    """How a refusal shows the patch that led to an object that cannot be read; None where there was no patch."""
    is_strategic: bool = False
    path_name: str = ""
    """The name that the request's path has; none where an object is created in its collection."""


def understood(served: Served, obj: Manifest, known: Manifest | None, write: Write) -> Manifest:
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
    """Return the object with its managedFields emptied where that was asked for: to Go that is as if nothing was."""
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
    """Warn of what is wrong with a body and can be lived with, or refuse it for that."""
    found = [*write.mistakes, *(f'unknown field "{path}"' for path in unknown)]
    if found and write.validation == STRICT:
        is_yaml = found[0].startswith("line ")
        told = f"yaml: unmarshal errors:\n  {', '.join(found)}" if is_yaml else ", ".join(found)
        raise _unreadable(resource, obj, f"strict decoding error: {told}", write)
    if write.validation != IGNORE:
        write.warnings += [warning for warning in found if warning not in write.warnings]


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
    found, wanted = _FOUND.get(match[1], match[1]), match[2]
    if wanted.startswith(("[]", "map[")):
        return f"cannot restore {'slice' if wanted.startswith('[]') else 'map'} from {found}"
    return f"cannot restore struct from: {found}" if "." in wanted else f"unrecognized type: {wanted}"
