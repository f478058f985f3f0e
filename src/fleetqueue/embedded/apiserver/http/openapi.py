"""The shapes of all kinds in OpenAPI v3, with which kubectl explains, checks and patches.

There is an index, and a document for each version of a group. The address of a document in the index carries a hash
of its content, since kubectl keeps documents on disk. Documents are made when they are first requested, and clusters
whose kinds have the same shapes share them.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from fleetqueue.api.requests import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.http.openapi_schemas import BUILT_IN, META, REFERENCE, Components, mark
from fleetqueue.embedded.apiserver.http.verbs.write_verbs import STRATEGIC_MERGE_PATCH
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.kinds.table import UnknownKind, type_of
from fleetqueue.embedded.apiserver.registry.builtin import NOT_SERVED
from fleetqueue.embedded.apiserver.registry.resources import Resources, unknown_path

KEPT: Final = 512
"""How many documents a process keeps: a fleet of equal clusters needs some fifty."""
QUERY: Final = {
    "list": ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch", "watch"),
    "create": ("dryRun", "fieldManager", "fieldValidation"),
    "update": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"),
    "get": (),
}
METHODS: Final = {"get": "get", "list": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
ON_OBJECTS: Final = ("get", "update", "patch", "delete")
ON_COLLECTIONS: Final = ("list", "create")


class Described(NamedTuple):
    """A resource as a document tells of it; equal ones make equal documents."""

    resource: Resource
    verbs: tuple[str, ...]
    has_status: bool = False
    schema: Schema | None = None
    """The shape of a custom kind; that of a built-in kind is known by its name."""
    list_kind: str = ""


class OpenApi:
    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._version = -1
        self._described: dict[str, tuple[Described, ...]] = {}
        self._index = b""

    def document(self, path: str) -> bytes:
        """Return the index, or the document of `api/v1` or `apis/<group>/<version>`; raises NotFound."""
        if self._version != self._resources.version:
            self._version, self._described, self._index = self._resources.version, _described(self._resources), b""
        path = path.strip("/")
        if not path:
            self._index = self._index or _index(self._described)
            return self._index
        if path not in self._described:
            raise unknown_path()
        return made(self._described[path])


def _index(described: Mapping[str, tuple[Described, ...]]) -> bytes:
    hashes = {path: hashlib.sha256(made(kinds)).hexdigest().upper() for path, kinds in described.items()}
    addresses = {path: f"/openapi/v3/{path}?hash={digest}" for path, digest in hashes.items()}
    return orjson.dumps({"paths": {path: {"serverRelativeURL": url} for path, url in addresses.items()}})


def _described(resources: Resources) -> dict[str, tuple[Described, ...]]:
    """Return what is served, by the path of each version of a group."""
    by_path: dict[str, tuple[Described, ...]] = {}
    for one in [*_built_in(), *_custom(resources)]:
        resource = one.resource
        path = f"{'apis' if resource.group else 'api'}/{resource.api_version}"
        by_path[path] = (*by_path.get(path, ()), one)
    return by_path


def _built_in() -> Iterator[Described]:
    for kind in facts.kinds():
        if kind.is_on_by_default and (kind.group, kind.version, kind.plural) not in NOT_SERVED:
            yield Described(kind.resource, kind.verbs, kind.has_status, None, kind.list_kind)


def _custom(resources: Resources) -> Iterator[Described]:
    for served in resources:
        if served.is_custom:
            verbs = tuple(served.verbs)
            yield Described(served.resource, verbs, served.has_status, served.schema, served.list_kind)


@lru_cache(maxsize=KEPT)
def made(described: tuple[Described, ...]) -> bytes:
    """Make a document; the same kinds give the same one."""
    components, paths = Components(), Manifest()
    marks: dict[str, list[tuple[str, str, str]]] = {}
    for one in described:
        name = _added(components, one, marks)
        paths.update(_paths(one, name))
    options = components.add_type(f"{META}.DeleteOptions")
    marks[options] = sorted({(one.resource.group, one.resource.version, "DeleteOptions") for one in described})
    components.schemas[f"{BUILT_IN}{META}.Patch"] = {"type": "object"}
    for name, kinds in marks.items():
        mark(components.schemas, name, kinds)
    schemas = {name: components.schemas[name] for name in sorted(components.schemas)}
    info = {"title": "Kubernetes", "version": "v1.36.3"}
    return orjson.dumps({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}})


def _added(components: Components, one: Described, marks: dict[str, list[tuple[str, str, str]]]) -> str:
    """Add a kind and its list, and note their names."""
    resource, list_kind = one.resource, one.list_kind
    group, version, kind = resource.group, resource.version, resource.kind
    if one.schema is None:
        name = components.add_type(type_of(group, version, kind))
        listed = _built_in_list(components, group, version, list_kind)
    else:
        before = ".".join([*reversed(group.split(".")), version])
        name = components.add_kind(f"{before}.{kind}", one.schema)
        listed = components.add_list(f"{before}.{list_kind}", name) if list_kind else ""
    marks[name] = [(group, version, kind)]
    if listed:
        marks[listed] = [(group, version, list_kind)]
    return name


def _built_in_list(components: Components, group: str, version: str, list_kind: str) -> str:
    try:
        return components.add_type(type_of(group, version, list_kind)) if list_kind else ""
    except UnknownKind:
        return ""


def _paths(one: Described, name: str) -> Manifest:
    resource = one.resource
    collection = resource.path("{namespace}") if resource.namespaced else resource.path()
    collection = collection.replace("%7B", "{").replace("%7D", "}")
    paths = {
        collection: _operations(one, ON_COLLECTIONS, name),
        f"{collection}/{{name}}": _operations(one, ON_OBJECTS, name),
    }
    if resource.namespaced:
        paths[resource.path()] = _operations(one, ("list",), name)
    if one.has_status:
        paths[f"{collection}/{{name}}/status"] = _operations(one, ("get", "update", "patch"), name)
    return {path: operations for path, operations in paths.items() if operations}


def _operations(one: Described, verbs: Sequence[str], name: str) -> Manifest:
    return {METHODS[verb]: _operation(one, verb, name) for verb in verbs if verb in one.verbs}


def _operation(one: Described, verb: str, name: str) -> Manifest:
    resource = one.resource
    parameters = [{"name": query, "in": "query", "schema": {"type": "string"}} for query in QUERY[verb]]
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    operation: Manifest = {
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": kind,
    }
    if verb == "patch":
        strategic = [] if one.schema is not None else [STRATEGIC_MERGE_PATCH]
        types = sorted([APPLY_PATCH, JSON_PATCH, MERGE_PATCH, *strategic])
        body = {"schema": {"$ref": f"{REFERENCE}{BUILT_IN}{META}.Patch"}}
        operation["requestBody"] = {"content": dict.fromkeys(types, body), "required": True}
    elif verb in ("create", "update"):
        body = {"schema": {"$ref": REFERENCE + name}}
        operation["requestBody"] = {"content": {"*/*": body}, "required": True}
    return operation
