"""Place the pods of a Workload in the flavors that were found for it; where they do not fit, ask for preemption.

An assignment is changed in place: its pod sets get where their pods are, why they cannot be placed, or that they are
placed later.

Mirrors: Kueue pkg/scheduler/flavorassigner/tas_flavorassigner.go, pkg/scheduler/scheduler.go (updateAssignmentForTAS)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_pods import GROUP_WORKLOAD
from fleetqueue.api.kueue_topology import TopologyRequest
from fleetqueue.api.pod_templates import PodSet
from fleetqueue.embedded.kueue.scheduling.assignment import Assignment, Mode, PartAssignment
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo, has_failed_node
from fleetqueue.embedded.kueue.topology.flavor_topology import DomainUsage, TopologyUsage
from fleetqueue.embedded.kueue.topology.nodes import NodeNeeds
from fleetqueue.embedded.kueue.topology.placement import Placement
from fleetqueue.embedded.kueue.topology.requests import PlacementRequest
from fleetqueue.embedded.kueue.topology.workload_placement import Failed, Placements, place_all

Asked = Mapping[str, Sequence[PlacementRequest]]
"""What is to be placed, by flavor."""
NO_TOPOLOGY = "workload requires Topology, but there is no TAS cache information"
NO_FLAVOR = "no TAS flavor assigned"


@dataclass(frozen=True, slots=True)
class TopologyAssigner:
    work: WorkloadInfo
    queue: QueueTopology

    def place(self, assignment: Assignment) -> None:
        """Place what quota was found for; where there is no room, see whether there would be without all others."""
        if assignment.mode is Mode.NO_FIT:
            return
        asked = self.asked(assignment)
        if assignment.mode is Mode.FIT:
            result = self._placed(asked)
            if result.failure is None:
                self._take(assignment, result)
            else:
                failure = result.failure
                assignment.change(failure.pod_set, reason=failure.reason)
                assignment.set_mode(Mode.PREEMPT, failure.pod_set)
        if assignment.mode is not Mode.PREEMPT or self.work.view.status.unhealthy_nodes:
            return
        result = self._placed(asked, as_if_empty=True)
        if result.failure is not None:
            assignment.set_mode(Mode.NO_FIT, result.failure.pod_set)
        else:
            assignment.set_mode(Mode.PREEMPT, *(one.name for requests in asked.values() for one in requests))

    def place_after_preemption(self, assignment: Assignment, *, has_targets: bool) -> None:
        """Find the domains that a preemptor will need, so that nobody behind it takes them.

        Called while its targets are thought away. Where it has none, all Workloads are.
        """
        asks = self.queue.is_only or any(one.asks_for_topology for one in self.work.pod_sets)
        if assignment.mode is Mode.PREEMPT and asks and not has_failed_node(self.work.view):
            self._take(assignment, self._placed(self.asked(assignment), as_if_empty=not has_targets))

    def can_be_placed(self, asked: Asked) -> bool:
        return self._placed(asked).failure is None

    def asked(self, assignment: Assignment) -> Asked:
        """Return what is still to be placed; note where that cannot be, or is done later."""
        asked: dict[str, list[PlacementRequest]] = {}
        for number, part in enumerate(assignment.parts):
            if not self.queue.is_asked(self.work.pod_sets[number]) or part.error or not part.count:
                continue
            if part.placement is not None and not self._has_failed(part.placement):
                continue
            flavor, error = self._flavor(part)
            if error:
                assignment.change(part.name, error=error)
            elif self._is_delayed(flavor):
                assignment.change(part.name, delayed=kueue.PENDING)
            else:
                asked.setdefault(flavor, []).append(self._request(number, part, flavor))
        return asked

    def net_usage(self, assignment: Assignment) -> TopologyUsage:
        """Return what an assignment uses of domains, beside what the Workload is known to use already."""
        used: dict[str, list[DomainUsage]] = {}
        for number, part in enumerate(assignment.parts):
            flavor, error = self._flavor(part)
            if part.placement is None or error:
                continue
            known, of_pod = self._known(part.name), self.work.single_pod(number)
            for domain in part.placement.domains:
                more = domain.pods - known.get(domain.values, 0)
                if more > 0:
                    used.setdefault(flavor, []).append(DomainUsage(domain.values, of_pod, more))
        return used

    def _placed(self, asked: Asked, *, as_if_empty: bool = False) -> Placements:
        view = self.work.view
        failed = None
        if view.status.unhealthy_nodes:
            before = {part.name: part.placement for part in self.work.parts if part.placement is not None}
            failed = Failed(view.status.unhealthy_nodes[0].name, before, stays=_ends_with_its_pod(view))
        return place_all(asked, self.queue.flavors, as_if_empty=as_if_empty, failed=failed)

    def _take(self, assignment: Assignment, result: Placements) -> None:
        delayed = {part.name for part in assignment.parts if part.delayed}
        for name, placement in result.found.items():
            assignment.change(name, placement=placement)
            if name in delayed:
                assignment.change(name, delayed=kueue.READY)

    def _flavor(self, part: PartAssignment) -> tuple[str, str]:
        """Return the one topology-aware flavor of a pod set, or what is wrong."""
        if not self.queue.flavors:
            return "", NO_TOPOLOGY
        flavors = sorted({given.flavor for given in part.given.values()} & self.queue.flavors.keys())
        if not flavors:
            return "", NO_FLAVOR
        return flavors[0], f"more than one TAS flavor assigned: {', '.join(flavors)}" if len(flavors) > 1 else ""

    def _is_delayed(self, flavor: str) -> bool:
        is_provisioned = flavor in self.queue.provisioned and not self.work.view.is_true(kueue.QUOTA_RESERVED)
        return self.queue.runs_elsewhere or is_provisioned

    def _request(self, number: int, part: PartAssignment, flavor: str) -> PlacementRequest:
        pod_set = self.work.pod_sets[number]
        return PlacementRequest(
            name=part.name,
            count=part.count,
            single_pod=self.work.single_pod(number),
            needs=self._needs(pod_set, flavor),
            topology=pod_set.topology_request or TopologyRequest(),
            is_implied=self.queue.is_implied(pod_set),
        )

    def _needs(self, pod_set: PodSet, flavor: str) -> NodeNeeds:
        """Return what pods need of their nodes, with what checks that are ready have added."""
        checks = (check for check in self.work.view.status.admission_checks if check.state == kueue.READY)
        updates = [one for check in checks for one in check.pod_set_updates if one.name == pod_set.name]
        tolerations = (toleration for one in updates for toleration in one.tolerations)
        selector = {key: value for one in updates for key, value in one.node_selector.items()}
        of_flavor = self.queue.flavors[flavor].tolerations
        return NodeNeeds.of(pod_set.template.spec, (*tolerations, *of_flavor), selector)

    def _has_failed(self, placement: Placement) -> bool:
        failed = {node.name for node in self.work.view.status.unhealthy_nodes}
        return any(domain.values[-1] in failed for domain in placement.domains)

    def _known(self, part: str) -> Mapping[tuple[str, ...], int]:
        admission = self.work.view.status.admission
        given = (one for one in admission.pod_set_assignments if one.name == part) if admission is not None else ()
        assignment = next((one.topology_assignment for one in given), None)
        return Placement.of(assignment).counts if assignment is not None else {}


def with_placements(assignment: Assignment, work: WorkloadInfo) -> None:
    """Give the pod sets of a Workload that holds quota where their pods are."""
    admission = work.view.status.admission
    delayed = {one.name: one.delayed_topology_request for one in (admission.pod_set_assignments if admission else ())}
    assignment.parts = [
        replace(part, placement=held.placement, delayed=delayed.get(part.name, ""))
        for part, held in zip(assignment.parts, work.parts, strict=False)
    ]


def _ends_with_its_pod(view: kueue.Workload) -> bool:
    """Tell whether a Workload was made for one pod: that cannot go elsewhere, and the Workload ends with it."""
    owners = view.metadata.owner_references
    if view.metadata.annotations.get(GROUP_WORKLOAD) == "true":
        return False
    return len(owners) == 1 and (owners[0].api_version, owners[0].kind) == ("v1", "Pod")
