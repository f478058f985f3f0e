"""Place all pod sets of a Workload that ask for it, flavor by flavor and group by group.

Mirrors: Kueue pkg/cache/scheduler/clusterqueue_snapshot.go (FindTopologyAssignmentsForWorkload)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.topology.flavor_topology import FlavorTopology
from fleetqueue.embedded.kueue.topology.placement import Placement, Surroundings, place
from fleetqueue.embedded.kueue.topology.replacement import replaced
from fleetqueue.embedded.kueue.topology.requests import NotPlaced, PlacementRequest
from fleetqueue.embedded.kueue.topology.tree import Values


@dataclass(frozen=True, slots=True)
class Failure:
    """The first pod set that does not fit."""

    pod_set: str
    reason: str


@dataclass(slots=True)
class Placements:
    found: dict[str, Placement] = field(default_factory=dict)
    """By pod set."""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """What failed of a Workload that runs, and where its pods are."""

    node: str
    placements: Mapping[str, Placement]
    stays: bool = False
    """Whether the Workload ends with its pod, which cannot go elsewhere: then nothing is placed anew."""


def place_all(
    requests: Mapping[str, Sequence[PlacementRequest]],
    flavors: Mapping[str, FlavorTopology],
    *,
    as_if_empty: bool = False,
    failed: Failed | None = None,
) -> Placements:
    """Place what is asked of each flavor; flavors whose lowest level is the node share what is assumed of nodes."""
    result, of_nodes = Placements(), dict[Values, Requests]()
    for name in sorted(requests):
        flavor = flavors[name]
        assumed = of_nodes if flavor.tree.is_of_nodes else {}
        where = Surroundings(flavor.topology, flavor.tree, flavor.counted, assumed, as_if_empty)
        for group in _groups(requests[name]):
            try:
                if failed is None:
                    result.found |= _placed(where, group)
                else:
                    result.found |= _replaced(where, group, failed)
            except NotPlaced as reason:
                result.failure = result.failure or Failure(group[0].name, str(reason))
                break
    return result


def _placed(where: Surroundings, group: Sequence[PlacementRequest]) -> dict[str, Placement]:
    workers, leader = group[0], group[1] if len(group) > 1 else None
    if leader is not None and leader.count > workers.count:
        workers, leader = leader, workers
    placements = place(where, workers, leader)
    for one in group:
        where.assume(placements[one.name], one.single_pod)
    return placements


def _replaced(where: Surroundings, group: Sequence[PlacementRequest], failed: Failed) -> dict[str, Placement]:
    before = [(one, failed.placements[one.name]) for one in group if one.name in failed.placements]
    if failed.stays:
        return {one.name: placement for one, placement in before}
    return {one.name: replaced(where, one, placement, failed.node) for one, placement in before}


def _groups(requests: Sequence[PlacementRequest]) -> list[list[PlacementRequest]]:
    groups: dict[str, list[PlacementRequest]] = {}
    for number, one in enumerate(requests):
        groups.setdefault(f"/{one.group}" if one.group else str(number), []).append(one)
    return [*groups.values()]
