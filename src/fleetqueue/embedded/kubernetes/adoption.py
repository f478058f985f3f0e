"""Take what nobody answers for and a selector matches, and let go what it matches no longer.

So pods outlive a set that is deleted with `--cascade=orphan` and made again; and one whose labels somebody changes, to
look at it in peace, is replaced.

Mirrors: kubernetes pkg/controller/controller_ref_manager.go
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic

from fleetqueue.api import errors
from fleetqueue.api.meta import O, Object, controller_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.embedded.kubernetes.ownership import owner_uid
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.own_writes import OwnWrites

ORPHANS: Final = "orphans"

log = Log("adoption")


class Adoption(Generic[O]):
    """What becomes of the objects of one kind that an owner may have."""

    def __init__(self, cluster: Cluster, kind: type[O], writes: OwnWrites) -> None:
        self.cluster = cluster
        self.kind = kind
        self.writes = writes
        cluster.informer(kind).store.add_index(ORPHANS, lambda obj: [obj.namespace] if obj.controller is None else [])

    async def settle(
        self,
        owner: Object,
        selector: LabelSelector,
        owned: Iterable[O],
        is_fit: Callable[[O], bool] = lambda obj: True,
    ) -> bool:
        """Adopt and release; return whether anything was done, which the cache then has to show first."""
        if owner.is_deleting:
            return False
        orphans = self.cluster.by_index(self.kind, ORPHANS, owner.namespace)
        wanted = [one for one in orphans if _matches(selector, one) and is_fit(one) and not one.is_deleting]
        foreign = [
            one for one in owned if owner_uid(one) == owner.uid and not (_matches(selector, one) and is_fit(one))
        ]
        for one in foreign:
            await self._patch(owner, one, {"$patch": "delete", "uid": owner.uid})
        if wanted and await self._is_still_there(owner):
            for one in wanted:
                await self._patch(owner, one, controller_reference(owner.resource, owner.name, owner.uid))
        return bool(foreign or wanted)

    async def _is_still_there(self, owner: Object) -> bool:
        """Ask the server: what is given to an owner that is being deleted goes with it."""
        live = await self.cluster.client.find(owner.resource, owner.name, owner.namespace)
        return live is not None and live["metadata"]["uid"] == owner.uid and "deletionTimestamp" not in live["metadata"]

    async def _patch(self, owner: Object, obj: O, reference: Manifest) -> None:
        patch = {"metadata": {"uid": obj.uid, "ownerReferences": [reference]}}
        try:
            answer = await self.cluster.client.strategic_merge(obj.resource, obj.name, obj.namespace, patch)
        except errors.NotFound:
            return
        log.info("released" if "$patch" in reference else "adopted", owner=owner, what=obj)
        self.writes.wrote(owner.key, answer)


def _matches(selector: LabelSelector, obj: Object) -> bool:
    return selector.matches(obj.metadata.labels)
