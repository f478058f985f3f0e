"""Write a plan: only what differs, and only over what was seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.cluster_v1 import Placement, PlacementDecision
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.placement.plan import Plan, WantedDecision, decision_manifest
from fleetqueue.runtime.cluster import Cluster

BY_PLACEMENT: Final = "placement"
"""An index of PlacementDecisions."""
_ABSENT: Final = {"numberOfSelectedClusters": 0}
"""What need not be written where it was never anything else."""


@dataclass(frozen=True, slots=True)
class Written:
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


async def write(hub: Cluster, placement: Placement, plan: Plan) -> Written:
    """Bring decisions and status to what is planned: first what is wanted, then what is not, and last the status."""
    written = Written()
    for wanted in plan.decisions:
        await _write_decision(hub, placement, wanted, written)
    names = {wanted.name for wanted in plan.decisions}
    for decision in hub.by_index(PlacementDecision, BY_PLACEMENT, placement.key):
        if decision.name not in names and not decision.is_deleting:
            await _delete(hub, decision, written)
    await _write_status(hub, placement, plan, written)
    return written


async def _write_decision(hub: Cluster, placement: Placement, wanted: WantedDecision, written: Written) -> None:
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
    hub: Cluster, live: PlacementDecision, patch: Manifest, subresource: str, written: Written
) -> PlacementDecision:
    answer = await hub.client.merge(
        live.resource, live.name, live.namespace, _for_this(live, patch), subresource=subresource
    )
    now = PlacementDecision.view(answer)
    written.changed[:] = [*(each for each in written.changed if each.name != now.name), now]
    return now


async def _delete(hub: Cluster, decision: PlacementDecision, written: Written) -> None:
    try:
        await hub.client.delete(decision.resource, decision.name, decision.namespace, uid=decision.uid)
    except errors.NotFound:
        return
    written.deleted.append(decision)


async def _write_status(hub: Cluster, placement: Placement, plan: Plan, written: Written) -> None:
    live = (hub.informer(Placement).store.raw(placement.key) or {}).get("status") or {}
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


def _conditions(placement: Placement, plan: Plan, live: Sequence[Manifest]) -> list[Manifest]:
    """Return all conditions as they should be: ours in place of ours, those of others as they are."""
    known = placement.status.conditions
    if conditions.same(plan.conditions, known):
        return list(live)
    ours = {each["type"]: each for each in conditions.dated(plan.conditions, known, now=clock.now())}
    kept = [ours.pop(each["type"], each) for each in live]
    return [*kept, *ours.values()]


def _for_this(live: Object, patch: Manifest) -> dict[str, Any]:
    """Let a patch be for the very version that was seen."""
    metadata = {**patch.get("metadata", {}), **live.precondition}
    return {**patch, "metadata": metadata}
