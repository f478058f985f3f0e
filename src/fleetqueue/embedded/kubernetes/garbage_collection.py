"""Delete what belongs to an owner that is gone: at once, before the owner goes, or not at all, as its deletion asked.

Reads:   the metadata of every object of every kind, custom ones too; CustomResourceDefinition for new kinds
Writes:  deletes dependents; ownerReferences; the finalizers foregroundDeletion and orphan
Mirrors: kubernetes pkg/controller/garbagecollector

The caches of different kinds do not fit each other in time. So that an owner is missing is never taken from them: it is
asked for, and what is deleted is the very object (uid) that was looked at.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.meta import OwnerReference, precondition_of
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.kubernetes.discovery import DiscoveredKind, discover
from fleetqueue.embedded.kubernetes.owner_graph import (
    FOREGROUND,
    ORPHAN,
    OwnedObject,
    OwnerGraph,
    owned_object_class,
    owner_facts,
)
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

KINDS: Final = "kinds"
"""The key that stands for: look which kinds there are."""
EVENTS: Final = "events"
"""Come and go all the time, own nothing, and end by themselves."""
SYNC_SECONDS: Final = 5.0
"""A new kind may need a moment until it is served."""

log = Log("garbage-collection")


@dataclass(frozen=True, slots=True)
class GarbageDecision:
    """What is to be done with an object by what its owners are."""

    delete: str = ""
    """The propagation with which it is deleted; empty where it stays."""
    drop: frozenset[str] = frozenset()
    """The uids of owners that it should no longer name."""


class GarbageCollectionController(Controller):
    name = "garbage-collection"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.graph = OwnerGraph()
        self._informers: dict[str, Informer[OwnedObject]] = {}
        self._following: dict[str, asyncio.Task[None]] = {}
        self._resources: dict[tuple[str, str], Resource] = {}
        self._is_filled = False
        self._homeless: set[str] = set()
        """Who names an owner of a kind that nobody serves; looked at again when kinds come."""

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(CustomResourceDefinition, lambda crd: (KINDS,)),)

    async def work(self) -> None:
        """Follow all kinds, and work on keys, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self.wake(KINDS)
            await super().work()

    async def reconcile(self, key: str) -> None:
        if key == KINDS:
            await self._follow_kinds()
            return
        kind, _, place = key.partition(" ")
        obj = self._informers[kind].store.get(place) if kind in self._informers else None
        if obj is None:
            return
        if obj.is_leaving_orphans:
            await self._leave_orphans(obj)
        elif obj.is_waiting:
            await self._wait_for_dependents(obj)
        elif not obj.is_deleting:
            await self._judge(obj)

    # Kinds

    async def _follow_kinds(self) -> None:
        """Begin to follow new kinds, and end with those that have gone."""
        discovery = await discover(self.hub.client)
        wanted = {str(kind.resource): kind.resource for kind in discovery.kinds if _is_followed(kind)}
        self._resources = {(resource.api_version, resource.kind): resource for resource in discovery.served}
        for name in [name for name in self._following if name not in wanted and not discovery.failures]:
            self._following.pop(name).cancel()
            for obj in self._informers.pop(name).store.all():
                self.graph.change(obj, None)
        for name, resource in wanted.items():
            if name not in self._informers:
                self._follow(name, resource)
        await self._synced()
        self._sweep()
        if discovery.failures:
            raise errors.RetryLater(SYNC_SECONDS, "; ".join(discovery.failures))

    def _follow(self, name: str, resource: Resource) -> None:
        informer = self._informers[name] = Informer(
            self.hub.client, owned_object_class(resource), cluster=self.hub.name
        )
        informer.subscribe(self._changed, owner_facts)
        self._following[name] = self._tasks.create_task(informer.run(), name=f"owners of {name}")

    async def _synced(self) -> None:
        try:
            async with asyncio.timeout(SYNC_SECONDS):
                for informer in self._informers.values():
                    await informer.synced.wait()
        except TimeoutError:
            late = [name for name, informer in self._informers.items() if not informer.synced.is_set()]
            self._sweep()
            raise errors.RetryLater(SYNC_SECONDS, f"not listed yet: {', '.join(late)}") from None

    def _sweep(self) -> None:
        """Look at all that is concerned once the caches are full: before, every owner seems to be missing."""
        self._is_filled = True
        for obj in self.graph.all_concerned():
            self.wake(obj.id)
        self._homeless.clear()

    def _changed(self, old: OwnedObject | None, new: OwnedObject | None) -> None:
        for obj in self.graph.change(old, new):
            if self._is_filled and obj.id not in self._homeless:
                self.wake(obj.id)

    # Objects

    async def _judge(self, obj: OwnedObject) -> None:
        """Delete an object none of whose owners is left, or let it forget those that are not."""
        owners = {owner.uid: await self._found(obj, owner) for owner in obj.owners}
        verdict = judge(obj, owners, has_dependents=bool(self.graph.dependents(obj.uid)))
        if verdict.drop:
            await self._drop_owners(obj, verdict.drop)
        if verdict.delete:
            await self._delete(obj, verdict.delete)

    async def _found(self, obj: OwnedObject, owner: OwnerReference) -> OwnedObject | None:
        """Return an owner of an object, read from the API where it is not known; None where there is none."""
        known = self.graph.get(owner.uid)
        if known is not None and known.namespace in ("", obj.namespace):
            return known
        resource = self._resources.get((owner.api_version, owner.kind))
        if resource is None:
            self._homeless.add(obj.id)
            raise errors.TerminalError(f"{obj.id} names {owner.kind} {owner.name}, a kind that is not served")
        if resource.namespaced and not obj.namespace:
            raise errors.TerminalError(f"{obj.id} has no namespace, but names {resource} {owner.name}, which has one")
        try:
            live = await self.hub.client.get(resource, owner.name, obj.namespace if resource.namespaced else "")
        except errors.NotFound:
            return None
        live_owner = owned_object_class(resource).view(live)
        return live_owner if live_owner.uid == owner.uid else None

    async def _wait_for_dependents(self, obj: OwnedObject) -> None:
        """Let an owner go that has no dependents left which it has to wait for."""
        if not any(blocks(dependent, obj) for dependent in self.graph.dependents(obj.uid)):
            await self._remove_finalizer(obj, FOREGROUND)

    async def _leave_orphans(self, obj: OwnedObject) -> None:
        for dependent in self.graph.dependents(obj.uid):
            await self._drop_owners(dependent, {obj.uid})
        await self._remove_finalizer(obj, ORPHAN)

    async def _delete(self, obj: OwnedObject, propagation: str) -> None:
        try:
            await self.hub.client.delete(obj.resource, obj.name, obj.namespace, uid=obj.uid, propagation=propagation)
        except errors.NotFound:
            return
        log.info("owner is gone, object deleted", object=obj.id, propagation=propagation)

    async def _drop_owners(self, obj: OwnedObject, uids: Iterable[str]) -> None:
        live = await self._live(obj)
        owners = [owner for owner in live.get("ownerReferences") or () if owner["uid"] not in uids]
        if len(owners) != len(live.get("ownerReferences") or ()):
            await self._patch(obj, live, ownerReferences=owners or None)

    async def _remove_finalizer(self, obj: OwnedObject, finalizer: str) -> None:
        live = await self._live(obj)
        finalizers = [name for name in live.get("finalizers") or () if name != finalizer]
        if len(finalizers) != len(live.get("finalizers") or ()):
            await self._patch(obj, live, finalizers=finalizers or None)

    async def _live(self, obj: OwnedObject) -> Manifest:
        """Return the metadata of the very object as it is now; empty where it has gone."""
        live = await self.hub.client.find(obj.resource, obj.name, obj.namespace)
        return live["metadata"] if live is not None and live["metadata"]["uid"] == obj.uid else {}

    async def _patch(self, obj: OwnedObject, live: Manifest, **fields: Any) -> None:
        metadata = {**precondition_of(live), **fields}
        await self.hub.client.merge(obj.resource, obj.name, obj.namespace, {"metadata": metadata})


