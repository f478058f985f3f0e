"""Which kinds a cluster serves, by its discovery API: one version of each, with what can be done to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client


@dataclass(frozen=True, slots=True)
class DiscoveredKind:
    resource: Resource
    verbs: frozenset[str]

    def can(self, *verbs: str) -> bool:
        return self.verbs.issuperset(verbs)


@dataclass(frozen=True, slots=True)
class DiscoveryResult:
    kinds: Sequence[DiscoveredKind]
    """Each in one version."""
    served: Sequence[Resource] = ()
    """Each in all its versions."""
    failures: Sequence[str] = ()
    """Which groups failed, and why; their kinds are missing."""


async def discover(client: Client) -> DiscoveryResult:
    """Read every group; one that fails does not hide the others."""
    kinds: list[DiscoveredKind] = []
    failures: list[str] = []
    groups = (await client.read("/apis")).get("groups") or ()
    preferred = [("", "v1"), *((group["name"], group["preferredVersion"]["version"]) for group in groups)]
    versions = preferred + [
        (group["name"], version["version"])
        for group in groups
        for version in group["versions"]
        if version["version"] != group["preferredVersion"]["version"]
    ]
    for group, version in versions:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            document = await client.read(path)
        except (errors.ApiError, errors.Unreachable) as error:
            failures.append(f"{path}: {error}")
            continue
        kinds += _kinds(group, version, document.get("resources") or ())
    return DiscoveryResult(_once(kinds), [kind.resource for kind in kinds], failures)


def _kinds(group: str, version: str, listed: Iterable[dict[str, Any]]) -> Iterable[DiscoveredKind]:
    for entry in listed:
        if "/" not in entry["name"]:
            resource = Resource(group, version, entry["kind"], entry["name"], bool(entry["namespaced"]))
            yield DiscoveredKind(resource, frozenset(entry.get("verbs") or ()))


def _once(kinds: Iterable[DiscoveredKind]) -> Sequence[DiscoveredKind]:
    """Keep the first version of each kind: the preferred one where it has it."""
    first_kinds: dict[tuple[str, str], DiscoveredKind] = {}
    for kind in kinds:
        first_kinds.setdefault((kind.resource.group, kind.resource.plural), kind)
    return tuple(first_kinds.values())
