"""The errors of a storage, worded as the real server words them."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.storage import keys


def not_found(key: str) -> errors.NotFound:
    return errors.NotFound(f"{_shown(key)} not found", reason="NotFound", details=_details(key))


def already_exists(key: str) -> errors.AlreadyExists:
    return errors.AlreadyExists(f"{_shown(key)} already exists", reason="AlreadyExists", details=_details(key))


def stale(key: str) -> errors.Conflict:
    """The object is not the version any more that the writer built on."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    message = f"Operation cannot be fulfilled on {_shown(key)}: {why}"
    return errors.Conflict(message, reason="Conflict", details=_details(key))


def watch_too_old(since: int, compacted: int) -> errors.Gone:
    return errors.Gone(f"too old resource version: {since} ({compacted})", reason="Expired")


def list_too_old() -> errors.Gone:
    return errors.Gone("The resourceVersion for the provided list is too old.", reason="Expired")


def not_reached(revision: int, current: int) -> errors.ServerError:
    """A client names a revision that does not exist yet, as after a restore from an old copy."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {revision}, current: {current}"
    return errors.ServerError(message, code=504, reason="Timeout", details={"causes": [cause], "retryAfterSeconds": 1})


def not_stored(why: object) -> errors.ServerError:
    """The log did not take the change, so it has not happened."""
    text = f"the change could not be stored: {why}"
    details = {"causes": [{"message": text}]}
    return errors.ServerError(f"Internal error occurred: {text}", reason="InternalError", details=details)


def closed() -> errors.ServerError:
    return errors.ServerError("the storage is closed", code=503, reason="ServiceUnavailable")


def _shown(key: str) -> str:
    group, resource, _, name = keys.parts_of(key)
    return f'{resource}.{group} "{name}"' if group else f'{resource} "{name}"'


def _details(key: str) -> Mapping[str, Any]:
    group, resource, _, name = keys.parts_of(key)
    return {"name": name, **({"group": group} if group else {}), "kind": resource}
