"""All groups with all that they serve in one document, which spares clients thirty requests."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.http.discovery_listing import Listed
from fleetqueue.embedded.apiserver.kinds.table import Subresource

KIND: Final = "APIGroupDiscoveryList"
MEDIA_TYPE: Final = f"application/json;g=apidiscovery.k8s.io;v=v2;as={KIND}"


def document(groups: Mapping[str, Mapping[str, Sequence[Listed]]]) -> Manifest:
    """Build the document of groups, each from its versions (the preferred one first) to what they serve."""
    items = [_group(name, versions) for name, versions in groups.items()]
    return {"kind": KIND, "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _group(name: str, versions: Mapping[str, Sequence[Listed]]) -> Manifest:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {"version": version, "resources": [_resource(one) for one in _in_order(listed)], "freshness": "Current"}
            for version, listed in versions.items()
        ],
    }


def _in_order(listed: Sequence[Listed]) -> Sequence[Listed]:
    return sorted(listed, key=lambda one: one.resource.plural)


def _resource(listed: Listed) -> Manifest:
    resource = listed.resource
    place = (resource.group, resource.version) if listed.is_custom else ("", "")
    shown: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": {"group": place[0], "version": place[1], "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": listed.singular,
        "verbs": list(listed.verbs),
    }
    if listed.short_names:
        shown["shortNames"] = list(listed.short_names)
    if listed.categories:
        shown["categories"] = list(listed.categories)
    if listed.subresources:
        shown["subresources"] = [_part(resource, part, place) for part in listed.subresources]
    return shown


def _part(resource: Resource, part: Subresource, place: tuple[str, str]) -> Manifest:
    is_same = (part.group, part.version) == (resource.group, resource.version)
    group, version = place if is_same else (part.group, part.version)
    kind = {"group": group, "version": version, "kind": part.kind}
    return {"subresource": part.name, "responseKind": kind, "verbs": list(part.verbs)}
