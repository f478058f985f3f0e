"""Write what a Placement's decisions and status should be, and wait until the caches show it.

Only what differs is written, and only over what was seen. Balance makes every Placement look at what all others chose.
So the next one is scheduled only when the cache shows what was just decided; otherwise several would take the same idle
cluster, one after the other, and later move away again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import conditions
from fleetqueue.api.cluster_v1 import Placement, PlacementDecision
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.placement.plan import DecisionPlan, WantedDecision, decision_manifest
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import live_status

PATIENCE: Final = 10.0
"""Seconds. A watch that shows nothing for so long is broken; work goes on, from what is known."""

log = Log("placement")


class CacheSync:
    """Waits until the caches show what was written."""

    def __init__(self, hub: Cluster) -> None:
        self._hub = hub
        self._changed = asyncio.Event()

    def listen(self) -> None:
        """Follow what is written; before the hub runs."""
        for kind in (Placement, PlacementDecision):
            self._hub.informer(kind).subscribe(lambda old, new: self._changed.set())

    async def wait_for(self, kept: Sequence[Object], deleted: Sequence[Object]) -> None:
        """Wait until the caches show some objects as they were written, and others as gone."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not (all(map(self._shows, kept)) and not any(map(self._still_shows, deleted))):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("the cache does not show what was written", objects=len(kept) + len(deleted))

    def _shows(self, written: Object) -> bool:
        shown = self._hub.get(type(written), written.name, written.namespace)
        return shown is not None and _version(shown) >= _version(written)

    def _still_shows(self, deleted: Object) -> bool:
        shown = self._hub.get(type(deleted), deleted.name, deleted.namespace)
        return shown is not None and shown.uid == deleted.uid and not shown.is_deleting


def _version(obj: Object) -> int:
    """Versions of one kind only grow."""
    return int(obj.metadata.resource_version)


BY_PLACEMENT: Final = "placement"
"""An index of PlacementDecisions."""
_ABSENT: Final = {"numberOfSelectedClusters": 0}
"""What need not be written where it was never anything else."""


@dataclass(frozen=True, slots=True)
class WrittenDecisions:
    """What was written, as it is now."""

    created: list[PlacementDecision] = field(default_factory=list)
    changed: list[PlacementDecision] = field(default_factory=list)
    """The created ones among them."""
    deleted: list[PlacementDecision] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    """The Placement itself, where its status was written."""

    @property
    def kept(self) -> Sequence[Object]:
        return [*self.changed, *self.placements]

    def __bool__(self) -> bool:
        return bool(self.changed or self.deleted or self.placements)


async def write(hub: Cluster, placement: Placement, plan: DecisionPlan) -> WrittenDecisions:
    """Bring decisions and status to what is planned: first what is wanted, then what is not, and last the status."""
    written = WrittenDecisions()
    for wanted in plan.decisions:
        await _write_decision(hub, placement, wanted, written)
    names = {wanted.name for wanted in plan.decisions}
    for decision in hub.by_index(PlacementDecision, BY_PLACEMENT, placement.key):
        if decision.name not in names and not decision.is_deleting:
            await _delete(hub, decision, written)
    await _write_status(hub, placement, plan, written)
    return written


async def _write_decision(
    hub: Cluster, placement: Placement, wanted: WantedDecision, written: WrittenDecisions
) -> None:
    live = hub.get(PlacementDecision, wanted.name, placement.namespace)
    if live is None:
        answer = await hub.client.create(PlacementDecision.resource, decision_manifest(placement, wanted))
        live = PlacementDecision.view(answer)
        written.created.append(live)
        written.changed.append(live)
    decided = [decision.cluster_name for decision in live.status.decisions]
    if decided != list(wanted.clusters):
        chosen = [{"clusterName": name, "reason": ""} for name in wanted.clusters]
        live = await _merge(hub, live, {"status": {"decisions": chosen}}, "status", written)
    if live.metadata.labels != wanted.labels:
        unwanted = {label: None for label in live.metadata.labels if label not in wanted.labels}
        await _merge(hub, live, {"metadata": {"labels": {**wanted.labels, **unwanted}}}, "", written)


async def _merge(
    hub: Cluster, live: PlacementDecision, patch: Manifest, subresource: str, written: WrittenDecisions
) -> PlacementDecision:
    answer = await hub.client.merge(
        live.resource, live.name, live.namespace, _for_this(live, patch), subresource=subresource
    )
    now = PlacementDecision.view(answer)
    written.changed[:] = [*(decision for decision in written.changed if decision.name != now.name), now]
    return now


async def _delete(hub: Cluster, decision: PlacementDecision, written: WrittenDecisions) -> None:
    if await hub.client.delete_seen(decision):
        written.deleted.append(decision)


async def _write_status(hub: Cluster, placement: Placement, plan: DecisionPlan, written: WrittenDecisions) -> None:
    live = live_status(hub, placement)
    wanted = {
        "numberOfSelectedClusters": plan.selected,
        "decisionGroups": plan.groups,
        "conditions": _conditions(placement, plan, live.get("conditions") or []),
    }
    patch = {name: value for name, value in wanted.items() if live.get(name, _ABSENT.get(name)) != value}
    if patch:
        answer = await hub.client.merge(
            placement.resource,
            placement.name,
            placement.namespace,
            _for_this(placement, {"status": patch}),
            subresource="status",
        )
        written.placements.append(Placement.view(answer))


def _conditions(placement: Placement, plan: DecisionPlan, live: Sequence[Manifest]) -> list[Manifest]:
    """Return all conditions as they should be: ours in place of ours, those of others as they are."""
    known = placement.status.conditions
    if conditions.same(plan.conditions, known):
        return list(live)
    ours = {condition["type"]: condition for condition in conditions.dated(plan.conditions, known, now=clock.now())}
    kept = [ours.pop(condition["type"], condition) for condition in live]
    return [*kept, *ours.values()]


def _for_this(live: Object, patch: Manifest) -> dict[str, Any]:
    """Let a patch be for the very version that was seen."""
    metadata = {**patch.get("metadata", {}), **live.precondition}
    return {**patch, "metadata": metadata}
