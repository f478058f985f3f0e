"""Kueue's metrics of what happens: to Workloads, and in cycles of the scheduler; named as Kueue names them.

What is so at a moment is read when somebody asks: see `state_metrics`.

Mirrors: Kueue pkg/metrics
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import split_key
from fleetqueue.embedded.kueue.metric_kinds import (
    CLUSTER_QUEUE,
    ROLE_LABEL,
    STANDALONE,
    ByQueue,
    MetricFactory,
    Place,
)
from fleetqueue.embedded.kueue.names import PODS_READY
from fleetqueue.embedded.kueue.scheduling.workload_info import queued_seconds

PRIORITY: Final = "priority_class"
EVICTION: Final = ("reason", "underlying_cause")
PREEMPTING: Final = "preempting_cluster_queue"
GO_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Those of a histogram of Prometheus' Go library that names none."""
CREATION_BUCKETS: Final = tuple(0.01 * 2**power for power in range(11))

PlaceOf = Callable[[kueue.Workload, str], Place]
"""From a Workload and its ClusterQueue to where it is counted."""


def only_its_cluster_queue(view: kueue.Workload, cluster_queue: str) -> Place:
    return Place(cluster_queue)


class KueueMetrics:
    def __init__(
        self, registry: CollectorRegistry, place_of: PlaceOf = only_its_cluster_queue, *, role: str = STANDALONE
    ) -> None:
        self._place_of = place_of
        self._role = role
        self._of_scheduling(registry)
        self._of_workloads(MetricFactory(registry, role))
        self._of_evictions(MetricFactory(registry, role))

    def _of_scheduling(self, registry: CollectorRegistry) -> None:
        make = MetricFactory(registry, self._role)
        self._attempts = make.count("admission_attempts_total", "Attempts to admit Workloads, by result.", "result")
        self._attempt_seconds = make.seconds(
            "admission_attempt_duration_seconds", "How long an attempt to admit takes.", "result", buckets=GO_BUCKETS
        )
        self._skips = Gauge(
            "kueue_admission_cycle_preemption_skips",
            "Workloads that had somebody to preempt in the last cycle but were passed over.",
            [CLUSTER_QUEUE, ROLE_LABEL],
            registry=registry,
        )
        self._preempted = make.count(
            "preempted_workloads_total",
            "Workloads that were preempted, by the queue that preempted them.",
            PREEMPTING,
            "reason",
        )

    def _of_workloads(self, make: MetricFactory) -> None:
        self._creation = make.seconds(
            "workload_creation_latency_seconds",
            "How long it took until a new job had a Workload, by the kind of job.",
            "job_kind",
            buckets=CREATION_BUCKETS,
        )
        self._reserved = make.count_by_queue(
            "quota_reserved_workloads_total", "Workloads that were given quota.", PRIORITY
        )
        self._reserved_wait = make.waited_by_queue(
            "quota_reserved_wait_time_seconds", "How long Workloads waited for quota.", PRIORITY
        )
        self._admitted = make.count_by_queue("admitted_workloads_total", "Workloads that were admitted.", PRIORITY)
        self._admitted_wait = make.waited_by_queue(
            "admission_wait_time_seconds", "How long Workloads waited to be admitted.", PRIORITY, buckets=16
        )
        self._cohort_admitted = make.count(
            "cohort_subtree_admitted_workloads_total",
            "Workloads that were admitted by a ClusterQueue below a cohort.",
            "cohort",
            PRIORITY,
        )
        self._checks_wait = make.waited_by_queue(
            "admission_checks_wait_time_seconds",
            "How long Workloads waited for their checks after they were given quota.",
            PRIORITY,
        )
        self._ready_wait = make.waited_by_queue(
            "ready_wait_time_seconds", "How long Workloads waited until their pods were ready.", PRIORITY
        )
        self._admitted_until_ready = make.waited_by_queue(
            "admitted_until_ready_wait_time_seconds",
            "How long it took from the admission of Workloads until their pods were ready.",
            PRIORITY,
        )
        self._gate_removal = make.seconds(
            "pod_scheduling_gate_removal_seconds",
            "How long it took from the admission of Workloads until the gate of a pod was removed.",
            "name",
            CLUSTER_QUEUE,
            "is_group",
            buckets=GO_BUCKETS,
        )
        self._finished = make.count_by_queue("finished_workloads_total", "Workloads that have finished.", PRIORITY)
        self._replaced_slices = make.count(
            "replaced_workload_slices_total",
            "Slices of elastic jobs whose place others took, by their ClusterQueue.",
            CLUSTER_QUEUE,
        )

    def _of_evictions(self, make: MetricFactory) -> None:
        self._evicted = make.count_by_queue(
            "evicted_workloads_total", "Workloads that were evicted.", *EVICTION, PRIORITY
        )
        self._evicted_once = make.count(
            "evicted_workloads_once_total",
            "Workloads that were evicted, each counted once for a reason.",
            CLUSTER_QUEUE,
            *EVICTION,
            PRIORITY,
        )
        self._ready_until_evicted = make.waited(
            "pods_ready_to_evicted_time_seconds",
            "For how long the pods of Workloads had been ready when they were evicted.",
            CLUSTER_QUEUE,
            *EVICTION,
        )
        self._eviction_latency = make.waited(
            "workload_eviction_latency_seconds",
            "How long it took from the eviction of Workloads until they gave their quota back.",
            CLUSTER_QUEUE,
            "reason",
        )

    # What happens

    def attempted(self, *, has_admitted: bool, seconds: float) -> None:
        """Count a cycle of the scheduler."""
        result = "success" if has_admitted else "inadmissible"
        self._attempts.labels(result, self._role).inc()
        self._attempt_seconds.labels(result, self._role).observe(seconds)

    def skipped(self, cluster_queue: str, count: int) -> None:
        """Note how many Workloads were passed over in a cycle that had somebody to preempt."""
        self._skips.labels(cluster_queue, self._role).set(count)

    def preempted(self, preempting_cluster_queue: str, reason: str) -> None:
        self._preempted.labels(preempting_cluster_queue, reason, self._role).inc()

    def created(self, job_kind: str, seconds: float) -> None:
        self._creation.labels(job_kind, self._role).observe(seconds)

    def quota_reserved(self, view: kueue.Workload, cluster_queue: str, now: datetime) -> None:
        place = self._place_of(view, cluster_queue)
        _count(self._reserved, place, _class(view))
        _observe(self._reserved_wait, place, queued_seconds(view, now), _class(view))

    def admitted(
        self, view: kueue.Workload, cluster_queue: str, now: datetime, *, waited_for_checks: float | None
    ) -> None:
        """Count an admission; `waited_for_checks` is None where there were none."""
        place = self._place_of(view, cluster_queue)
        _count(self._admitted, place, _class(view))
        _observe(self._admitted_wait, place, queued_seconds(view, now), _class(view))
        if waited_for_checks is not None:
            _observe(self._checks_wait, place, waited_for_checks, _class(view))
        for cohort in place.cohorts:
            self._cohort_admitted.labels(cohort, _class(view), self._role).inc()

    def pods_ready(self, view: kueue.Workload, cluster_queue: str, now: datetime) -> None:
        """Count that all pods of an admitted Workload are ready for the first time."""
        place = self._place_of(view, cluster_queue)
        _observe(self._ready_wait, place, queued_seconds(view, now), _class(view))
        _observe(self._admitted_until_ready, place, _seconds_since(view, kueue.ADMITTED, now) or 0.0, _class(view))

    def gate_removed(self, gate: str, view: kueue.Workload, now: datetime, *, is_group: bool = False) -> None:
        """Count that a pod of an admitted Workload was let go on."""
        seconds, admission = _seconds_since(view, kueue.ADMITTED, now), view.status.admission
        if seconds is not None and admission is not None:
            group = str(is_group).lower()
            self._gate_removal.labels(gate, admission.cluster_queue, group, self._role).observe(seconds)

    def evicted(
        self, view: kueue.Workload, cluster_queue: str, why: tuple[str, str], now: datetime, *, is_first: bool
    ) -> None:
        """Count an eviction, for a reason and its cause; `is_first` where it is the first of this Workload for them."""
        _count(self._evicted, self._place_of(view, cluster_queue), *why, _class(view))
        if is_first:
            self._evicted_once.labels(cluster_queue, *why, _class(view), self._role).inc()
        ready = _seconds_since(view, PODS_READY, now)
        if ready is not None:
            self._ready_until_evicted.labels(cluster_queue, *why, self._role).observe(ready)

    def gave_back(self, cluster_queue: str, reason: str, seconds: float) -> None:
        """Count that an evicted Workload has given its quota back."""
        self._eviction_latency.labels(cluster_queue, reason, self._role).observe(max(seconds, 0.0))

    def finished(self, view: kueue.Workload) -> None:
        queue = view.status.admission.cluster_queue if view.status.admission is not None else ""
        _count(self._finished, self._place_of(view, queue), _class(view))

    def replaced_slice(self, cluster_queue: str) -> None:
        self._replaced_slices.labels(cluster_queue, self._role).inc()

    # Who has gone

    def forget_cluster_queue(self, name: str) -> None:
        """Stop telling of a ClusterQueue; one that comes with its name begins at nothing."""
        alone = (self._skips, self._evicted_once, self._ready_until_evicted, self._eviction_latency)
        for metric in (
            *alone,
            self._gate_removal,
            self._replaced_slices,
            *(both.cluster_queues for both in self._by_queue),
        ):
            metric.remove_by_labels({CLUSTER_QUEUE: name})
        self._preempted.remove_by_labels({PREEMPTING: name})

    def forget_local_queue(self, key: str) -> None:
        namespace, name = split_key(key)
        for both in self._by_queue:
            both.local_queues.remove_by_labels({"name": name, "namespace": namespace})

    def forget_cohort(self, name: str) -> None:
        self._cohort_admitted.remove_by_labels({"cohort": name})

    @property
    def _by_queue(self) -> Sequence[ByQueue[Any]]:
        counters = (self._reserved, self._admitted, self._finished, self._evicted)
        waited = (self._reserved_wait, self._admitted_wait, self._checks_wait)
        return (*counters, *waited, self._ready_wait, self._admitted_until_ready)


def _count(metric: ByQueue[Counter], place: Place, *values: str) -> None:
    for counter in metric.of(place, *values):
        counter.inc()


def _observe(metric: ByQueue[Histogram], place: Place, seconds: float, *values: str) -> None:
    for histogram in metric.of(place, *values):
        histogram.observe(seconds)


def _class(view: kueue.Workload) -> str:
    return view.spec.priority_class_ref.name


def _seconds_since(view: kueue.Workload, kind: str, now: datetime) -> float | None:
    """Return for how long a Workload has said something of itself; None where it does not."""
    condition = conditions.find(view.status.conditions, kind)
    if condition is None or not condition.is_true or condition.last_transition_time is None:
        return None
    return (now - condition.last_transition_time).total_seconds()
