"""A Workload as the scheduler sees it: what it asks for, what it holds, and its place in the queue.

Mirrors: Kueue pkg/workload/workload.go (Info)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

import orjson

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.api.pod_templates import PodSet, pod_sets
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling import amounts
from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.scheduling.counted_resources import counted
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import Summary, adjusted, refusal
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities
from fleetqueue.embedded.kueue.settings import ResourceSettings, SchedulingSettings
from fleetqueue.embedded.kueue.topology.flavor_topology import DomainUsage, TopologyUsage
from fleetqueue.embedded.kueue.topology.placement import Placement

LONG_AGO: Final = datetime.fromtimestamp(0, UTC)
PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
ADMISSION_CHECK: Final = "AdmissionCheck"
WAITS_FOR_PODS: Final = "WaitingForReplacementPods"
ON_HOLD: Final = "OnHold"
SET_FIELDS: Final = ("name", "minCount", "topologyRequest")
POD_FIELDS: Final = ("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "resources")


@dataclass(frozen=True, slots=True)
class PodSetResources:
    """One pod set: all of its pods together."""

    name: str
    count: int
    requests: Requests
    flavors: Mapping[str, str] = field(default_factory=dict)
    """From which flavor it holds each resource; empty while it holds none."""
    placement: Placement | None = None
    """Where its pods are, if topology-aware scheduling placed them."""

    def scaled(self, count: int) -> "PodSetResources":
        """Return the same with fewer pods, or more."""
        if not self.count or count == self.count:
            return self
        per_pod = {name: value // self.count for name, value in self.requests.items()}
        return replace(self, count=count, requests={name: value * count for name, value in per_pod.items()})


@dataclass(frozen=True, slots=True)
class Tried:
    """How far the search for flavors came, so that the next one goes on from there."""

    flavors: Sequence[Mapping[str, int]]
    """For each pod set and resource the place of the last flavor that was tried; -1 if it was the last there is."""
    generation: int
    cycle: int
    shape: bytes

    @property
    def has_more(self) -> bool:
        return any(place != -1 for part in self.flavors for place in part.values())

    def next_place(self, part: int, resource: str) -> int:
        return self.flavors[part].get(resource, -1) + 1 if part < len(self.flavors) else 0


@dataclass(slots=True, eq=False)
class WorkloadInfo:
    view: kueue.QueuedWorkload
    cluster_queue: str
    parts: Sequence[PodSetResources]
    pod_sets: Sequence[PodSet]
    shape: bytes
    """Workloads of one shape have the same chances. A digest: thousands of Workloads may wait."""
    since: datetime
    """Since when it waits, for the order of the queue."""
    wrong: str = ""
    """What is wrong with its requests."""
    tried: Tried | None = None
    pinned: Sequence[Mapping[str, str]] = ()
    """For each pod set the flavors that a second look within a cycle may not go beyond, by resource."""
    passes: int = 0
    """How often it was looked at again since its topology is still to be assigned."""
    _usage: Quantities | None = None
    _topology_usage: TopologyUsage | None = None
    _single_pods: dict[int, Requests] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.view.key

    @property
    def priority(self) -> int:
        return self.view.spec.priority

    @property
    def requests(self) -> Requests:
        """What all of its pods ask for."""
        total: Requests = {}
        for part in self.parts:
            for resource, value in part.requests.items():
                total[resource] = total.get(resource, 0) + value
        return total

    @property
    def local_queue(self) -> str:
        return local_queue(self.view)

    @property
    def order(self) -> tuple[int, datetime, str]:
        """Who comes first in a queue."""
        return -self.priority, self.since, self.view.uid

    @property
    def is_evicted(self) -> bool:
        return self.view.is_true(kueue.EVICTED)

    @property
    def reserved_at(self) -> datetime | None:
        condition = conditions.find(self.view.status.conditions, kueue.QUOTA_RESERVED)
        return condition.last_transition_time if condition is not None and condition.is_true else None

    @property
    def usage(self) -> Quantities:
        """What it holds of each flavor."""
        if self._usage is None:
            self._usage = _held(self.parts)
        return self._usage

    def single_pod(self, number: int) -> Requests:
        """Return what one pod of a pod set asks for by its template, whatever of it counts against quota."""
        if number not in self._single_pods:
            self._single_pods[number] = single_pod(self.pod_sets[number])
        return self._single_pods[number]

    @property
    def topology_usage(self) -> TopologyUsage:
        """What its pods use of the domains that they were placed in."""
        if self._topology_usage is None:
            self._topology_usage = topology_usage(self.parts, self.pod_sets)
        return self._topology_usage


def waiting(
    view: kueue.QueuedWorkload,
    cluster_queue: str,
    *,
    limits: Summary,
    overheads: Mapping[str, Mapping[str, Any]],
    settings: SchedulingSettings,
) -> WorkloadInfo:
    """Read a Workload that waits for quota."""
    sets = [adjusted(one, limits, overheads) for one in pod_sets(view.spec.pod_sets)]
    counts = _counts(view, sets)
    parts = [
        PodSetResources(one.name, counts[one.name], _total(one, counts[one.name], settings.resources)) for one in sets
    ]
    return WorkloadInfo(
        view=view,
        cluster_queue=cluster_queue,
        parts=parts,
        pod_sets=sets,
        shape=_shape(view, parts),
        since=queue_time(view, by_eviction=settings.order_by_eviction),
        wrong=refusal(sets, limits),
    )


def holding(view: kueue.QueuedWorkload, admission: kueue.Admission, *, by_eviction: bool) -> WorkloadInfo:
    """Read a Workload that holds quota."""
    sets = pod_sets(view.spec.pod_sets)
    left, whole = _counts(view, sets), {one.name: one.count for one in sets}
    parts = []
    for given in admission.pod_set_assignments:
        count = whole.get(given.name, 0) if given.count is None else given.count
        held = {name: amounts.amount(name, value) for name, value in given.resource_usage.items()}
        placement = Placement.of(given.topology_assignment) if given.topology_assignment is not None else None
        part = PodSetResources(given.name, count, held, given.flavors, placement)
        parts.append(part.scaled(min(left.get(given.name, count), count)))
    since = queue_time(view, by_eviction=by_eviction)
    return WorkloadInfo(view, admission.cluster_queue, parts, sets, _shape(view, parts), since)


def queue_time(view: kueue.Workload, *, by_eviction: bool) -> datetime:
    """Return the moment by which a Workload is ordered: as a rule, when it was made."""
    evicted = conditions.find(view.status.conditions, kueue.EVICTED)
    if evicted is not None and evicted.is_true and _moves_back(evicted, by_eviction):
        return evicted.last_transition_time or LONG_AGO
    return view.metadata.creation_timestamp or LONG_AGO


def queued_seconds(view: kueue.Workload, now: datetime) -> float:
    """Return for how long a Workload has waited since it was last put into its queue."""
    requeued = conditions.find(view.status.conditions, kueue.REQUEUED)
    since = requeued.last_transition_time if requeued is not None else view.metadata.creation_timestamp
    return (now - since).total_seconds() if since is not None else 0.0


def topology_usage(parts: Sequence[PodSetResources], sets: Sequence[PodSet]) -> TopologyUsage:
    """Return by flavor what placed pods use of their domains: what their templates say, whatever quota counts."""
    used: dict[str, list[DomainUsage]] = {}
    single = {one.name: single_pod(one) for one in sets if any(part.placement is not None for part in parts)}
    for part in parts:
        if part.placement is None:
            continue
        of_pod = single.get(part.name, {})
        domains = [DomainUsage(domain.values, of_pod, domain.pods) for domain in part.placement.domains]
        for flavor in sorted({*part.flavors.values()}):
            used.setdefault(flavor, []).extend(domains)
    return used


def single_pod(one: PodSet) -> Requests:
    return amounts.requests(one.template.spec.requests())


def local_queue(view: kueue.Workload) -> str:
    """Return the key of the LocalQueue that a Workload was sent to."""
    return f"{view.namespace}/{view.spec.queue_name}"


def holds_quota(view: kueue.Workload) -> bool:
    return view.is_true(kueue.QUOTA_RESERVED) and view.status.admission is not None and _is_alive(view)


def may_wait(view: kueue.Workload) -> bool:
    """Tell whether a Workload wants quota and may be given some."""
    if not _is_alive(view) or view.is_true(kueue.QUOTA_RESERVED) or view.is_true(WAITS_FOR_PODS):
        return False
    reserved = conditions.find(view.status.conditions, kueue.QUOTA_RESERVED)
    is_on_hold = reserved is not None and reserved.reason == ON_HOLD
    return not is_on_hold and not view.metadata.annotations.get(kueue.ADMISSION_GATED_BY)


def needs_second_pass(view: kueue.Workload) -> bool:
    """Tell whether a Workload that holds quota is to be looked at again, for its topology."""
    if not holds_quota(view) or view.is_true(kueue.EVICTED) or view.status.admission is None:
        return False
    if has_failed_node(view):
        return True
    checks = view.status.admission_checks
    return (
        bool(checks)
        and all(check.state == kueue.READY for check in checks)
        and any(part.waits_for_topology for part in view.status.admission.pod_set_assignments)
        and not view.is_true(kueue.ADMITTED)
    )


def has_failed_node(view: kueue.Workload) -> bool:
    """Tell whether pods of an admitted Workload were placed on a node that has failed since."""
    failed = {node.name for node in view.status.unhealthy_nodes}
    if not failed or view.status.admission is None or not view.is_true(kueue.ADMITTED):
        return False
    assignments = (part.topology_assignment for part in view.status.admission.pod_set_assignments)
    return any(not failed.isdisjoint(one.lowest_values) for one in assignments if one is not None)


def is_backing_off(view: kueue.Workload, now: datetime) -> bool:
    requeued = conditions.find(view.status.conditions, kueue.REQUEUED)
    if requeued is not None and requeued.status == conditions.FALSE:
        return True
    until = view.status.requeue_state.requeue_at
    return until is not None and now < until


def _held(parts: Sequence[PodSetResources]) -> Quantities:
    held: dict[FlavorResource, int] = {}
    for part in parts:
        for resource, value in part.requests.items():
            what = FlavorResource(part.flavors.get(resource, ""), resource)
            held[what] = held.get(what, 0) + value
    return held


def _is_alive(view: kueue.Workload) -> bool:
    return view.spec.active and not view.is_finished


def _moves_back(evicted: Condition, by_eviction: bool) -> bool:
    return evicted.reason == ADMISSION_CHECK or (by_eviction and evicted.reason == PODS_READY_TIMEOUT)


def _counts(view: kueue.Workload, sets: Sequence[PodSet]) -> dict[str, int]:
    """Return how many pods of each set there still are, without those that will not come again."""
    gone = {pod.name: pod.count for pod in view.status.reclaimable_pods}
    return {one.name: one.count - min(gone.get(one.name, 0), one.count) for one in sets}


def _total(one: PodSet, count: int, settings: ResourceSettings) -> Requests:
    return amounts.requests(counted(one.template.spec.requests(), settings), times=count)


def _shape(view: kueue.QueuedWorkload, parts: Sequence[PodSetResources]) -> bytes:
    sizes = [(part.count, part.requests) for part in parts]
    content = [view.spec.priority, [_looks(raw) for raw in view.spec.pod_sets], sizes]
    return blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def _looks(raw: Manifest) -> Manifest:
    """Return what of a pod set the scheduler looks at, beside its size."""
    spec = raw.get("template", {}).get("spec") or {}
    return {**{field: raw.get(field) for field in SET_FIELDS}, **{field: spec.get(field) for field in POD_FIELDS}}
