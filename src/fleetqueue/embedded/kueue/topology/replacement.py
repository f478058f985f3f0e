"""Find another place for the pods of a node that failed; all others stay where they are.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor_snapshot.go (findReplacementAssignment)
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from fleetqueue.api.kueue_topology import PodsInDomain, SliceConstraint, TopologyRequest
from fleetqueue.embedded.kueue.topology.placement import Placement, Surroundings, place
from fleetqueue.embedded.kueue.topology.requests import NotPlaced, PlacementRequest
from fleetqueue.embedded.kueue.topology.tree import Domain, Tree, Values


def replaced(where: Surroundings, asked: PlacementRequest, old: Placement, node: str) -> Placement:
    """Return an assignment without a node; what was there is placed anew, and is noted as assumed."""
    tree = where.tree
    kept = [domain for domain in old.domains if domain.values[-1] != node]
    missing = sum(domain.pods for domain in old.domains if domain.values[-1] == node)
    for domain in kept:
        if domain.values not in tree.leaves:
            raise NotPlaced(
                "Cannot replace the node, because the existing topologyAssignment is invalid, "
                f"as it contains the stale domain {domain.values[0]}"
            )
    asked = replace(asked, count=missing)
    within = _required_domain(tree, asked, kept)
    slices = asked.topology.slices
    if slices and within and missing % asked.slice_size:
        asked = replace(asked, topology=_in_smaller_slices(asked, slices))
    found = place(where, asked, within=within)[asked.name]
    if not found.domains:
        raise NotPlaced(f"cannot find replacement assignment for unhealthy node: {node}")
    where.assume(found, asked.single_pod)
    return _merged(tree, found, kept)


def _required_domain(tree: Tree, asked: PlacementRequest, kept: Sequence[PodsInDomain]) -> Values:
    """Return the domain that the pods must stay in; none where there is none, or nobody left to stay near."""
    label = asked.level_label(tree)
    level = tree.level(label) if label is not None else None
    if level is None or not kept:
        return ()
    slices = asked.topology.slices
    if slices and asked.count % asked.slice_size:
        broken = [layer for layer in slices if asked.count % layer.size]
        return _incomplete_slice(tree, kept, asked.count, broken[-1] if broken else slices[0])
    if not asked.is_required:
        return ()
    return _above(tree, kept[0].values, level)


def _incomplete_slice(tree: Tree, kept: Sequence[PodsInDomain], missing: int, layer: SliceConstraint) -> Values:
    """Return the domain that the missing pods would make whole again."""
    level = tree.level(layer.topology)
    if level is None:
        return ()
    pods: dict[Values, int] = {}
    for domain in kept:
        above = _above(tree, domain.values, level)
        pods[above] = pods.get(above, 0) + domain.pods
    return next((values for values, count in pods.items() if (count + missing) % layer.size == 0), ())


def _in_smaller_slices(asked: PlacementRequest, slices: Sequence[SliceConstraint]) -> TopologyRequest:
    """Keep the innermost slices that the missing pods make whole, and no others."""
    whole = next((layer for layer in reversed(slices) if asked.count % layer.size == 0), None)
    return msgspec.structs.replace(
        asked.topology,
        podset_slice_required_topology_constraints=(),
        pod_set_slice_required_topology=whole.topology if whole is not None else None,
        pod_set_slice_size=whole.size if whole is not None else 1,
    )


def _above(tree: Tree, key: Values, level: int) -> Values:
    """Return the domain of a level that a leaf is in."""
    domain: Domain = tree.leaves[key]
    return domain.values[: level + 1]


def _merged(tree: Tree, found: Placement, kept: Sequence[PodsInDomain]) -> Placement:
    pods: dict[Values, int] = {}
    for domain in sorted((*found.domains, *kept), key=lambda one: ",".join(tree.leaves[one.values].values)):
        pods[domain.values] = pods.get(domain.values, 0) + domain.pods
    return Placement(found.levels, tuple(PodsInDomain(values, count) for values, count in pods.items()))
