"""Kueue's metrics of what is so at the moment: queues, cohorts and their quota; named as Kueue names them. No I/O.

Nothing is kept for them. They are read from the scheduler's cache when somebody asks, so that they are always right and
a queue that has gone is told of no more.

Mirrors: Kueue pkg/metrics
"""

import math
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from fleetqueue import __version__
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.metric_kinds import CLUSTER_QUEUE, LOCAL_QUEUE, ROLE_LABEL
from fleetqueue.embedded.kueue.metric_places import tells_of
from fleetqueue.embedded.kueue.queue_status import local_activity
from fleetqueue.embedded.kueue.scheduling.amounts import as_float
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cohorts import CohortNode
from fleetqueue.embedded.kueue.settings import KueueSettings

STATUSES: Final = ("pending", "active", "terminating")
CONDITION_STATUSES: Final = ("True", "False", "Unknown")
FLAVOR_RESOURCE: Final = ("flavor", "resource")
OF_QUOTA: Final = ("cohort", CLUSTER_QUEUE, *FLAVOR_RESOURCE)
COHORTS_ABOVE: Final = ("parent_cohort", "root_cohort")
PENDING: Final = "Workloads that wait: `active` in the queue, or `inadmissible` until something changes."
RESERVING, ADMITTED, FINISHED = "Workloads that hold quota.", "Workloads that are admitted.", "Finished Workloads."
SHARE: Final = "What is borrowed, in thousandths of what there is to borrow, divided by the weight; "
OF_NO_WEIGHT: Final = " where something is borrowed without any weight."
CONSUMED: Final = "What a LocalQueue has consumed over time, all resources together, divided by its weight."
VERSION: Final = f"v0.19.2+fleetqueue-{__version__}"
"""The Kueue whose numbers these are, and who tells them."""
BUILD: Final = ("git_version", "git_commit", "build_date", "go_version", "compiler", "platform")

GAUGES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "pending_workloads": (PENDING, (CLUSTER_QUEUE, "status")),
    "reserving_active_workloads": (RESERVING, (CLUSTER_QUEUE,)),
    "admitted_active_workloads": (ADMITTED, (CLUSTER_QUEUE,)),
    "finished_workloads": (FINISHED, (CLUSTER_QUEUE,)),
    "cluster_queue_status": ("1 for what a ClusterQueue is, 0 for what it is not.", (CLUSTER_QUEUE, "status")),
    "cluster_queue_info": ("1 for the cohorts above a ClusterQueue.", (CLUSTER_QUEUE, *COHORTS_ABOVE)),
    "cluster_queue_nominal_quota": ("The quota of a ClusterQueue.", OF_QUOTA),
    "cluster_queue_borrowing_limit": ("What it may borrow; +Inf without a limit.", OF_QUOTA),
    "cluster_queue_lending_limit": ("What it may lend; +Inf without a limit.", OF_QUOTA),
    "cluster_queue_resource_reservation": ("What Workloads of a ClusterQueue hold.", OF_QUOTA),
    "cluster_queue_resource_usage": ("What admitted Workloads of a ClusterQueue hold.", OF_QUOTA),
    "cluster_queue_resource_pending": ("What Workloads of a ClusterQueue wait for.", (CLUSTER_QUEUE, "resource")),
    "local_queue_pending_workloads": (PENDING, (*LOCAL_QUEUE, "status")),
    "local_queue_reserving_active_workloads": (RESERVING, LOCAL_QUEUE),
    "local_queue_admitted_active_workloads": (ADMITTED, LOCAL_QUEUE),
    "local_queue_finished_workloads": (FINISHED, LOCAL_QUEUE),
    "local_queue_status": ("1 for what a LocalQueue says of being active, 0 else.", (*LOCAL_QUEUE, "active")),
    "local_queue_resource_reservation": ("What Workloads of a LocalQueue hold.", (*LOCAL_QUEUE, *FLAVOR_RESOURCE)),
    "local_queue_resource_usage": ("What its admitted Workloads hold.", (*LOCAL_QUEUE, *FLAVOR_RESOURCE)),
    "cluster_queue_weighted_share": (SHARE + "NaN" + OF_NO_WEIGHT, (CLUSTER_QUEUE, "cohort")),
    "cohort_weighted_share": (SHARE + "+Inf" + OF_NO_WEIGHT, ("cohort",)),
    "local_queue_admission_fair_sharing_usage": (CONSUMED, (*LOCAL_QUEUE, CLUSTER_QUEUE)),
    "cohort_info": ("1 for the cohorts above a cohort.", ("cohort", *COHORTS_ABOVE)),
    "cohort_subtree_quota": ("The quota of a cohort and all below it.", ("cohort", *FLAVOR_RESOURCE)),
    "cohort_subtree_resource_reservations": ("What Workloads below a cohort hold.", ("cohort", *FLAVOR_RESOURCE)),
    "cohort_subtree_admitted_active_workloads": ("Admitted Workloads below a cohort.", ("cohort",)),
}
"""What each tells, and its labels."""


