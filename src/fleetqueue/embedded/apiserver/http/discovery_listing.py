"""All resources that are served, with what discovery tells of them."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.table import Subresource
from fleetqueue.embedded.apiserver.registry.builtin import NOT_SERVED
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.version_names import order

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

Groups = dict[str, dict[str, list["Listed"]]]
"""From a group to its versions, the preferred one first, and from each to what it serves."""


class Listed(NamedTuple):
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


def grouped(resources: Resources) -> Groups:
    groups: Groups = {}
    for one in (*_built_in(), *_custom(resources)):
        groups.setdefault(one.resource.group, {}).setdefault(one.resource.version, []).append(one)
    return {name: dict(sorted(versions.items(), key=lambda item: order(item[0]))) for name, versions in groups.items()}


@cache
def _built_in() -> Sequence[Listed]:
    return [
        Listed(
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


def _custom(resources: Resources) -> Iterator[Listed]:
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
        yield Listed(resource, *names, CUSTOM_VERBS, parts, stored, is_custom=True)


def _hash(resource: Resource, version: str) -> str:
    place = STORED_AS.get((resource.group, resource.kind), f"{resource.group}/{version}")
    return base64.b64encode(hashlib.sha256(f"{place}/{resource.kind}".encode()).digest()[:8]).decode()
