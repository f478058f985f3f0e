"""What a request is about, in a few words: `apply workloads/team-a/w/status`."""

import re
from dataclasses import dataclass
from typing import Final

from fleetqueue.api.meta import key_of
from fleetqueue.api.requests import APPLY_PATCH, Request

PATH: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/(?!status$|finalize$)))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?"
)
READS: Final = ("get", "list", "watch")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    verb: str
    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str

    @property
    def key(self) -> str:
        return key_of(self.namespace, self.name)

    @property
    def is_write(self) -> bool:
        """Whether it changes what is stored; reviews and tokens are questions that come as a POST."""
        return self.verb not in READS and not self.plural.endswith("reviews") and self.subresource != "token"

    def __str__(self) -> str:
        where = self.key if self.name else self.namespace
        return f"{self.verb} " + "/".join(part for part in (self.plural, where, self.subresource) if part)


def target_of(request: Request) -> RequestTarget | None:
    """Read the path of a request; None where it is not about objects."""
    match = PATH.fullmatch(request.path)
    if match is None:
        return None
    parts = {name: value or "" for name, value in match.groupdict().items()}
    if request.method == "POST" and not parts["name"] and isinstance(request.body, dict):
        parts["name"] = (request.body.get("metadata") or {}).get("name") or ""
    return RequestTarget(_verb(request, named=bool(parts["name"])), **parts)


def words(request: Request) -> str:
    """Say a request in words; one that is not about objects is its method and path."""
    return str(target_of(request) or request)


def _verb(request: Request, *, named: bool) -> str:
    if request.method == "GET":
        return "watch" if request.query.get("watch") == "true" else "get" if named else "list"
    if request.method == "PATCH":
        return "apply" if request.content_type == APPLY_PATCH else "patch"
    if request.method == "DELETE":
        return "delete" if named else "deletecollection"
    return {"POST": "create", "PUT": "update"}[request.method]
