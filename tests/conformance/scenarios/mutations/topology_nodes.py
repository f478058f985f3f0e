"""Rules of the nodes of topology-aware scheduling: which of them count, and what becomes of pods when they change."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from fleetqueue.api.core_v1 import Node, PodSpec
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.taints import Taint
from fleetqueue.embedded.kueue import queues
from fleetqueue.embedded.kueue.scheduling import admission_status, readiness
from fleetqueue.embedded.kueue.scheduling.amounts import amount
from fleetqueue.embedded.kueue.scheduling.assignment import Assignment, Mode
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cluster_configuration import ClusterConfiguration
from fleetqueue.embedded.kueue.scheduling.cohorts import Queue
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import BEST, FlavorAssigner
from fleetqueue.embedded.kueue.scheduling.other_pods import OtherPod
from fleetqueue.embedded.kueue.scheduling.reservations import Reservations
from fleetqueue.embedded.kueue.scheduling.topology_assigner import TopologyAssigner
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo
from fleetqueue.embedded.kueue.topology import nodes, replacement, workload_placement
from fleetqueue.embedded.kueue.topology.exclusions import Exclusions
from fleetqueue.embedded.kueue.topology.flavor_topology import TopologyUsage
from fleetqueue.embedded.kueue.topology.nodes import NodeNeeds, TopologyNode
from fleetqueue.embedded.kueue.topology.placement import Placement
from fleetqueue.embedded.kueue.topology.topologies import Topologies
from fleetqueue.embedded.kueue.topology.tree import Tree
from fleetqueue.embedded.kueue.topology_pods import node_health
from fleetqueue.embedded.kueue.topology_pods.failed_nodes import FailedNodeController
from fleetqueue.embedded.kueue.topology_pods.node_health import ReplacementGates

from .mutation import Mutation, always, by_chance

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"

are_met_by, needs, usable = NodeNeeds.are_met_by, NodeNeeds.of, nodes.usable
add, kept, hold, count = Tree._add, OtherPod.kept, Topologies.hold, Reservations._count
place, placed, reserved = TopologyAssigner.place, workload_placement._placed, admission_status.reserved


def _without_taints(self: NodeNeeds, node: TopologyNode, exclusions: Exclusions) -> bool:
    return are_met_by(self, replace(node, taints=()), exclusions)


def _with_any_labels(self: NodeNeeds, node: TopologyNode, exclusions: Exclusions) -> bool:
    return are_met_by(replace(self, selector=()), node, exclusions)


def _without_affinity(self: NodeNeeds, node: TopologyNode, exclusions: Exclusions) -> bool:
    return are_met_by(replace(self, terms=None), node, exclusions)


def _intolerant(cls: Any, spec: PodSpec, tolerations: Any = (), selector: Any = None) -> NodeNeeds:
    return needs(msgspec.structs.replace(spec, tolerations=()), (), selector)


def _whatever_cordoned(node: Node) -> TopologyNode | None:
    return usable(msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=False)))


def _whatever_ready(node: Node) -> TopologyNode | None:
    allocatable = {name: amount(name, value) for name, value in node.status.allocatable.items()}
    found = TopologyNode(node.name, node.metadata.labels, node.spec.taints, allocatable)
    return None if node.spec.unschedulable else found


def _whatever_labels(node: Node) -> TopologyNode | None:
    found = usable(node)
    return None if found is None else replace(found, labels={BLOCK: "", RACK: "", **found.labels})


def _with_node(self: Tree, node: TopologyNode) -> None:
    """Look at nodes also where the smallest domains have several."""
    add(self, node)
    self.of_node[node.name].node = node


def _for_ever(self: Topologies, usage: TopologyUsage, sign: int = 1) -> None:
    if sign > 0:
        hold(self, usage, sign)


def _once_admitted(self: Reservations, work: WorkloadInfo, sign: int, *, is_admitted: bool) -> None:
    if not is_admitted:
        work._topology_usage = {}
    count(self, work, sign, is_admitted=is_admitted)


def _never_opened(self: ClusterConfiguration, topology: Topology) -> list[str]:
    self.topologies.set_topology(topology)
    return []


def _hopeful(self: TopologyAssigner, assignment: Assignment) -> None:
    """Take it that who finds no place now has one as soon as others have gone."""
    asked = self.asked(assignment)
    failure = self._placed(asked).failure if assignment.mode is Mode.FIT else None
    if failure is None:
        place(self, assignment)
    else:
        assignment.change(failure.pod_set, placement=Placement((), ()), reason=failure.reason)
        assignment.set_mode(Mode.PREEMPT, *(one.name for requests in asked.values() for one in requests))


def _meek(self: TopologyAssigner, assignment: Assignment) -> None:
    """Let nobody go for who finds no place."""
    fits = assignment.mode is Mode.FIT
    place(self, assignment)
    if fits and assignment.mode is Mode.PREEMPT:
        assignment.set_mode(Mode.NO_FIT, *(part.name for part in assignment.parts))


async def not_lost(self: FailedNodeController, key: str, node: str) -> bool:
    return False


def _still_unhealthy(raw: Manifest, admission: Manifest, *, is_admitted: bool, now: datetime) -> Manifest:
    status = reserved(raw, admission, is_admitted=is_admitted, now=now)
    lost = (raw.get("status") or {}).get("unhealthyNodes")
    return {**status, "unhealthyNodes": lost} if lost else status


MUTATIONS = (
    Mutation(
        "taints keep pods away",
        NodeNeeds,
        "are_met_by",
        _without_taints,
        ("a taint keeps pods away", "a flavor tolerates the taint of its nodes", *by_chance(0, 3, 7, 18, 22, 23)),
    ),
    Mutation(
        "pods and flavors tolerate taints",
        NodeNeeds,
        "of",
        classmethod(_intolerant),
        (
            "a pod tolerates the taint of a node",
            "a flavor tolerates the taint of its nodes",
            *by_chance(3, 5, 12, 15, 18, 22, 23, 41),
        ),
    ),
    Mutation(
        "some taints only discourage",
        Taint,
        "keeps_out",
        property(always(True)),
        ("a node gets a taint under a workload", "a flavor tolerates the taint of its nodes"),
    ),
    Mutation(
        "node selectors choose",
        NodeNeeds,
        "are_met_by",
        _with_any_labels,
        ("a node selector chooses hosts", *by_chance(0, 3, 9, 10, 16, 21, 41)),
    ),
    Mutation(
        "node affinities choose",
        NodeNeeds,
        "are_met_by",
        _without_affinity,
        ("a node affinity chooses hosts",),
    ),
    Mutation(
        "nodes are looked at only where they are a level",
        Tree,
        "_add",
        _with_node,
        ("a node selector means nothing where hosts are no level", *by_chance(26, 37, 38)),
    ),
    Mutation(
        "a cordoned node takes nothing",
        nodes,
        "usable",
        _whatever_cordoned,
        (
            "a cordoned node takes nothing until it is open again",
            "who is admitted keeps its place when nodes change",
            *by_chance(33, 42),
        ),
    ),
    Mutation(
        "a node that is not ready takes nothing",
        nodes,
        "usable",
        _whatever_ready,
        ("a node that is not ready takes nothing until it is", *by_chance(7, 30, 32)),
    ),
    Mutation(
        "a node has a label for each level",
        nodes,
        "usable",
        _whatever_labels,
        ("nodes without the label of a level are left out",),
    ),
    Mutation(
        "who waits is tried again when nodes change",
        Cache,
        "_ask_after_node",
        always(None),
        (
            "a node that comes lets in who waits",
            "a node that grows lets in who waits",
            "a node that is not ready takes nothing until it is",
            "a cordoned node takes nothing until it is open again",
        ),
    ),
    Mutation(
        "pods of others take room",
        Topologies,
        "set_pod",
        always(()),
        ("pods of others take room on their node", *by_chance(8, 11, 23, 39)),
    ),
    Mutation(
        "pods that have ended take no room",
        OtherPod,
        "kept",
        classmethod(lambda cls, raw: kept({**raw, "status": {}})),
        ("pods of others take room on their node",),
    ),
    Mutation(
        "flavors of the same nodes share them",
        Topologies,
        "_sharing",
        lambda self, name: [name],
        ("two flavors of the same nodes",),
    ),
    Mutation(
        "who leaves gives its places back",
        Topologies,
        "hold",
        _for_ever,
        (
            "required on one host, of which none is free",
            "two heads share the nodes that are left",
            "a queue takes its nodes back from another",
            *by_chance(13, 22, 31, 34),
        ),
    ),
    Mutation(
        "who waits for a check holds its places",
        Reservations,
        "_count",
        _once_admitted,
        ("a workload that waits for a check holds its place",),
    ),
    Mutation(
        "a queue opens when its Topology comes",
        ClusterConfiguration,
        "set_topology",
        _never_opened,
        ("a flavor whose topology is missing",),
    ),
    Mutation(
        "a queue is closed while its Topology is missing",
        readiness,
        "_of_topologies",
        always(()),
        ("a flavor whose topology is missing",),
    ),
    Mutation(
        "a Topology stays while a flavor names it",
        queues,
        "_topology_of",
        always(()),
        ("a topology is deleted while it is used",),
    ),
    Mutation(
        "quota has room, too",
        FlavorAssigner,
        "_fits",
        always((BEST, "")),
        ("quota and topology must both have room", *by_chance(7, 11, 19, 26, 29, 33)),
    ),
    Mutation(
        "nobody goes for who finds no place even then",
        TopologyAssigner,
        "place",
        _hopeful,
        ("nobody goes where that does not help", "as many go as it needs in one rack"),
    ),
    Mutation(
        "others go for who finds no place",
        TopologyAssigner,
        "place",
        _meek,
        ("a lower priority goes where its room is needed", "as many go as it needs in one rack"),
    ),
    Mutation(
        "others go until the pods find their places",
        TopologyAssigner,
        "can_be_placed",
        always(True),
        ("as many go as it needs in one rack", *by_chance(34, 38)),
    ),
    Mutation(
        "nobody takes what another was just given",
        Queue,
        "has_room",
        always(True),
        ("two heads want the same rack", "two heads share the nodes that are left"),
    ),
    Mutation(
        "a node that fails is noted",
        FailedNodeController,
        "_lose",
        not_lost,
        (
            "a node that fails is replaced",
            "a node that is deleted is replaced",
            "two nodes fail one after the other",
            *by_chance(6, 15, 16),
        ),
    ),
    Mutation(
        "who lost a node keeps the others",
        workload_placement,
        "_replaced",
        lambda where, group, failed: placed(where, group),
        ("a node that fails is replaced", "a node that is deleted is replaced", *by_chance(1, 40)),
    ),
    Mutation(
        "another node is in the domain that is required",
        replacement,
        "_required_domain",
        always(()),
        ("a node fails and there is no other", *by_chance(40)),
    ),
    Mutation(
        "another node makes a slice whole",
        replacement,
        "_incomplete_slice",
        always(()),
        ("a slice that lost a node is made whole again",),
    ),
    Mutation(
        "what a slice lost is placed in no whole slices",
        replacement,
        "_in_smaller_slices",
        lambda asked, slices: asked.topology,
        ("a slice that lost a node is made whole again",),
    ),
    Mutation(
        "who gets no other node goes",
        Cache,
        "evicts_without_replacement",
        property(always(False)),
        ("a node fails and there is no other", *by_chance(2, 6, 8, 15, 16, 32, 35)),
    ),
    Mutation(
        "who was placed anew has lost nothing any more",
        admission_status,
        "reserved",
        _still_unhealthy,
        ("two nodes fail one after the other", "a node that fails is replaced", *by_chance(1, 40)),
    ),
    Mutation(
        "a taint makes a node fail",
        ReplacementGates,
        "of",
        classmethod(lambda cls, gates: cls(on_taints=False)),
        ("a node gets a taint under a workload",),
    ),
    Mutation(
        "a taint that pods tolerate does not",
        node_health,
        "_is_tolerated_by_all",
        always(False),
        ("a node gets a taint under a workload",),
    ),
)
