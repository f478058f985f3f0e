"""What topologies mean for one ClusterQueue: which of its flavors are topology-aware, and where its pods are placed.

Mirrors: Kueue pkg/scheduler/flavorassigner/tas_flavorassigner.go (checkPodSetAndFlavorMatchForTAS)
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fleetqueue.api.kueue_topology import TopologyRequest
from fleetqueue.api.kueue_v1beta2 import ResourceFlavor
from fleetqueue.api.pod_templates import PodSet
from fleetqueue.embedded.kueue.topology.flavor_topology import FlavorTopology
from fleetqueue.embedded.kueue.topology.requests import has_levels

NOTHING = TopologyRequest()


@dataclass(frozen=True, slots=True)
class QueueTopology:
    flavors: Mapping[str, FlavorTopology] = field(default_factory=dict)
    """Its topology-aware flavors whose Topology is there."""
    is_only: bool = False
    """Whether it has no other flavors: then every pod set is placed, whether it asks for that or not."""
    runs_elsewhere: bool = False
    """Whether its Workloads run on the workers of MultiKueue, which place their pods themselves."""
    provisioned: frozenset[str] = frozenset()
    """Flavors whose nodes are made only after quota is reserved."""

    def is_implied(self, pod_set: PodSet) -> bool:
        return self.is_only and not pod_set.asks_for_topology

    def is_asked(self, pod_set: PodSet) -> bool:
        return self.is_only or pod_set.asks_for_topology

    def mismatch(self, pod_set: PodSet, flavor: ResourceFlavor, covered: Collection[str]) -> str:
        """Say why a pod set cannot use a flavor for some resources; nothing if it can, as far as topology goes."""
        name, is_aware = flavor.name, bool(flavor.spec.topology_name)
        if not self.is_asked(pod_set):
            return f'Flavor "{name}" supports only TopologyAwareScheduling' if is_aware else ""
        if self.is_implied(pod_set):
            return ""
        if not is_aware:
            # A flavor may still give quota for what pods do not ask for by themselves.
            overlaps = not pod_set.template.spec.requests().keys().isdisjoint(covered)
            return f'Flavor "{name}" does not support TopologyAwareScheduling' if overlaps else ""
        known = self.flavors.get(name)
        if known is None:
            return f'Flavor "{name}" information missing in TAS cache'
        if not has_levels(known.tree.levels, pod_set.topology_request or NOTHING):
            return f'Flavor "{name}" does not contain the requested level'
        return ""
