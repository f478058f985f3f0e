"""End namespaces: delete all that is in a namespace that is being deleted, say what is left, then let it go.

Reads:   Namespace, discovery
Writes:  Namespace status and /finalize; deletes the content, pods first
Mirrors: kubernetes pkg/controller/namespace
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.kubernetes.discovery import DiscoveredKind, DiscoveryResult, discover
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import live_status, write_status

FINALIZER: Final = "kubernetes"
TERMINATING: Final = "Terminating"
WAIT_SECONDS: Final = 1.0
"""What is left waits for a kubelet or for somebody's finalizer; its end wakes nobody here."""
SAID_WHEN_WELL: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}

log = Log("namespaces")


@dataclass(slots=True)
class RemainingContent:
    """What a namespace still holds after its content was deleted."""

    counts: dict[Resource, int] = field(default_factory=dict)
    finalizers: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    undiscovered: Sequence[str] = ()


class NamespaceController(Controller):
    name = "namespaces"
    concurrency = 2

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Namespace, by_key),)

    async def reconcile(self, key: str) -> None:
        namespace = self.hub.get(Namespace, key)
        if namespace is None or not namespace.is_deleting or FINALIZER not in namespace.spec.finalizers:
            return
        if namespace.status.phase != TERMINATING:  # from here on nothing new may be made in it
            live = live_status(self.hub, namespace)
            await write_status(self.hub, namespace, live, {**live, "phase": TERMINATING})
            return
        left = await self._clear(key, await discover(self.hub.client))
        await self._tell(namespace, left)
        if left.failures or left.undiscovered:
            raise errors.ServerError("; ".join([*left.undiscovered, *left.failures]))
        if left.counts:
            raise errors.RetryLater(WAIT_SECONDS, "some of its content is still there")
        await self._finalize(key)

    async def _clear(self, namespace: str, discovery: DiscoveryResult) -> RemainingContent:
        """Delete everything; pods first, since what they use must not go before they do."""
        left = RemainingContent(undiscovered=discovery.failures)
        kinds = [kind for kind in discovery.kinds if kind.resource.namespaced and kind.can("delete", "list")]
        for kind in (kind for kind in kinds if kind.resource == Pod.resource):
            await self._clear_kind(namespace, kind, left)
        if left.counts or left.failures:
            return left
        for kind in (kind for kind in kinds if kind.resource != Pod.resource):
            await self._clear_kind(namespace, kind, left)
        return left

    async def _clear_kind(self, namespace: str, kind: DiscoveredKind, left: RemainingContent) -> None:
        client, resource = self.hub.client, kind.resource
        try:
            items = (await client.list(resource, namespace)).items
            if not items:
                return
            if kind.can("deletecollection"):
                await client.delete_collection(resource, namespace)
            else:
                await self._delete_each(resource, items)
            items = (await client.list(resource, namespace)).items
        except (errors.ApiError, errors.Unreachable) as error:
            left.failures.append(f"{resource}: {error}")
            return
        if items:
            left.counts[resource] = len(items)
        for name in (name for item in items for name in item["metadata"].get("finalizers") or ()):
            left.finalizers[name] = left.finalizers.get(name, 0) + 1

    async def _delete_each(self, resource: Resource, items: Iterable[Manifest]) -> None:
        for metadata in (item["metadata"] for item in items):
            try:
                await self.hub.client.delete(resource, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            except errors.NotFound:
                continue

    async def _tell(self, namespace: Namespace, left: RemainingContent) -> None:
        live = live_status(self.hub, namespace)
        wanted = wanted_conditions(left)
        if not conditions.same(wanted, namespace.status.conditions):
            dated = conditions.dated(wanted, namespace.status.conditions, now=clock.now())
            await write_status(self.hub, namespace, live, {**live, "conditions": dated})

    async def _finalize(self, name: str) -> None:
        live = await self.hub.client.get(Namespace.resource, name)
        rest = [one for one in (live.get("spec") or {}).get("finalizers") or () if one != FINALIZER]
        manifest = {**Namespace.manifest(name), "metadata": live["metadata"], "spec": {"finalizers": rest}}
        await self.hub.client.update(Namespace.resource, manifest, "finalize")
        log.info("namespace finalized", namespace=name)


def wanted_conditions(left: RemainingContent) -> list[Condition]:
    """Say how the deletion goes, in the words of Kubernetes; what is well is said, too."""
    bad: dict[str, tuple[str, str]] = {}
    if left.undiscovered:
        message = f"Discovery failed for some groups, {len(left.undiscovered)} failing: {'; '.join(left.undiscovered)}"
        bad["NamespaceDeletionDiscoveryFailure"] = ("DiscoveryFailed", message)
    if left.failures:
        message = f"Failed to delete all resource types, {len(left.failures)} remaining: "
        bad["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message + ", ".join(sorted(left.failures)))
    if left.counts:
        details = sorted(f"{r.plural}.{r.group} has {count} resource instances" for r, count in left.counts.items())
        bad["NamespaceContentRemaining"] = (
            "SomeResourcesRemain",
            f"Some resources are remaining: {', '.join(details)}",
        )
    if left.finalizers:
        details = sorted(f"{name} in {count} resource instances" for name, count in left.finalizers.items())
        bad["NamespaceFinalizersRemaining"] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {', '.join(details)}",
        )
    return [
        Condition.true(kind, *bad[kind]) if kind in bad else Condition.false(kind, *well)
        for kind, well in SAID_WHEN_WELL.items()
    ]
