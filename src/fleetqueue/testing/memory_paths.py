"""Which objects a request is about: its path and its selectors."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.requests import APPLY_PATCH, Request
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.selectors import Requirement

PATH: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/(?!status$|finalize$)))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?"
)
SET_TERM: Final = re.compile(r"(?P<key>\S+) (?P<operator>in|notin) \((?P<values>[^)]*)\)")
FIELDS: Final = ("metadata.name", "metadata.namespace")

Matches = Callable[[Manifest], bool]


@dataclass(frozen=True, slots=True)
class Target:
    verb: str
    group: str
    plural: str
    namespace: str
    name: str
    subresource: str

    @property
    def collection(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def key(self) -> str:
        return key_of(self.namespace, self.name)

    @property
    def is_built_in(self) -> bool:
        return "." not in self.group or self.group.endswith(".k8s.io")

    def __str__(self) -> str:
        where = self.key if self.name else self.namespace
        return f"{self.verb} " + "/".join(part for part in (self.plural, where, self.subresource) if part)


def target_of(request: Request) -> Target | None:
    """Read the path of a request; None where it is not about stored objects."""
    found = PATH.fullmatch(request.path)
    if found is None:
        return None
    parts = {name: value or "" for name, value in found.groupdict().items()}
    name = parts["name"]
    if request.method == "POST" and not name and isinstance(request.body, dict):
        name = (request.body.get("metadata") or {}).get("name") or ""
    return Target(
        _verb(request, named=bool(name)),
        parts["group"],
        parts["plural"],
        parts["namespace"],
        name,
        parts["subresource"],
    )


def _verb(request: Request, *, named: bool) -> str:
    if request.method == "GET":
        return "watch" if request.query.get("watch") == "true" else "get" if named else "list"
    if request.method == "PATCH":
        return "apply" if request.content_type == APPLY_PATCH else "patch"
    return {"POST": "create", "PUT": "update", "DELETE": "delete"}[request.method]


def resource_of(manifest: Manifest) -> Resource:
    """Find where the kind of an object lives, among all kinds that we model."""
    known = [Object]
    while known:
        kind = known.pop()
        known += kind.__subclasses__()
        resource = getattr(kind, "resource", None)
        if resource is not None and (resource.kind, resource.group) == (manifest["kind"], _group(manifest)):
            found: Resource = resource
            return found
    raise LookupError(f"no view models {manifest['kind']} of {manifest['apiVersion']}")


def selects(target: Target, query: Mapping[str, str]) -> Matches:
    """Return the question whether an object is asked for: by namespace, labels and fields."""
    requirements = [_requirement(term) for term in _terms(query.get("labelSelector", ""))]
    fields = dict(_field(term) for term in _terms(query.get("fieldSelector", "")))
    if target.namespace:
        fields["metadata.namespace"] = target.namespace

    def matches(obj: Manifest) -> bool:
        metadata = obj["metadata"]
        labels = metadata.get("labels") or {}
        return all(metadata.get(field.removeprefix("metadata.")) == value for field, value in fields.items()) and all(
            requirement.matches(labels) for requirement in requirements
        )

    return matches


def _terms(selector: str) -> list[str]:
    return [term.strip() for term in re.split(r",(?![^(]*\))", selector) if term.strip()]


def _requirement(term: str) -> Requirement:
    found = SET_TERM.fullmatch(term)
    if found:
        values = tuple(value.strip() for value in found["values"].split(","))
        return Requirement(key=found["key"], operator="In" if found["operator"] == "in" else "NotIn", values=values)
    for sign, operator in (("!=", "NotIn"), ("==", "In"), ("=", "In")):
        key, split, value = term.partition(sign)
        if split:
            return Requirement(key=key, operator=operator, values=(value,))
    return Requirement(key=term.lstrip("!"), operator="DoesNotExist" if term.startswith("!") else "Exists")


def _field(term: str) -> tuple[str, str]:
    field, _, value = term.partition("=")
    if field not in FIELDS:
        raise errors.BadRequest(f"field label not supported: {field}")
    return field, value.removeprefix("=")


def _group(manifest: Manifest) -> str:
    group, _, _ = str(manifest["apiVersion"]).rpartition("/")
    return group
