"""What is served where: the documents with which clients find their way."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.http.discovery_listing import ApiResource, Groups, aggregated_document, grouped
from fleetqueue.embedded.apiserver.kinds.table import Subresource
from fleetqueue.embedded.apiserver.registry.api_services import ApiServices
from fleetqueue.embedded.apiserver.registry.resources import Resources, unknown_path


class Discovery:
    def __init__(self, resources: Resources, api_services: ApiServices) -> None:
        self._resources = resources
        self._api_services = api_services
        self._made: tuple[object, Groups] | None = None

    def document(self, path: str) -> Manifest:
        """Return the document of a path; raises NotFound where there is none."""
        parts = path.strip("/").split("/")
        if parts == ["api"]:
            return self._core_versions()
        if parts == ["apis"]:
            named = [self._group(group) for group in self._groups if group]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}
        if parts[0] == "api" and len(parts) == 2:
            return self._version("", parts[1])
        if parts[0] == "apis" and len(parts) == 2 and parts[1] in self._groups:
            return {"kind": "APIGroup", "apiVersion": "v1", **self._group(parts[1])}
        if parts[0] == "apis" and len(parts) == 3:
            return self._version(parts[1], parts[2])
        raise unknown_path()

    def aggregated(self, path: str) -> Manifest | None:
        """Return all groups of a root at once; None where the path is no root."""
        parts = path.strip("/").split("/")
        if parts not in (["api"], ["apis"]):
            return None
        is_core = parts == ["api"]
        wanted = {group: versions for group, versions in self._groups.items() if (not group) == is_core}
        return aggregated_document(wanted)

    def has_group(self, name: str) -> bool:
        return name in self._groups

    def is_custom(self, name: str) -> bool:
        """Tell whether a group has nothing but custom kinds."""
        versions = self._groups.get(name, {}).values()
        return all(one.is_custom for listed in versions for one in listed or ())

    @property
    def _groups(self) -> Groups:
        """All that is served; made anew after a change."""
        version = (self._resources.version, self._api_services.version)
        if self._made is None or self._made[0] != version:
            self._made = (version, grouped(self._resources, self._api_services.registered))
        return self._made[1]

    def _core_versions(self) -> Manifest:
        return {
            "kind": "APIVersions",
            "versions": list(self._groups[""]),
            "serverAddressByClientCIDRs": [],
        }

    def _group(self, group: str) -> Manifest:
        versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in self._groups[group]]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _version(self, group: str, version: str) -> Manifest:
        resources = self._groups.get(group, {}).get(version)
        if resources is None:
            raise unknown_path()
        listed = [entry for one in resources for entry in _entries(one)]
        if not group:
            return {"kind": "APIResourceList", "groupVersion": version, "resources": listed}
        about = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
        return {**about, "resources": listed}


def _entries(listed: ApiResource) -> Iterator[dict[str, Any]]:
    resource = listed.resource
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": listed.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(listed.verbs),
    }
    if listed.short_names:
        entry["shortNames"] = list(listed.short_names)
    if listed.categories:
        entry["categories"] = list(listed.categories)
    if listed.stored:
        entry["storageVersionHash"] = listed.stored
    yield entry
    for part in listed.subresources:
        yield _part(resource, part)


def _part(resource: Resource, part: Subresource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{resource.plural}/{part.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }
    if (part.group, part.version) != (resource.group, resource.version):
        entry |= {"group": part.group, "version": part.version}
    return entry