class StateMetrics(Collector):
    def __init__(
        self, cache: Cache, local_queues: Callable[[], Iterable[kueue.LocalQueue]], settings: KueueSettings
    ) -> None:
        """Tell of what a cache holds; `local_queues` returns all there are."""
        self._cache = cache
        self._local_queues = local_queues
        self._settings = settings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        state = State(self._cache, self._settings.replica_role)
        for name in sorted(self._cache.queue_manager.queues):
            state.tell_of_cluster_queue(name)
            if self._settings.metrics.resources:
                state.tell_of_resources(name)
        for queue in self._local_queues():
            if tells_of(self._settings.metrics, queue):
                state.tell_of_local_queue(queue)
        for cohort in self._cache.forest.whole_cohorts():
            state.tell_of_cohort(cohort)
        if self._settings.feature_gates.get("MetricsForCohorts", True):
            state.tell_of_hierarchy()
        yield build_info()
        yield from state.families.values()


class State:
    """All values of one moment."""

    def __init__(self, cache: Cache, role: str) -> None:
        self.cache = cache
        self._role = role
        self.families: dict[str, GaugeMetricFamily] = {}
        self._counts: dict[str, Mapping[str, tuple[int, int]]] = {}

    def tell_of_cluster_queue(self, name: str) -> None:
        queue, usage = self.cache.configuration.queues[name], self.cache.of_cluster_queue(name)
        is_open = self.cache.configuration.is_open(name)
        pending = self.cache.queue_manager.queues[name]
        self._set_pending("pending_workloads", len(pending), pending.inadmissible if is_open else len(pending), name)
        self._set("reserving_active_workloads", usage.reserving, name)
        self._set("admitted_active_workloads", usage.admitted, name)
        self._set("finished_workloads", self._finished[name], name)
        status = "terminating" if queue.is_deleting else "active" if is_open else "pending"
        self._set_one("cluster_queue_status", STATUSES, status, name)

    def tell_of_resources(self, name: str) -> None:
        """Tell of the quotas of a ClusterQueue, and how much of them is reserved, used and waited for."""
        node, usage = self.cache.forest.queues[name], self.cache.of_cluster_queue(name)
        cohort = node.parent.name if node.parent is not None else ""
        for what, quota in node.quotas.items():
            limits = {"borrowing": quota.borrowing_limit, "lending": quota.lending_limit}
            values = {
                "nominal_quota": quota.nominal,
                **{f"{kind}_limit": math.inf if limit is None else limit for kind, limit in limits.items()},
                "resource_reservation": usage.reservation.get(what, 0),
                "resource_usage": usage.usage.get(what, 0),
            }
            for kind, value in values.items():
                self._set(f"cluster_queue_{kind}", as_float(what.resource, value), cohort, name, *what)
        if usage.weighted_share is not None:
            share = math.nan if math.isinf(usage.weighted_share) else usage.weighted_share
            self._set("cluster_queue_weighted_share", share, name, cohort)
        pending = self.cache.queue_manager.queues[name].requests()
        for resource in sorted({*pending, *(what.resource for what in node.quotas)}):
            waited_for = as_float(resource, pending.get(resource, 0))
            self._set("cluster_queue_resource_pending", waited_for, name, resource)

    def tell_of_local_queue(self, queue: kueue.LocalQueue) -> None:
        """Tell of a LocalQueue; where it is stopped or leads nowhere, there is less to tell."""
        place, target = (queue.name, queue.namespace), queue.spec.cluster_queue
        condition = local_activity(queue, self.cache.configuration.queues.get(target))
        self._set_one("local_queue_status", CONDITION_STATUSES, condition.status, *place)
        if condition.status == "True" and self.cache.settings.admission_fair_sharing is not None:
            self._set("local_queue_admission_fair_sharing_usage", self.cache.ledger.usage(queue.key), *place, target)
        if not queue.is_stopped:
            self._set("local_queue_finished_workloads", self.cache.seen.finished(queue.key), *place)
        node = self.cache.forest.queues.get(target)
        if node is None:
            return
        if not queue.is_stopped:
            count, inadmissible = self._pending_in(target, queue.key)
            self._set_pending("local_queue_pending_workloads", count, inadmissible, *place)
        usage = self.cache.of_local_queue(queue.key)
        self._set("local_queue_reserving_active_workloads", usage.reserving, *place)
        self._set("local_queue_admitted_active_workloads", usage.admitted, *place)
        for what in node.quotas:
            for kind, held in (("reservation", usage.reservation), ("usage", usage.usage)):
                value = as_float(what.resource, held.get(what, 0))
                self._set(f"local_queue_resource_{kind}", value, *place, *what)

    def tell_of_cohort(self, cohort: CohortNode) -> None:
        held: Counter[tuple[str, str]] = Counter()
        admitted = 0
        for queue in cohort.subtree_queues():
            usage = self.cache.of_cluster_queue(queue.name)
            held.update(usage.reservation)
            admitted += usage.admitted
        self._set("cohort_subtree_admitted_active_workloads", admitted, cohort.name)
        share = self.cache.share_of_cohort(cohort.name)
        if cohort.is_explicit and share is not None:
            self._set("cohort_weighted_share", share, cohort.name)
        for kind, amounts in (("quota", cohort.subtree_quota), ("resource_reservations", held)):
            for (flavor, resource), value in sorted(amounts.items()):
                if value > 0:
                    self._set(f"cohort_subtree_{kind}", as_float(resource, value), cohort.name, flavor, resource)

    def tell_of_hierarchy(self) -> None:
        for name in sorted(self.cache.queue_manager.queues):
            above = self.cache.cohorts_above(name) or ("",)
            self._set("cluster_queue_info", 1, name, above[0], above[-1])
        for cohort in self.cache.forest.whole_cohorts():
            names = [node.name for node in cohort.ancestors()]
            self._set("cohort_info", 1, cohort.name, names[0] if names else "", names[-1] if names else cohort.name)

    def _pending_in(self, cluster_queue: str, local_queue: str) -> tuple[int, int]:
        """Return how many wait in a LocalQueue, and how many of them are inadmissible."""
        counts = self._counts.get(cluster_queue)
        if counts is None:
            counts = self._counts[cluster_queue] = self.cache.queue_manager.queues[cluster_queue].counts()
        count, inadmissible = counts.get(local_queue, (0, 0))
        return count, inadmissible if self.cache.configuration.is_open(cluster_queue) else count

    @cached_property
    def _finished(self) -> Counter[str]:
        """How many have finished whose LocalQueue leads to each ClusterQueue."""
        finished: Counter[str] = Counter()
        for local_queue, target in self.cache.queue_manager.targets.items():
            finished[target] += self.cache.seen.finished(local_queue)
        return finished

    def _set_pending(self, name: str, count: int, inadmissible: int, *values: str) -> None:
        self._set(name, count - inadmissible, *values, "active")
        self._set(name, inadmissible, *values, "inadmissible")

    def _set_one(self, name: str, choices: Iterable[str], chosen: str, *values: str) -> None:
        for choice in choices:
            self._set(name, float(choice == chosen), *values, choice)

    def _set(self, name: str, value: float, *values: str) -> None:
        family = self.families.get(name)
        if family is None:
            text, labels = GAUGES[name]
            family = GaugeMetricFamily(f"kueue_{name}", text, labels=[*labels, ROLE_LABEL])
            self.families[name] = family
        family.add_metric([*values, self._role], value)


def build_info() -> GaugeMetricFamily:
    family = GaugeMetricFamily("kueue_build_info", "Who tells these numbers.", labels=BUILD)
    machine = f"{platform.system().lower()}/{platform.machine()}"
    family.add_metric([VERSION, "", "", "", platform.python_implementation().lower(), machine], 1)
    return family
