"""Find flavors for a Workload: for each pod set and each group of resources the best that the queue's rules allow.

Mirrors: Kueue pkg/scheduler/flavorassigner
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import PodSpec
from fleetqueue.api.kueue_v1beta2 import ResourceFlavor
from fleetqueue.api.pod_templates import PodSet
from fleetqueue.api.selectors import Requirement
from fleetqueue.api.taints import Taint, is_tolerated
from fleetqueue.embedded.kueue.scheduling.amounts import PODS, Requests, written
from fleetqueue.embedded.kueue.scheduling.assignment import (
    Assignment,
    Attempt,
    Given,
    GranularMode,
    Mode,
    PartAssignment,
    merged_attempts,
)
from fleetqueue.embedded.kueue.scheduling.cohorts import CohortNode, Queue
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource
from fleetqueue.embedded.kueue.scheduling.topology_assigner import TopologyAssigner, with_placements
from fleetqueue.embedded.kueue.scheduling.workload_info import PodSetResources, Tried, WorkloadInfo

NO_TOPOLOGY = QueueTopology()


def mismatch(
    pod_set: PodSet,
    name: str,
    flavor: ResourceFlavor | None,
    topology: QueueTopology = NO_TOPOLOGY,
    covered: Sequence[str] = (),
) -> str:
    """Say why a pod set cannot use a flavor for some resources; nothing if it can."""
    if flavor is None:
        return f"flavor {name} not found"
    if why := topology.mismatch(pod_set, flavor, covered):
        return why
    spec = pod_set.template.spec
    tolerations = (*spec.tolerations, *flavor.spec.tolerations)
    for taint in flavor.spec.node_taints:
        if taint.keeps_out and not is_tolerated(taint, tolerations):
            return f"untolerated taint {_as_go(taint)} in flavor {name}"
    if not _is_chosen(spec, flavor.spec.node_labels):
        return f"flavor {name} doesn't match node affinity"
    return ""


def _as_go(taint: Taint) -> str:
    return f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"


def _is_chosen(spec: PodSpec, labels: Mapping[str, str]) -> bool:
    """Compare only what the flavor has a label for: all else is for the scheduler of the nodes."""
    if any(key in labels and labels[key] != value for key, value in spec.node_selector.items()):
        return False
    required = spec.affinity.node_affinity.required
    terms = [
        [expression for expression in term.match_expressions if expression.key in labels]
        for term in (required.node_selector_terms if required is not None else ())
    ]
    if not all(terms):  # a term about other labels can always be met
        return True
    return not terms or any(all(_holds(expression, labels) for expression in term) for term in terms)


def _holds(term: Requirement, labels: Mapping[str, str]) -> bool:
    """Judge a term about a label that the flavor has."""
    value = labels[term.key]
    match term.operator:
        case "In":
            return value in term.values
        case "NotIn":
            return value not in term.values
        case "Exists":
            return True
        case "Gt":
            return _number(value) > _number(term.values[0])
        case "Lt":
            return _number(value) < _number(term.values[0])
    return False


def _number(text: str) -> float:
    """Return the number that a label is; what is none is neither more nor less than anything."""
    return float(text) if text.lstrip("-").isdigit() else float("nan")


NEXT = "TryNextFlavor"

Simulate = Callable[[FlavorResource, int], tuple[GranularMode, int]]
"""Say what preemption would give for an amount: how, and how high up one must then borrow."""


@dataclass(frozen=True, slots=True)
class Chance:
    """How well something fits, and how high up in the tree it must borrow for that."""

    granular_mode: GranularMode
    borrows: int

    def is_better(self, than: "Chance", rules: kueue.FlavorFungibility) -> bool:
        if GranularMode.NO_FIT in (self.granular_mode, than.granular_mode):
            return self.granular_mode is not GranularMode.NO_FIT
        hopeless = [chance.granular_mode is GranularMode.NO_CANDIDATES for chance in (self, than)]
        if hopeless[0] != hopeless[1]:
            return hopeless[1]
        if rules.preference == "PreemptionOverBorrowing":
            return (-self.borrows, self.granular_mode) > (-than.borrows, than.granular_mode)
        return (self.granular_mode, -self.borrows) > (than.granular_mode, -than.borrows)

    def may_be_bettered(self, rules: kueue.FlavorFungibility) -> bool:
        """Tell whether the next flavor is to be tried, too."""
        if self.granular_mode in (GranularMode.NO_FIT, GranularMode.NO_CANDIDATES):
            return True
        if self.granular_mode in (GranularMode.PREEMPT, GranularMode.RECLAIM) and rules.when_can_preempt == NEXT:
            return True
        return self.borrows > 0 and rules.when_can_borrow == NEXT


WORST = Chance(GranularMode.NO_FIT, 2**31)
BEST = Chance(GranularMode.FIT, 0)


@dataclass(slots=True)
class Search:
    """What was found so far for one group of resources."""

    given: dict[str, Given] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FlavorAssigner:
    work: WorkloadInfo
    queue: Queue
    spec: kueue.ClusterQueueSpec
    flavors: Mapping[str, kueue.ResourceFlavor]
    simulate: Simulate
    cycle: int
    held: Sequence[PodSetResources] = ()
    """What the slice holds, set by set, whose place the Workload takes: only what is more is asked for."""
    ignores_undeclared: bool = False
    """Whether requests for what the queue has no quota of are not looked at."""
    shares_fairly: bool = False
    """Whether others may have to go although the Workload borrows."""
    topology: QueueTopology = NO_TOPOLOGY

    def assign(self, counts: Sequence[int] = ()) -> Assignment:
        """Find flavors, for all pods or for so many of each set."""
        parts = self.work.parts
        if counts:
            parts = [part.scaled(count) for part, count in zip(parts, counts, strict=True)]
        assignments: list[PartAssignment] = []
        usage: dict[FlavorResource, int] = {}
        for numbers in _groups(self.work.pod_sets):
            group = self._assign_group(numbers, [self._with_pods(parts[number]) for number in numbers], usage)
            for number, assigned in zip(numbers, group, strict=True):
                for resource, given in assigned.given.items():
                    what = FlavorResource(given.flavor, resource)
                    more = assigned.requests.get(resource, 0) - self._held([number], resource)
                    usage[what] = usage.get(what, 0) + more
            assignments += group
            if any(assigned.requests and not assigned.given for assigned in group):
                break
        assignment = Assignment(assignments, usage, _most_borrowed(assignments), self._tried(assignments))
        with_placements(assignment, self.work)
        TopologyAssigner(self.work, self.topology).place(assignment)
        return assignment

    def _with_pods(self, part: PodSetResources) -> PodSetResources:
        """Count the pods themselves, where the queue has quota for them."""
        if self._group(PODS) is None:
            return part
        return replace(part, requests={**part.requests, PODS: part.count})

    def _assign_group(
        self, numbers: Sequence[int], parts: Sequence[PodSetResources], usage: Mapping[FlavorResource, int]
    ) -> list[PartAssignment]:
        """Find one flavor for each resource that pod sets of a group ask for together."""
        requests = _sum(part.requests for part in parts)
        # A Workload that holds quota is only looked at for its topology: its flavors stay.
        given = {name: Given(flavor, Mode.FIT, 0) for part in parts for name, flavor in part.flavors.items()}
        reasons: list[str] = []
        attempts: list[tuple[str, Sequence[str], Sequence[Attempt]]] = []
        for resource, value in sorted(requests.items()):
            group = self._group(resource)
            if resource in given or (group is None and (value == 0 or self.ignores_undeclared)):
                continue
            search = self._search(numbers, requests, resource, group, usage)
            names = [flavor.name for flavor in group.flavors] if group is not None else []
            attempts.append((resource, names, search.attempts))
            if not search.given:
                given, reasons = {}, search.reasons
                break
            given |= search.given
            reasons += search.reasons
        merged = merged_attempts(attempts)
        return [
            PartAssignment(part.name, part.count, part.requests, self._own(part, number, given), reasons, merged)
            for number, part in zip(numbers, parts, strict=True)
        ]

    def _own(self, part: PodSetResources, number: int, given: Mapping[str, Given]) -> Mapping[str, Given]:
        """Return what a pod set needs of a group's flavors; who asks for nothing is still placed with the others."""
        if part.requests:
            return {resource: one for resource, one in given.items() if resource in part.requests}
        if not _group_name(self.work.pod_sets[number]):
            return {}
        return {resource: one for resource, one in given.items() if one.flavor in self.topology.flavors}

    def _search(
        self,
        numbers: Sequence[int],
        requests: Requests,
        resource: str,
        group: kueue.ResourceGroup | None,
        usage: Mapping[FlavorResource, int],
    ) -> Search:
        """Go through the flavors that have a resource, from where the last search ended."""
        search = Search()
        if group is None:
            search.reasons.append(f"resource {resource} unavailable in ClusterQueue")
            return search
        wanted = {name: value for name, value in requests.items() if name in group.covered_resources}
        best, place, last = WORST, -1, len(group.flavors) - 1
        start = self.work.tried.next_place(numbers[0], resource) if self.work.tried is not None else 0
        for place in range(start, len(group.flavors)):
            name = group.flavors[place].name
            if why := self._beside_pin(numbers, name, resource):
                search.reasons.append(why)
                continue
            if why := self._mismatch(numbers, name, group):
                search.reasons.append(why)
                search.attempts.append(Attempt(name, GranularMode.NO_FIT, 0, (why,)))
                continue
            chance, given = self._try(numbers, name, wanted, usage, search)
            is_last_word = not chance.may_be_bettered(self.spec.flavor_fungibility)
            if is_last_word or chance.is_better(best, self.spec.flavor_fungibility):
                best, search.given = chance, given
            if is_last_word:
                break
        tried = -1 if place == last else place
        search.given = {name: replace(assignment, tried=tried) for name, assignment in search.given.items()}
        if best.granular_mode is GranularMode.FIT:
            search.reasons = []
        return search

    def _mismatch(self, numbers: Sequence[int], name: str, group: kueue.ResourceGroup) -> str:
        """Say why one of some pod sets cannot use a flavor."""
        sets, flavor = (self.work.pod_sets[number] for number in numbers), self.flavors.get(name)
        found = (mismatch(one, name, flavor, self.topology, group.covered_resources) for one in sets)
        return next((why for why in found if why), "")

    def _beside_pin(self, numbers: Sequence[int], name: str, resource: str) -> str:
        """Say of a flavor that it is not looked at, since the Workload was nominated with another one in this cycle."""
        pinned = self.work.pinned
        if not pinned or any(pinned[number].get(resource) == name for number in numbers):
            return ""
        return f"skipping flavor {name} as it is not found in the nomination mapping for resource {resource}"

    def _try(
        self,
        numbers: Sequence[int],
        flavor: str,
        wanted: Requests,
        usage: Mapping[FlavorResource, int],
        search: Search,
    ) -> tuple[Chance, dict[str, Given]]:
        """See how one flavor does for all resources of its group; the worst of them counts."""
        worst, given, reasons, most = BEST, {}, [], 0
        for resource, value in sorted(wanted.items()):
            what = FlavorResource(flavor, resource)
            if self.held and (has := self._held_flavor(numbers, resource, flavor)) != flavor:
                worst = WORST
                reasons.append(f"could not assign {flavor} flavor since the original workload is assigned: {has}")
            else:
                value -= self._held(numbers, resource)
            chance, why = self._fits(what, usage.get(what, 0), value)
            reasons += [why] if why else []
            most = max(most, chance.borrows)
            if worst.is_better(chance, self.spec.flavor_fungibility):
                worst = chance
            if worst.granular_mode is not GranularMode.NO_FIT:
                given[resource] = Given(flavor, chance.granular_mode.mode, chance.borrows)
        search.reasons += reasons
        search.attempts.append(Attempt(flavor, worst.granular_mode, most, tuple(sorted(reasons))))
        return worst, given

    def _fits(self, what: FlavorResource, assumed: int, request: int) -> tuple[Chance, str]:
        """Judge one resource of one flavor, beside what earlier pod sets of the Workload would hold of it."""
        resource, value, most = what.resource, assumed + request, self.queue.potentially_available(what)
        if value > most:
            return Chance(GranularMode.NO_FIT, 0), (
                f"insufficient quota for {resource} in flavor {what.flavor}, previously considered podsets requests "
                f"({written(resource, assumed)}) + current podset request ({written(resource, request)}) > "
                f"maximum capacity ({written(resource, most)})"
            )
        borrows, may_reclaim = lowest_that_fits(self.queue, what, value)
        available = max(0, self.queue.available(what))
        if value <= available:
            return Chance(GranularMode.FIT, borrows), ""
        missing = written(resource, value - available)
        why = f"insufficient unused quota for {resource} in flavor {what.flavor}, {missing} more needed"
        if self.queue.quota(what).nominal >= value or may_reclaim or self._may_preempt_while_borrowing:
            granular_mode, borrows = self.simulate(what, value)
            return Chance(granular_mode, borrows), why
        return Chance(GranularMode.NO_FIT, borrows), why

    @property
    def _may_preempt_while_borrowing(self) -> bool:
        rules = self.spec.preemption
        is_fair = self.shares_fairly and rules.reclaim_within_cohort != "Never"
        return is_fair or rules.borrow_within_cohort.policy != "Never"

    def _held(self, numbers: Sequence[int], resource: str) -> int:
        return sum(self.held[number].requests.get(resource, 0) for number in numbers if number < len(self.held))

    def _held_flavor(self, numbers: Sequence[int], resource: str, wanted: str) -> str:
        """Return the first flavor that is held for a resource and is not the wanted one; else that."""
        held = (self.held[number].flavors.get(resource, "") for number in numbers)
        return next((flavor for flavor in held if flavor != wanted), wanted)

    def _group(self, resource: str) -> kueue.ResourceGroup | None:
        return next((group for group in self.spec.resource_groups if resource in group.covered_resources), None)

    def _tried(self, assignments: Sequence[PartAssignment]) -> Tried:
        places = [{resource: given.tried for resource, given in part.given.items()} for part in assignments]
        return Tried(places, self.queue.generation, self.cycle, self.work.shape)


