"""What a pod set asks of a topology, and how that reads for one tree of domains.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor_snapshot.go (findTopologyAssignment, buildSliceSizeAtLevel)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fleetqueue.api.kueue_topology import SliceConstraint, TopologyRequest
from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.topology.nodes import NodeNeeds
from fleetqueue.embedded.kueue.topology.tree import Tree

NOTHING = TopologyRequest()


class NotPlaced(Exception):
    """The pods of a pod set cannot be placed; the text says why."""


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """The pods of one pod set that are to be placed."""

    name: str
    count: int
    single_pod: Requests
    needs: NodeNeeds
    topology: TopologyRequest = NOTHING
    is_implied: bool = False
    """Whether topology-aware scheduling is not asked for, but the queue has no other flavors."""

    @property
    def group(self) -> str:
        """Whom it is placed together with."""
        return self.topology.pod_set_group_name or ""

    @property
    def is_required(self) -> bool:
        return self.topology.required is not None

    @property
    def is_unconstrained(self) -> bool:
        return bool(self.topology.unconstrained) or self.is_implied or self._is_sliced_only

    @property
    def slice_size(self) -> int:
        """How many pods the largest slices have; without slices each pod is one."""
        slices = self.topology.slices
        if slices and slices[0].size <= 0:
            raise NotPlaced("slice topology requested, but slice size not provided")
        return slices[0].size if slices else 1

    def level_label(self, tree: Tree) -> str | None:
        """Return the level that is asked for; None where none is."""
        if self.topology.required is not None or self.topology.preferred is not None:
            return self.topology.required if self.topology.required is not None else self.topology.preferred
        if self._is_sliced_only:
            return tree.highest
        return tree.lowest if self.topology.unconstrained or self.is_implied else None

    def slice_label(self, tree: Tree) -> str:
        slices = self.topology.slices
        return slices[0].topology if slices else tree.lowest

    @property
    def _is_sliced_only(self) -> bool:
        asks = self.topology.required is not None or self.topology.preferred is not None
        return bool(self.topology.slices) and not asks


def has_levels(levels: Sequence[str], topology: TopologyRequest) -> bool:
    """Tell whether a flavor has all levels that a pod set names."""
    asked = topology.required if topology.required is not None else topology.preferred
    if asked is None and not topology.slices and not topology.unconstrained:
        return False
    named = [asked] if asked is not None else []
    return all(label in levels for label in (*named, *(layer.topology for layer in topology.slices)))


@dataclass(frozen=True, slots=True)
class PlacementParameters:
    """The same for one tree: levels are numbers, 0 is the highest."""

    count: int
    leaders: int
    """0 or 1: one pod of another pod set goes along."""
    level: int
    slice_level: int
    slice_size: int
    size_at_level: Mapping[int, int]
    """The sizes of the inner layers of slices, for every level down to theirs."""
    is_required: bool
    is_unconstrained: bool
    layers: Sequence[SliceConstraint] = ()
    """All layers, if there are several."""

    @property
    def slices(self) -> int:
        return self.count // self.slice_size


def parameters(tree: Tree, asked: PlacementRequest, leaders: int) -> PlacementParameters:
    """Find the levels that a pod set names; raises NotPlaced where they do not go together."""
    size = asked.slice_size
    label, slice_label = asked.level_label(tree), asked.slice_label(tree)
    if label is None:
        raise NotPlaced("topology level not specified")
    level, slice_level = tree.level(label), tree.level(slice_label)
    if level is None:
        raise NotPlaced(f"no requested topology level: {label}")
    if slice_level is None:
        raise NotPlaced(f"no requested topology level for slices: {slice_label}")
    if level > slice_level:
        raise NotPlaced(f"podset slice topology {slice_label} is above the podset topology {label}")
    sizes = _inner_sizes(tree, asked.topology.slices[1:], size, slice_level)
    return PlacementParameters(
        count=asked.count,
        leaders=leaders,
        level=level,
        slice_level=slice_level,
        slice_size=size,
        size_at_level=sizes,
        is_required=asked.is_required,
        is_unconstrained=asked.is_unconstrained,
        layers=asked.topology.slices if sizes else (),
    )


def _inner_sizes(tree: Tree, layers: Sequence[SliceConstraint], size: int, level: int) -> Mapping[int, int]:
    """Give every level below the outermost slices the size of the layer that it belongs to."""
    sizes: dict[int, int] = {}
    for layer in layers:
        inner = tree.level(layer.topology)
        if inner is None:
            raise NotPlaced(f"no requested topology level for additional slice layer: {layer.topology}")
        if inner <= level:
            above = tree.levels[level]
            raise NotPlaced(f"additional slice layer topology {layer.topology} must be at a lower level than {above}")
        if layer.size <= 0 or size % layer.size:
            raise NotPlaced(f"additional slice layer size {layer.size} must evenly divide parent layer size {size}")
        sizes |= dict.fromkeys(range(level + 1, inner + 1), layer.size)
        size, level = layer.size, inner
    return sizes
