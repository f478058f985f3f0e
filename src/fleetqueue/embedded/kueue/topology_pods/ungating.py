"""Which pods may leave the topology gate, and where each of them goes.

A domain of an assignment takes so many pods and not one more: those that have left the gate count, as long as they
have not ended, whatever node they are on.

Mirrors: Kueue pkg/controller/tas/topology_ungater.go
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_pods import TOPOLOGY_GATE, has_ended, is_gated
from fleetqueue.api.kueue_topology import TopologyAssignment, TopologyRequest
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.topology_pods.ranks import NoRanks, Ranks, ranks_of_sets, shifted

Domain = tuple[str, ...]
"""The values of its levels."""
_NO_REQUEST: Final = TopologyRequest()


class Ungated(NamedTuple):
    pod: Manifest
    selector: Mapping[str, str]
    """The labels of the nodes that it is to run on."""


def is_placed_by_topology(workload: kueue.Workload) -> bool:
    """Tell whether a Workload is admitted, and its pods are told where to run."""
    admission = workload.status.admission
    if admission is None or not workload.is_true(kueue.ADMITTED):
        return False
    return any(part.topology_assignment is not None for part in admission.pod_set_assignments)


def pods_to_ungate(
    workload: kueue.Workload, requests: Mapping[str, TopologyRequest | None], pods: Mapping[str, Sequence[Manifest]]
) -> Iterator[Ungated]:
    """Yield the pods of an admitted Workload that may go on; both mappings are by pod set. Raises BadOffset."""
    assert workload.status.admission is not None
    parts = workload.status.admission.pod_set_assignments
    ranks, unhealthy = ranks_of_sets(parts, requests), {node.name for node in workload.status.unhealthy_nodes}
    for part in parts:
        assignment = part.topology_assignment
        if assignment is None:
            continue
        live = [pod for pod in pods.get(part.name, ()) if not has_ended(pod)]
        counted = shifted(ranks[part.name], live)
        for pod, domain in _domains_of_pods(assignment, requests.get(part.name) or _NO_REQUEST, live, counted):
            if not _is_on(unhealthy, assignment, domain):
                yield Ungated(pod, dict(zip(assignment.levels, domain, strict=False)))


def _is_on(unhealthy: Set[str], assignment: TopologyAssignment, domain: Domain) -> bool:
    """Tell whether pods would go to a node that failed: they wait until another takes its place."""
    return assignment.is_of_nodes and ",".join(domain) in unhealthy


def _domains_of_pods(
    assignment: TopologyAssignment, request: TopologyRequest, pods: Sequence[Manifest], ranks: Ranks
) -> list[tuple[Manifest, Domain]]:
    if request.pod_index_label is not None:
        by_rank = _by_rank(assignment, request, pods, ranks)
        if by_rank is not None:
            return by_rank
    return _one_after_another(assignment, pods)


def _by_rank(
    assignment: TopologyAssignment, request: TopologyRequest, pods: Sequence[Manifest], ranks: Ranks
) -> list[tuple[Manifest, Domain]] | None:
    """Return gated pods with the domains of their ranks; None where a pod that runs is elsewhere than its rank says."""
    domains = [domain.values for domain in assignment.domains for _ in range(domain.pods)]
    try:
        by_rank = ranks.of(request, pods)
    except NoRanks:
        return None
    if any(rank >= len(domains) for rank in by_rank):
        return None
    placed = [(pod, domains[rank]) for rank, pod in by_rank.items()]
    if any(not is_gated(pod, TOPOLOGY_GATE) and _domain_of(pod, assignment) != domain for pod, domain in placed):
        return None
    return [(pod, domain) for pod, domain in placed if is_gated(pod, TOPOLOGY_GATE)]


def _one_after_another(assignment: TopologyAssignment, pods: Sequence[Manifest]) -> list[tuple[Manifest, Domain]]:
    gated = [pod for pod in pods if is_gated(pod, TOPOLOGY_GATE)]
    there = Counter(_domain_of(pod, assignment) for pod in pods if not is_gated(pod, TOPOLOGY_GATE))
    room = [domain.values for domain in assignment.domains for _ in range(domain.pods - there[domain.values])]
    return [*zip(gated, room, strict=False)]


def _domain_of(pod: Manifest, assignment: TopologyAssignment) -> Domain:
    selector = pod["spec"].get("nodeSelector") or {}
    return tuple(selector.get(level, "") for level in assignment.levels)


def ungated(pod: Manifest, selector: Mapping[str, str]) -> Manifest:
    """Return a pod without the gate, with the labels of its nodes."""
    gates = [gate for gate in pod["spec"].get("schedulingGates") or () if gate["name"] != TOPOLOGY_GATE]
    rest = {field: value for field, value in pod["spec"].items() if field != "schedulingGates"}
    spec = {**rest, "nodeSelector": {**(rest.get("nodeSelector") or {}), **selector}}
    return {**pod, "spec": {**spec, "schedulingGates": gates} if gates else spec}
