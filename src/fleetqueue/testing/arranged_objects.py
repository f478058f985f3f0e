"""The objects of one cluster as a test arranges them: at once, as an administrator, and by the server's own rules.

What no server accepts cannot be arranged. Kinds are named by their view (`Job`), or by a name that the cluster knows
(`"Job"`, `"jobs.batch"`): then objects are plain dictionaries, and every kind of a CRD will do.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, Final, overload

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import O, Object
from fleetqueue.api.requests import APPLY_PATCH, JSON, MERGE_PATCH, Request, Response
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.testing.kind_names import KindNames
from fleetqueue.testing.manifest_sources import ManifestSource, manifests_of

ADDRESS_REPAIR: Final = "ipallocator-repair-controller"
SOMEBODY: Final = "somebody"
DEFAULT: Final = "default"
SERVERS_OWN: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
"""What no client can choose."""
DELETE_OPTIONS: Final = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
Kind = type[Object] | str


class ArrangedObjects:
    def __init__(self, ask: Callable[[Request], Response], namespaces: Iterable[str] = ()) -> None:
        self.changes = 0
        """How often anything was written, by whomever: another number means another state."""
        self._answer_to = ask
        self._kinds = KindNames(ask)
        self._namespaces = set(namespaces)
        """Those of which we know that they are there."""

    def add(self, *manifests: ManifestSource) -> None:
        """Create objects: dictionaries, YAML text, or files (a `pathlib.Path`), each with its status.

        A namespace is made where it is missing, and is `default` where none is named. An object with a
        deletionTimestamp is deleted afterwards, so that its finalizers hold it.
        """
        for source in manifests:
            for manifest in manifests_of(source):
                self._add(manifest)

    def change(self, kind: Kind, name: str, namespace: str = "", **patch: Any) -> None:
        """Merge into an object as somebody else: `change("Placement", "p", "ns", spec={"clusterSets": ["a"]})`."""
        self._patch(self._resource(kind), name, namespace, patch, MERGE_PATCH, SOMEBODY)

    def apply_as(self, manager: str, kind: Kind, name: str, namespace: str = "", **fields: Any) -> None:
        """Apply fields to an object as another manager, the status as its own part."""
        self._patch(self._resource(kind), name, namespace, fields, APPLY_PATCH, manager)

    def remove(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Delete as somebody else; finalizers still hold the object."""
        self._ask("DELETE", _path(self._resource(kind), namespace, name), DELETE_OPTIONS)

    def namespace(self, *names: str) -> None:
        """Make namespaces, unless they are there."""
        for name in names:
            if name not in self._namespaces:
                response = self._answer_to(Request("POST", Namespace.resource.path(), {}, Namespace.manifest(name)))
                assert response.status in (201, 409), response.body
                self._namespaces.add(name)

    @overload
    def get(self, kind: type[O], name: str, namespace: str = "") -> O | None: ...

    @overload
    def get(self, kind: str, name: str, namespace: str = "") -> Manifest | None: ...

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | Manifest | None:
        """Return an object, or None; of the namespace `default` where none is named."""
        try:
            found = self._ask("GET", _path(self._resource(kind), namespace, name))
        except errors.NotFound:
            return None
        return deepcopy(found) if isinstance(kind, str) else kind.view(found)

    def raw(self, kind: Kind, name: str, namespace: str = "") -> Manifest:
        """Return an object as a dictionary; raises NotFound."""
        manifest: Manifest = deepcopy(self._ask("GET", _path(self._resource(kind), namespace, name)))
        return manifest

    @overload
    def list(self, kind: type[O], namespace: str = "") -> Sequence[O]: ...

    @overload
    def list(self, kind: str, namespace: str = "") -> Sequence[Manifest]: ...

    def list(self, kind: Kind, namespace: str = "") -> Any:
        """Return all of a kind, in all namespaces or in one.

        Events by which a real API server tells of its own addresses are left out.
        """
        resource = self._resource(kind)
        items = self._ask("GET", resource.path(namespace))["items"]
        told = [item for item in items if item.get("reportingController") != ADDRESS_REPAIR]
        if not isinstance(kind, str):
            return [kind.view(item) for item in told]
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **deepcopy(item)} for item in told]

    @property
    def revision(self) -> str:
        """The resourceVersion of the newest state."""
        return str(self._ask("GET", Namespace.resource.path())["metadata"]["resourceVersion"])

    def _resource(self, kind: Kind) -> Resource:
        return self._kinds.named(kind) if isinstance(kind, str) else kind.resource

    def _add(self, manifest: Manifest) -> None:
        resource, metadata = self._resource_of(manifest), dict(manifest.get("metadata") or {})
        chosen = [name for name in SERVERS_OWN if name in metadata]
        if chosen:
            raise ValueError(f"{resource.kind} {metadata.get('name')}: no client can choose its {', '.join(chosen)}")
        namespace = metadata.get("namespace") or (DEFAULT if resource.namespaced else "")
        if namespace:
            self.namespace(namespace)
        is_deleted = metadata.pop("deletionTimestamp", None) is not None
        made = self._created(resource, namespace, {**manifest, "metadata": metadata})
        name, status = made["metadata"]["name"], manifest.get("status")
        if status and made.get("status") != status:  # else the kind has no status of its own
            patch = {"status": status}
            self._ask("PATCH", resource.path(namespace, name, "status"), patch, MERGE_PATCH, manager=SOMEBODY)
        if is_deleted:
            self._ask("DELETE", resource.path(namespace, name), DELETE_OPTIONS)

    def _created(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        try:
            return self._ask("POST", resource.path(namespace), manifest, manager=SOMEBODY)
        except errors.AlreadyExists:
            if resource != Namespace.resource:
                raise
            # It may be there because something was put into it before.
            path = resource.path("", manifest["metadata"]["name"])
            return self._ask("PATCH", path, manifest, MERGE_PATCH, manager=SOMEBODY)

    def _resource_of(self, manifest: Manifest) -> Resource:
        """Find where the kind of an object lives: among those that we model, or that the cluster knows."""
        try:
            return resource_of(manifest)
        except LookupError:
            return self._kinds.of(manifest)

    def _patch(
        self, resource: Resource, name: str, namespace: str, patch: Manifest, content_type: str, manager: str
    ) -> None:
        rest = {field: value for field, value in patch.items() if field != "status"}
        parts = [("", rest)] if rest else []
        if "status" in patch:
            parts.append(("status", {"status": patch["status"]}))
        for subresource, body in parts:
            if content_type == APPLY_PATCH:
                body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
            self._ask("PATCH", _path(resource, namespace, name, subresource), body, content_type, manager=manager)

    def _ask(
        self, method: str, path: str, body: Any = None, content_type: str = JSON, *, manager: str = ""
    ) -> Manifest:
        query = {"fieldManager": manager} if manager else {}
        if content_type == APPLY_PATCH:
            query["force"] = "true"
        response = self._answer_to(Request(method, path, query, body, content_type))
        if response.status >= 400:
            raise errors.from_status(response.status, response.body)
        self.changes += method != "GET"
        answer: Manifest = response.body
        return answer


def is_true(obj: Manifest | None, condition: str) -> bool:
    """Tell whether an object has a condition whose status is True: `is_true(fleet.get("Job", "a"), "Complete")`."""
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def _path(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of one object, of the namespace `default` where none is named."""
    return resource.path(namespace or DEFAULT, name, subresource)


def resource_of(manifest: Manifest) -> Resource:
    """Find where the kind of an object lives, among all kinds that we model; raises LookupError."""
    known = [Object]
    while known:
        kind = known.pop()
        known += kind.__subclasses__()
        resource = getattr(kind, "resource", None)
        if resource is not None and (resource.kind, resource.api_version) == (manifest["kind"], manifest["apiVersion"]):
            match: Resource = resource
            return match
    raise LookupError(f"no view models {manifest['kind']} of {manifest['apiVersion']}")
