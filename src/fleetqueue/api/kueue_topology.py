"""Topologies: the levels of a cluster's nodes, what pod sets ask of them, and where their pods were placed."""

from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label of the level that is the node itself; only ever the lowest."""


class TopologyLevel(View):
    node_label: str = ""


class TopologySpec(View):
    levels: tuple[TopologyLevel, ...] = ()
    """From the largest domains to the smallest."""


class Topology(Object):
    resource: ClassVar = Resource("kueue.x-k8s.io", "v1beta2", "Topology", "topologies", namespaced=False)

    spec: TopologySpec = TopologySpec()

    @property
    def levels(self) -> tuple[str, ...]:
        """The node labels of its levels."""
        return tuple(level.node_label for level in self.spec.levels)


class SliceConstraint(View):
    """So many pods at a time must be in one domain of a level."""

    topology: str = ""
    size: int = 0


class TopologyRequest(View):
    """What a pod set asks of the topology. At most one of the first three is there."""

    required: str | None = None
    """All pods in one domain of this level."""
    preferred: str | None = None
    """The same, if that can be; else in as few domains as can be."""
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: int | None = None
    pod_set_group_name: str | None = None
    """Pod sets of one group get one flavor and are placed together."""
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None
    podset_slice_required_topology_constraints: tuple[SliceConstraint, ...] = ()
    """Several layers of slices, the largest first; in place of the two fields above."""

    @property
    def is_explicit(self) -> bool:
        """Tell whether it asks for topology-aware scheduling, and not only says how pods are numbered or grouped."""
        asked = (self.unconstrained, self.required, self.preferred)
        sliced = (self.pod_set_slice_required_topology, self.pod_set_slice_size)
        return bool(self.podset_slice_required_topology_constraints) or any(
            value is not None for value in (*asked, *sliced)
        )

    @property
    def slices(self) -> tuple[SliceConstraint, ...]:
        """The layers of slices, the largest first, in whichever way they were written."""
        if self.podset_slice_required_topology_constraints:
            return self.podset_slice_required_topology_constraints
        if self.pod_set_slice_required_topology is None:
            return ()
        return (SliceConstraint(topology=self.pod_set_slice_required_topology, size=self.pod_set_slice_size or 0),)


class PodsInDomain(NamedTuple):
    values: tuple[str, ...]
    """The value of each level's label; the host name alone where the lowest level is the node."""
    pods: int


class IndividualValues(View):
    prefix: str = ""
    suffix: str = ""
    roots: tuple[str, ...] = ()


class LevelValues(View):
    """One value for all domains of a slice, or one for each."""

    universal: str | None = None
    individual: IndividualValues = IndividualValues()

    def at(self, place: int) -> str:
        if self.universal is not None:
            return self.universal
        return f"{self.individual.prefix}{self.individual.roots[place]}{self.individual.suffix}"


class PodCounts(View):
    universal: int | None = None
    individual: tuple[int, ...] = ()

    def at(self, place: int) -> int:
        return self.individual[place] if self.universal is None else self.universal


class AssignmentSlice(View):
    """Some domains of an assignment, in the short form of v1beta2."""

    domain_count: int = 0
    values_per_level: tuple[LevelValues, ...] = ()
    pod_counts: PodCounts = PodCounts()


class TopologyAssignment(View):
    levels: tuple[str, ...] = ()
    slices: tuple[AssignmentSlice, ...] = ()

    @property
    def domains(self) -> Iterator[PodsInDomain]:
        """How many pods are in which domain."""
        for part in self.slices:
            for place in range(part.domain_count):
                values = tuple(level.at(place) for level in part.values_per_level)
                yield PodsInDomain(values, part.pod_counts.at(place))

    @property
    def is_of_nodes(self) -> bool:
        """Tell whether its domains are single nodes."""
        return bool(self.levels) and self.levels[-1] == HOSTNAME

    @property
    def lowest_values(self) -> Iterator[str]:
        """The names of the nodes, or of what else the lowest level is."""
        return (domain.values[-1] for domain in self.domains)


class UnhealthyNode(View):
    """A node of an assignment that failed, and whose pods must go elsewhere."""

    name: str = ""
