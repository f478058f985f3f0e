"""Keep Placements away from clusters that are not well: taint those that are unreachable or unavailable.

Reads:   ManagedCluster
Writes:  ManagedCluster (taints)
Mirrors: ocm pkg/registration/hub/taint/controller.go

A new cluster is unreachable until its agent was heard. When a taint was added is written by the webhook.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.cluster_v1 import AVAILABLE, NO_SELECT, UNAVAILABLE_TAINT, UNREACHABLE_TAINT, ManagedCluster
from fleetqueue.api.conditions import FALSE, TRUE, find
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log

WANTED: Final = {TRUE: None, FALSE: UNAVAILABLE_TAINT}
"""The taint that goes with each status of the condition Available; any other status means unreachable."""

log = Log("registration")


class TaintController(Controller):
    name = "managed-cluster-taints"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, by_key)

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, key)
        if cluster is None or cluster.is_deleting:
            return
        condition = find(cluster.status.conditions, AVAILABLE)
        live = (self.hub.raw(cluster).get("spec") or {}).get("taints") or []
        wanted = wanted_taints(live, condition.status if condition is not None else "")
        if wanted == live:
            return
        patch = {"metadata": cluster.precondition, "spec": {"taints": wanted or None}}
        await self.hub.client.merge(ManagedCluster.resource, key, "", patch)
        log.info("taints changed", cluster=key, taints=",".join(taint["key"] for taint in wanted))


def wanted_taints(live: Sequence[Manifest], available: str) -> list[Manifest]:
    """Return the taints that fit a cluster's availability, and those of others as they are."""
    key = WANTED.get(available, UNREACHABLE_TAINT)
    kept = [taint for taint in live if not _is_ours(taint) or taint["key"] == key]
    has_it = any(_is_ours(taint) for taint in kept)
    return kept if key is None or has_it else [*kept, {"key": key, "effect": NO_SELECT}]


def _is_ours(taint: Manifest) -> bool:
    """Tell whether a taint is one of the two, whenever it was added; with another effect or value it is somebody's."""
    is_plain = taint.get("effect") == NO_SELECT and not taint.get("value")
    return is_plain and taint.get("key") in (UNREACHABLE_TAINT, UNAVAILABLE_TAINT)
