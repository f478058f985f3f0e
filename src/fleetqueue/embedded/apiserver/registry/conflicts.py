"""How a write is refused that does not fit what is there."""

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.served import Served

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(served: Served, name: str, why: str, *, called: str = "") -> errors.Conflict:
    """Say why an operation cannot be done on an object as it is; `called` is the kind, where that is said."""
    group, called = served.resource.group, called or served.resource.plural
    message = f'Operation cannot be fulfilled on {f"{called}.{group}" if group else called} "{name}": {why}'
    details = {"name": name, "group": group, "kind": called}
    return errors.Conflict(message, reason="Conflict", details={k: v for k, v in details.items() if v})


def another_object(served: Served, uid: str, live: Manifest) -> errors.Conflict:
    """Say that another object is meant than the one with these metadata, as the real server's storage does."""
    path = "/".join(filter(None, (served.resource.plural, live.get("namespace"), live["name"])))
    why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {live['uid']}"
    error = f"StorageError: invalid object, Code: 4, Key: /registry/{path}, ResourceVersion: 0"
    return conflict(served, live["name"], f"{error}, AdditionalErrorMsg: {why}")