def lowest_that_fits(queue: Queue, what: FlavorResource, value: int) -> tuple[int, bool]:
    """Return the height of the smallest tree whose quota holds an amount, and whether others in it may have to go.

    Height 0 is the queue itself: it need not borrow.
    """
    if queue.parent is None or not queue.would_borrow(what, value):
        return 0, queue.parent is not None
    left, top = value - queue.local_available(what), queue.parent
    for node in queue.ancestors():
        if not node.would_borrow(what, left):
            return _height(node), node.parent is not None
        left -= node.local_available(what)
        top = node
    return _height(top), False


def _height(node: object) -> int:
    assert isinstance(node, CohortNode)  # above a queue there are only cohorts
    return node.height


def _most_borrowed(assignments: Sequence[PartAssignment]) -> int:
    return max((given.borrows for part in assignments for given in part.given.values()), default=0)


def _groups(sets: Sequence[PodSet]) -> list[list[int]]:
    """Return the places of the pod sets that get one flavor; who is in no group stands alone."""
    groups: dict[str, list[int]] = {}
    for number, one in enumerate(sets):
        name = _group_name(one)
        groups.setdefault(f"/{name}" if name else str(number), []).append(number)
    return [*groups.values()]


def _group_name(one: PodSet) -> str:
    return (one.topology_request.pod_set_group_name or "") if one.topology_request is not None else ""


def _sum(requests: Iterable[Requests]) -> Requests:
    total: Requests = {}
    for one in requests:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return total