def judge(obj: OwnedObject, owners: dict[str, OwnedObject | None], *, has_dependents: bool) -> GarbageDecision:
    """Decide about an object by its owners: those that stand, that are gone, and that wait for it to go."""
    gone = {uid for uid, owner in owners.items() if owner is None}
    waiting = {uid for uid, owner in owners.items() if owner is not None and owner.is_waiting}
    if not owners or not (gone or waiting):
        return GarbageDecision()
    if len(owners) > len(gone) + len(waiting):
        return GarbageDecision(drop=frozenset(gone | waiting))
    if waiting and has_dependents:
        return GarbageDecision("Foreground")
    return GarbageDecision(_asked_before(obj.metadata.finalizers))


def blocks(dependent: OwnedObject, owner: OwnedObject) -> bool:
    """Tell whether an owner has to wait for a dependent; two that wait for each other would wait for ever."""
    is_mutual = dependent.is_waiting and any(one.uid == dependent.uid for one in owner.owners)
    return not is_mutual and any(one.uid == owner.uid and one.block_owner_deletion for one in dependent.owners)


def _asked_before(finalizers: Sequence[str]) -> str:
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def _is_followed(kind: DiscoveredKind) -> bool:
    return kind.can("delete", "list", "watch") and kind.resource.plural != EVENTS
