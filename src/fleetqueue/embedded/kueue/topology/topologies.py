"""All topology-aware flavors of a cluster, kept right as nodes, pods and Workloads come and go.

A tree is built anew only when the set of its nodes has changed, and only when somebody asks for it; what pods and
Workloads use is added and taken off where it changes. Two flavors may share nodes: where the lowest level of both is
the node, what Workloads of one use is taken from the other, too.

Mirrors: Kueue pkg/cache/scheduler (tas_cache.go, tas_nodes_cache.go, tas_non_tas_pod_cache.go)
"""

from collections.abc import Iterator, Mapping, Sequence

from fleetqueue.api.kueue_topology import HOSTNAME, Topology
from fleetqueue.api.kueue_v1beta2 import ResourceFlavor
from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.topology.counting import CountedTrees
from fleetqueue.embedded.kueue.topology.flavor_topology import DomainUsage, FlavorTopology, TopologyUsage
from fleetqueue.embedded.kueue.topology.nodes import TopologyNode
from fleetqueue.embedded.kueue.topology.tree import Tree, Values, with_place


class Topologies(Mapping[str, FlavorTopology]):
    """The flavors whose Topology is there, by name."""

    def __init__(self) -> None:
        self._levels: dict[str, Sequence[str]] = {}
        self._flavors: dict[str, ResourceFlavor] = {}
        self._nodes: dict[str, TopologyNode] = {}
        self._pods: dict[str, tuple[str, Requests]] = {}
        """The node of each pod that we do not place, and what it takes there."""
        self._taken: dict[str, Requests] = {}
        """What such pods take, by node."""
        self._used: dict[str, dict[Values, Requests]] = {}
        """What the pods of Workloads use, by flavor and domain."""
        self._built: dict[str, FlavorTopology] = {}

    def __getitem__(self, name: str) -> FlavorTopology:
        built = self._built.get(name)
        if built is None:
            built = self._built[name] = self._build(name)
        return built

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._flavors if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        flavor = self._flavors.get(name) if isinstance(name, str) else None
        return flavor is not None and flavor.spec.topology_name in self._levels

    def levels(self, name: str) -> Sequence[str]:
        """Return the levels of a flavor that is there, without building its tree."""
        return self._levels[self._flavors[name].spec.topology_name]

    # What the cluster tells

    def set_flavor(self, flavor: ResourceFlavor) -> None:
        old = self._flavors.get(flavor.name)
        if not flavor.spec.topology_name:
            self.drop_flavor(flavor.name)
        elif old is None or old.spec != flavor.spec:
            self._flavors[flavor.name] = flavor
            self._built.clear()

    def drop_flavor(self, name: str) -> None:
        if self._flavors.pop(name, None) is not None:
            self._built.clear()

    def set_topology(self, topology: Topology) -> bool:
        """Take a Topology; return whether it is new: its levels never change."""
        if topology.name in self._levels:
            return False
        self._levels[topology.name] = topology.levels
        self._built.clear()
        return True

    def drop_topology(self, name: str) -> bool:
        self._built.clear()
        return self._levels.pop(name, None) is not None

    def set_node(self, name: str, node: TopologyNode | None) -> list[str]:
        """Take a node, or None where no pods can be placed on it; return the flavors that this concerns."""
        old = self._nodes.get(name)
        if old == node:
            return []
        if node is None:
            del self._nodes[name]
        else:
            self._nodes[name] = node
        concerned = [
            flavor for flavor in self if any(one is not None and self._has(flavor, one) for one in (old, node))
        ]
        for flavor in concerned:
            self._built.pop(flavor, None)
        return concerned

    def set_pod(self, key: str, node: str, requests: Requests) -> list[str]:
        """Take what a pod uses that we do not place; return the flavors of which something became free."""
        known = self._pods.get(key)
        if known == (node, requests):
            return []
        freed = known is not None and (
            known[0] != node or any(value > requests.get(name, 0) for name, value in known[1].items())
        )
        self._free(key)
        self._pods[key] = node, requests
        self._take(node, requests, 1)
        return self._of_node(known[0]) if known is not None and freed else []

    def drop_pod(self, key: str) -> list[str]:
        """Forget a pod that is gone, has ended, or is placed by us; return the flavors that have more room now."""
        node = self._free(key)
        return self._of_node(node) if node else []

    # What Workloads hold

    def hold(self, usage: TopologyUsage, sign: int = 1) -> None:
        """Take what an admitted Workload uses; with -1 give it back."""
        for name, domains in usage.items():
            for domain in domains:
                self._note(name, domain, sign)
            for flavor in self._sharing(name):
                if (built := self._built.get(flavor)) is not None:
                    built.use(domains, sign)

    # Within

    def _note(self, flavor: str, domain: DomainUsage, sign: int) -> None:
        used = self._used.setdefault(flavor, {})
        total = used.setdefault(domain.values, {})
        for name, value in domain.total.items():
            total[name] = total.get(name, 0) + sign * value
        if not any(total.values()):
            del used[domain.values]

    def _sharing(self, name: str) -> list[str]:
        """Return the flavors whose nodes a flavor's Workloads may be on."""
        if name not in self or not self._is_of_nodes(name):
            return [name]
        return [other for other in self if self._is_of_nodes(other)]

    def _is_of_nodes(self, name: str) -> bool:
        return self.levels(name)[-1:] == (HOSTNAME,)

    def _has(self, flavor: str, node: TopologyNode) -> bool:
        return node.belongs_to(self._flavors[flavor].spec.node_labels, self.levels(flavor))

    def _of_node(self, name: str) -> list[str]:
        node = self._nodes.get(name)
        return [] if node is None else [flavor for flavor in self if self._has(flavor, node)]

    def _free(self, key: str) -> str:
        known = self._pods.pop(key, None)
        if known is None:
            return ""
        self._take(*known, -1)
        return known[0]

    def _take(self, node: str, requests: Requests, sign: int) -> None:
        more, total = with_place(requests), self._taken.setdefault(node, {})
        for name, value in more.items():
            total[name] = total.get(name, 0) + sign * value
        if not any(total.values()):
            del self._taken[node]
        for built in self._built.values():
            if (leaf := built.tree.of_node.get(node)) is not None:
                leaf.occupy(more, sign)

    def _build(self, name: str) -> FlavorTopology:
        if name not in self:
            raise KeyError(name)
        flavor = self._flavors[name]
        tree = Tree(self.levels(name), (node for node in self._nodes.values() if self._has(name, node)))
        for node, leaf in tree.of_node.items():
            if (taken := self._taken.get(node)) is not None:
                leaf.occupy(taken)
        for other in self._sharing(name):
            for values, used in self._used.get(other, {}).items():
                if (leaf_used := tree.leaves.get(values)) is not None:
                    leaf_used.use(used)
        return FlavorTopology(name, flavor.spec.topology_name, tree, CountedTrees(tree), flavor.spec.tolerations)
