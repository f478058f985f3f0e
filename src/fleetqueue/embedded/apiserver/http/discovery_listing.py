"""All resources that are served, as discovery tells of them; and all of them in one document.

The aggregated document spares clients thirty requests.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from fleetqueue.api.aggregated_apis import AggregatedApi
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.table import Subresource
from fleetqueue.embedded.apiserver.registry.api_services import Registered
from fleetqueue.embedded.apiserver.registry.builtin import NOT_SERVED
from fleetqueue.embedded.apiserver.registry.conversion import version_order
from fleetqueue.embedded.apiserver.registry.resources import Resources

CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which a real server names them."""
PART_VERBS: Final = ("get", "patch", "update")
ADMISSION, EXTENSIONS = "admissionregistration.k8s.io", "apiextensions.k8s.io"
STORED_AS: Final = {
    ("events.k8s.io", "Event"): "/v1",
    (EXTENSIONS, "CustomResourceDefinition"): f"{EXTENSIONS}/v1beta1",
    (ADMISSION, "MutatingAdmissionPolicy"): f"{ADMISSION}/v1beta1",
    (ADMISSION, "MutatingAdmissionPolicyBinding"): f"{ADMISSION}/v1beta1",
}
"""The version in which a real server stores what it serves in others."""

Groups = dict[str, dict[str, "Sequence[ApiResource] | None"]]
"""From a group to its versions, the preferred one first, and from each to what it serves; None where nobody does."""
AGGREGATED_KIND: Final = "APIGroupDiscoveryList"
MEDIA_TYPE: Final = f"application/json;g=apidiscovery.k8s.io;v=v2;as={AGGREGATED_KIND}"


class ApiResource(NamedTuple):
    """A resource as discovery tells of it."""

    resource: Resource
    singular: str
    short_names: Sequence[str]
    categories: Sequence[str]
    verbs: Sequence[str]
    subresources: Sequence[Subresource]
    stored: str = ""
    """Stands for the form in which objects are stored; empty where none are."""
    is_custom: bool = False


def grouped(resources: Resources, registered: Registered) -> Groups:
    """Return all groups: the server's own, and then those of others."""
    own: dict[str, dict[str, list[ApiResource]]] = {}
    for one in (*_built_in(), *_custom(resources)):
        own.setdefault(one.resource.group, {}).setdefault(one.resource.version, []).append(one)
    groups: Groups = {
        name: dict(sorted(versions.items(), key=lambda item: version_order(item[0]))) for name, versions in own.items()
    }
    for (group, version), api in registered.items():
        groups.setdefault(group, {})[version] = _aggregated(api, version) if api is not None else None
    return groups


@cache
def _built_in() -> Sequence[ApiResource]:
    return [
        ApiResource(
            kind.resource,
            kind.singular,
            kind.short_names,
            kind.categories,
            kind.verbs,
            kind.subresources,
            _hash(kind.resource, kind.version) if {"create", "list"} <= {*kind.verbs} else "",
        )
        for kind in facts.kinds()
        if kind.is_on_by_default and (kind.group, kind.version, kind.plural) not in NOT_SERVED
    ]


def _custom(resources: Resources) -> Iterator[ApiResource]:
    for served in resources:
        if not served.is_custom:
            continue
        resource = served.resource
        parts = []
        if served.has_status:
            parts.append(Subresource("status", resource.group, resource.version, resource.kind, PART_VERBS))
        if served.scale is not None:
            parts.append(Subresource("scale", "autoscaling", "v1", "Scale", PART_VERBS))
        stored = _hash(resource, served.stored_version)
        names = (served.singular, served.short_names, served.categories)
        yield ApiResource(resource, *names, CUSTOM_VERBS, parts, stored, is_custom=True)


def _aggregated(api: AggregatedApi, version: str) -> Sequence[ApiResource]:
    listed = []
    for one in api.resources:
        resource = Resource(api.group, version, one.kind, one.plural, one.namespaced)
        parts = [Subresource(name, api.group, version, one.kind, verbs) for name, verbs in one.subresources.items()]
        listed.append(ApiResource(resource, one.singular, (), (), one.verbs, parts))
    return listed


def _hash(resource: Resource, version: str) -> str:
    place = STORED_AS.get((resource.group, resource.kind), f"{resource.group}/{version}")
    return base64.b64encode(hashlib.sha256(f"{place}/{resource.kind}".encode()).digest()[:8]).decode()


def aggregated_document(groups: Groups) -> Manifest:
    """Build the document of groups."""
    items = [_group(name, versions) for name, versions in groups.items()]
    return {"kind": AGGREGATED_KIND, "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _group(name: str, versions: Mapping[str, Sequence[ApiResource] | None]) -> Manifest:
    shown = [_version(version, listed) for version, listed in versions.items()]
    return {"metadata": {"name": name} if name else {}, "versions": shown}


def _version(version: str, listed: Sequence[ApiResource] | None) -> Manifest:
    if listed is None:
        return {"version": version, "freshness": "Stale"}
    return {"version": version, "resources": [_resource(one) for one in _in_order(listed)], "freshness": "Current"}


def _in_order(listed: Sequence[ApiResource]) -> Sequence[ApiResource]:
    return sorted(listed, key=lambda one: one.resource.plural)


def _resource(listed: ApiResource) -> Manifest:
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
