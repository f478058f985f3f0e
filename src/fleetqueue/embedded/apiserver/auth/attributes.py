"""What a request does, in the terms of roles: verb, resource, name or URL."""

from typing import NamedTuple

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.go_text import quoted


class Attributes(NamedTuple):
    """One request; `path` is set instead of a resource where the request is for none."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def forbidden(asked: Attributes, reason: str = "") -> errors.Forbidden:
    """Build the answer to who may not do this."""
    message = f"User {quoted(asked.user.name)} cannot {asked.verb} "
    if asked.path:
        message = f'forbidden: {message}path "{asked.path}"'
        details = {}
    else:
        scope = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
        message += f'resource "{asked.full_resource}" in API group "{asked.group}" {scope}'
        message = f"{_qualified(asked)} is forbidden: {message}"
        details = {"name": asked.name, "group": asked.group, "kind": asked.resource}
    if reason:
        message += f": {reason}"
    return errors.Forbidden(message, reason="Forbidden", details={k: v for k, v in details.items() if v})


def _qualified(asked: Attributes) -> str:
    kind = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    return f'{kind} "{asked.name}"' if asked.name else kind
