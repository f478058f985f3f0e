"""The verb, the resource and the object of a request, read from its method, path and query."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.selectors import parse_fields
from fleetqueue.embedded.apiserver.registry.list_options import flag

VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
NAMESPACE_PARTS: Final = ("status", "finalize")
"""What follows a namespace's name and is not a resource in it."""


class RequestInfo(NamedTuple):
    """Of a request that is for no resource only `path` and `verb` are set."""

    path: str
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    rest: str = ""
    """What stands behind the subresource."""
    is_resource: bool = False

    def attributes(self, user: User) -> Attributes:
        if not self.is_resource:
            return Attributes(user, self.verb, path=self.path)
        return Attributes(user, self.verb, self.group, self.resource, self.subresource, self.name, self.namespace)


def request_info(method: str, path: str, query: Mapping[str, str]) -> RequestInfo:
    """Read `/api/v1/...` and `/apis/<group>/<version>/...`; anything shorter is for no resource."""
    parts = path.strip("/").split("/")
    head = {"api": 2, "apis": 3}.get(parts[0], 0)
    if not head or len(parts) <= head:
        return RequestInfo(path, method.lower())
    group = parts[1] if parts[0] == "apis" else ""
    verb, parts, version = VERBS.get(method, ""), parts[head:], parts[head - 1]
    if parts[0] == "watch" and len(parts) > 1:
        verb, parts = "watch", parts[1:]
    namespace, parts = _in_namespace(parts)
    resource, name, subresource = (*parts[:3], "", "", "")[:3]
    if not name:
        verb, name = _of_collection(verb, query)
    rest = "/".join(parts[3:])
    return RequestInfo(path, verb, group, version, resource, subresource, name, namespace, rest, is_resource=True)


def _in_namespace(parts: list[str]) -> tuple[str, list[str]]:
    if parts[0] != "namespaces" or len(parts) == 1:
        return "", parts
    if len(parts) > 2 and parts[2] not in NAMESPACE_PARTS:
        return parts[1], parts[2:]
    return parts[1], parts


def _of_collection(verb: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Return the verb for a whole collection, and the one name that it is narrowed to, if any."""
    if verb == "delete":
        return "deletecollection", ""
    if verb not in ("get", "watch"):
        return verb, ""
    if verb == "get":
        verb = "watch" if flag(query.get("watch")) else "list"
    return verb, _only_name(query.get("fieldSelector", ""))


def _only_name(selector: str) -> str:
    try:
        terms = parse_fields(selector)
    except ValueError:
        return ""
    names = [term.value for term in terms if term.path == "metadata.name" and term.is_equal]
    return names[0] if names and "/" not in names[0] else ""
