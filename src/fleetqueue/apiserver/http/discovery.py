"""What is served where: the documents with which clients find their way."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.apiserver.kinds import facts
from fleetqueue.apiserver.kinds.table import Subresource
from fleetqueue.apiserver.registry.builtin import NOT_SERVED
from fleetqueue.apiserver.registry.resources import Resources, unknown_path


class Listed(NamedTuple):
    """A resource as discovery tells of it."""

    resource: Resource
    singular: str
    short_names: Sequence[str]
    categories: Sequence[str]
    verbs: Sequence[str]
    subresources: Sequence[Subresource]


class Discovery:
    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._made: tuple[int, dict[str, dict[str, list[Listed]]]] | None = None

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

    def has_group(self, name: str) -> bool:
        return name in self._groups

    @property
    def _groups(self) -> dict[str, dict[str, list[Listed]]]:
        """All groups, each from its versions (the preferred one first) to what they serve; made anew after a change."""
        if self._made is None or self._made[0] != self._resources.version:
            self._made = (self._resources.version, _grouped([*_built_in(), *_custom(self._resources)]))
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
        found = self._groups.get(group, {}).get(version)
        if found is None:
            raise unknown_path()
        listed = [entry for one in found for entry in _entries(one)]
        name = f"{group}/{version}" if group else version
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}


def _built_in() -> Iterator[Listed]:
    for kind in facts.kinds():
        if kind.is_on_by_default and (kind.group, kind.version, kind.plural) not in NOT_SERVED:
            yield Listed(kind.resource, kind.singular, kind.short_names, kind.categories, kind.verbs, kind.subresources)


def _custom(resources: Resources) -> Iterator[Listed]:
    for served in resources:
        if served.is_custom:
            resource = served.resource
            parts = [
                Subresource(name, resource.group, resource.version, resource.kind, ("get", "patch", "update"))
                for name in served.subresources
            ]
            yield Listed(resource, served.singular, served.short_names, served.categories, served.verbs, parts)


def _grouped(all_listed: Iterable[Listed]) -> dict[str, dict[str, list[Listed]]]:
    groups: dict[str, dict[str, list[Listed]]] = {}
    for one in all_listed:
        groups.setdefault(one.resource.group, {}).setdefault(one.resource.version, []).append(one)
    return groups


def _entries(listed: Listed) -> Iterator[dict[str, Any]]:
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
