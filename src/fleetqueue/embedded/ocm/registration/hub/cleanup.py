"""Empty the namespace of a cluster that is to be deleted: first its add-ons, then its works, by their priority.

Reads:   ManagedCluster, ManagedClusterAddOn, ManifestWork
Writes:  ManagedCluster (finalizer, condition Deleting); deletes ManagedClusterAddOns and ManifestWorks
Mirrors: ocm pkg/registration/hub/gc
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.conditions import Condition
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.ensured_objects import ensure_absent
from fleetqueue.embedded.ocm.registration.names import CLEANUP_FINALIZER, CLEANUP_PRIORITY
from fleetqueue.embedded.ocm.registration.objects import Remainder, RemainingAddOn, RemainingWork
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import write_condition

KINDS: Final[tuple[type[Remainder], ...]] = (RemainingAddOn, RemainingWork)
"""In this order: an add-on may need its works to end well."""
MOST: Final = 100
"""The highest priority; what has none, or no valid one, goes first."""
LOOK_SECONDS: Final = 5.0
"""How often we look at what a cluster left that is gone itself, and so wakes nobody."""

log = Log("registration")


class CleanupController(Controller):
    name = "managed-cluster-cleanup"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, by_key)
        for kind in KINDS:
            yield Watch(kind, self._leaving_cluster)

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, key)
        if cluster is None:
            if await self._clean(key) is not None:
                raise errors.RetryLater(LOOK_SECONDS, "something is left")
        elif cluster.is_deleting:
            await self._empty(cluster)
        else:
            await self.hub.add_finalizer(cluster, CLEANUP_FINALIZER)

    def _leaving_cluster(self, left: Remainder) -> Iterable[str]:
        """A namespace that is no cluster's is not ours to empty."""
        cluster = self.hub.get(ManagedCluster, left.namespace)
        return (cluster.name,) if cluster is not None and cluster.is_deleting else ()

    async def _empty(self, cluster: ManagedCluster) -> None:
        if CLEANUP_FINALIZER not in cluster.metadata.finalizers:
            return
        try:
            remaining = await self._clean(cluster.name)
        except errors.ApiError as error:
            await self._say(cluster, messages.cleanup_failed(str(error)))
            raise
        is_written = await self._say(cluster, remaining or messages.nothing_remains())
        if remaining is None and not is_written:  # else the change wakes us
            await self.hub.remove_finalizer(cluster, CLEANUP_FINALIZER)
            log.info("cluster cleaned up", cluster=cluster.name)

    async def _say(self, cluster: ManagedCluster, condition: Condition) -> bool:
        return await write_condition(self.hub, cluster, condition)

    async def _clean(self, cluster: str) -> Condition | None:
        """Delete what goes next; return what is to be said of the rest, None where there is none."""
        for kind in KINDS:
            if left := self.hub.list(kind, cluster):
                for obj in first_to_go(left):
                    await ensure_absent(self.hub, obj)
                held = sum(bool(obj.metadata.finalizers) for obj in left)
                return messages.remaining(kind.resource.plural, len(left), held)
        return None


def first_to_go(left: Sequence[Remainder]) -> list[Remainder]:
    """Return those with the lowest priority."""
    lowest = min(priority(obj) for obj in left)
    return [obj for obj in left if priority(obj) == lowest]


def priority(left: Remainder) -> int:
    try:
        value = int(left.metadata.annotations.get(CLEANUP_PRIORITY, "0"))
    except ValueError:
        return 0
    return value if 0 <= value <= MOST else 0
