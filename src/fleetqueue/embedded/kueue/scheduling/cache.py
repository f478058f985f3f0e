"""The scheduler's cache: quota, which Workloads hold it, which wait, and what the queues allow.

It is built from informers and from what the scheduler has decided but not yet seen written: an assumption stands
until an informer shows the write, or the write failed. The cost of one change is in proportion to what it changes.

Mirrors: Kueue pkg/cache
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.quantity import Quantity
from fleetqueue.embedded.kueue.scheduling.admission_fair_sharing import units
from fleetqueue.embedded.kueue.scheduling.cache_view import CLUSTER_QUEUE, LOCAL_QUEUE, CacheView
from fleetqueue.embedded.kueue.scheduling.other_pods import OtherPod
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import Summary
from fleetqueue.embedded.kueue.scheduling.quota import quotas
from fleetqueue.embedded.kueue.scheduling.second_passes import SecondPasses
from fleetqueue.embedded.kueue.scheduling.workload_info import (
    WorkloadInfo,
    holding,
    holds_quota,
    is_backing_off,
    local_queue,
    may_wait,
    needs_second_pass,
    waiting,
)
from fleetqueue.embedded.kueue.settings import SchedulingSettings
from fleetqueue.embedded.kueue.topology.nodes import usable


class SeenWorkloads:
    """The Workloads as they were last seen, also by the LocalQueue that they were sent to."""

    def __init__(self) -> None:
        self._views: dict[str, kueue.QueuedWorkload] = {}
        self._by_local: dict[str, dict[str, None]] = {}
        self._finished: Counter[str] = Counter()

    def __getitem__(self, key: str) -> kueue.QueuedWorkload:
        return self._views[key]

    def get(self, key: str) -> kueue.QueuedWorkload | None:
        return self._views.get(key)

    def of(self, local: str) -> Iterable[str]:
        """Return the keys of those that were sent to a LocalQueue."""
        return self._by_local.get(local, ())

    def finished(self, local: str) -> int:
        """Return how many of those that were sent to a LocalQueue have finished."""
        return self._finished[local]

    def put(self, view: kueue.QueuedWorkload) -> None:
        key, queue = view.key, local_queue(view)
        old = self._views.get(key)
        self._count_finished(old, -1)
        self._count_finished(view, +1)
        if old is not None and local_queue(old) != queue:
            self._unindex(old)
        self._by_local.setdefault(queue, {})[key] = None
        self._views[key] = view

    def drop(self, key: str) -> None:
        view = self._views.pop(key, None)
        self._count_finished(view, -1)
        if view is not None:
            self._unindex(view)

    def _count_finished(self, view: kueue.QueuedWorkload | None, sign: int) -> None:
        if view is not None and view.is_finished:
            self._finished[local_queue(view)] += sign

    def _unindex(self, view: kueue.QueuedWorkload) -> None:
        keys = self._by_local.get(local_queue(view), {})
        keys.pop(view.key, None)
        if not keys:
            self._by_local.pop(local_queue(view), None)


class Cache(CacheView):
    """Everything here happens at once: nothing is awaited, so a reader always sees a whole state."""

    def __init__(self, settings: SchedulingSettings) -> None:
        super().__init__(settings)
        self.seen = SeenWorkloads()
        self.on_pending: Callable[[], None] = _nobody
        """Called when a Workload is to be tried."""
        self.retry: Callable[[str], None] = _nobody_of
        """Called with a tree of cohorts whose inadmissible Workloads are to be tried again, soon."""
        self.look_again: Callable[[str, float], None] = _nobody_then
        """Called with a Workload that holds quota, to call `second_pass` with it after so many seconds."""
        self.second_passes = SecondPasses()
        self._assumed: dict[str, int] = {}
        """The version that our admission of a Workload was written as; 0 while it is being written."""
        self._not_ready: set[str] = set()
        """Who holds quota, or is about to, and has pods that are not ready; known only where that is waited for."""
        self._preempting: dict[str, str] = {}
        """The uids of Workloads that we preempt, until they say that they are evicted."""

    @property
    def ignores_undeclared(self) -> bool:
        return self.settings.resources.ignores_undeclared

    @property
    def evicts_without_replacement(self) -> bool:
        return self.settings.evicts_without_replacement

    @property
    def waits_for_pods(self) -> bool:
        """Tell whether nobody is admitted now, since there are pods that are not ready."""
        return bool(self._not_ready)

    # What the cluster tells

    def set_workload(self, view: kueue.QueuedWorkload) -> None:
        old = self.seen.get(view.key)
        self.seen.put(view)
        self._take(view)
        if old is not None:
            self._account(old, view)

    def _take(self, view: kueue.QueuedWorkload) -> None:
        assumed = self._assumed.get(view.key)
        if assumed is not None:
            if not assumed or _version(view) < assumed:
                return  # it tells of a time before our admission was written
            del self._assumed[view.key]
        self._place(view)

    def drop_workload(self, key: str) -> None:
        if (view := self.seen.get(key)) is not None:
            self.ledger.discharge(local_queue(view), key)
        self.seen.drop(key)
        self._assumed.pop(key, None)
        self._preempting.pop(key, None)
        self._release(key)
        self._give_up(key)

    def set_cluster_queue(self, queue: kueue.ClusterQueue) -> None:
        name, is_new = queue.name, queue.name not in self.configuration.queues
        if not self.configuration.set_queue(queue):
            return
        spec = queue.spec
        self.forest.set_queue(name, spec.cohort_name, quotas(spec.resource_groups), spec.fair_sharing.as_number)
        usage = self.ledger.usage if self.is_by_usage(name) else None
        self.queue_manager.open(name, spec.queueing_strategy, usage)
        if is_new:
            self.reservations.adopt(name)
            self._place_all(key for local in self.queue_manager.leading_to(name) for key in self.seen.of(local))
        self._concern((name,))

    def drop_cluster_queue(self, name: str) -> None:
        tree = self.forest.tree(name)
        self.configuration.drop_queue(name)
        self.forest.remove_queue(name)
        self.queue_manager.close(name)
        self._tell(CLUSTER_QUEUE, name)
        for other in self.forest.queues_of(tree)[:1]:
            self._ask_again(other)

    def set_local_queue(self, queue: kueue.LocalQueue) -> None:
        target = queue.spec.cluster_queue if queue.spec.stop_policy == "None" else ""
        self.ledger.set_weight(queue.key, queue.spec.fair_sharing.as_number)
        if self.queue_manager.target(queue.key) == target:
            return
        self._close_local_queue(queue.key)
        if target:
            self.queue_manager.open_local(queue.key, target)
            self._place_all(self.seen.of(queue.key))

    def drop_local_queue(self, key: str) -> None:
        self.ledger.forget(key)
        self._close_local_queue(key)

    def _close_local_queue(self, key: str) -> None:
        target = self.queue_manager.target(key)
        self.queue_manager.close_local(key)
        self._tell(LOCAL_QUEUE, key)
        if target:
            self._tell(CLUSTER_QUEUE, target)
            self.on_pending()

    def set_cohort(self, cohort: kueue.Cohort) -> None:
        spec = cohort.spec
        self.forest.set_cohort(cohort.name, spec.parent_name, quotas(spec.resource_groups), spec.fair_sharing.as_number)
        self._ask_cohort_again(cohort.name)

    def drop_cohort(self, name: str) -> None:
        self.forest.remove_cohort(name)
        self._ask_cohort_again(name)

    def set_flavor(self, flavor: kueue.ResourceFlavor) -> None:
        self._concern(self.configuration.set_flavor(flavor))

    def drop_flavor(self, name: str) -> None:
        self._concern(self.configuration.drop_flavor(name))

    def set_topology(self, topology: Topology) -> None:
        self._concern(self.configuration.set_topology(topology))

    def drop_topology(self, name: str) -> None:
        self._concern(self.configuration.drop_topology(name))

    def set_node(self, node: Node) -> None:
        self._ask_after_node(self.topologies.set_node(node.name, usable(node)))

    def drop_node(self, name: str) -> None:
        self._ask_after_node(self.topologies.set_node(name, None))

    def set_pod(self, pod: OtherPod) -> None:
        """Take a pod that we do not place; one that takes no room on a node counts as gone."""
        if pod.node:
            self._ask_after_pod(self.topologies.set_pod(pod.key, pod.node, pod.requests))
        else:
            self.drop_pod(pod.key)

    def drop_pod(self, key: str) -> None:
        self._ask_after_pod(self.topologies.drop_pod(key))

    def set_check(self, check: kueue.AdmissionCheck) -> None:
        self._concern(self.configuration.set_check(check))

    def drop_check(self, name: str) -> None:
        self._concern(self.configuration.drop_check(name))

    def set_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        for queue in self.configuration.set_namespace(name, labels):
            self._ask_again(queue)

    def drop_namespace(self, name: str) -> None:
        self.configuration.drop_namespace(name)

    def set_limits(self, namespace: str, limits: Summary) -> None:
        """Take what the LimitRanges of a namespace say together."""
        self.configuration.set_limits(namespace, limits)
        self._place_all(key for key in self.queue_manager.waiting() if key.startswith(f"{namespace}/"))

    def set_overhead(self, runtime_class: str, overhead: Mapping[str, Quantity] | None) -> None:
        self.configuration.set_overhead(runtime_class, overhead)
        self._place_all(key for key in self.queue_manager.waiting() if _runs_as(self.seen[key], runtime_class))

    # What the scheduler decides

    def heads(self) -> list[WorkloadInfo]:
        return [*self._again(), *self.queue_manager.heads(self.configuration.is_open)]

    def second_pass(self, key: str) -> None:
        """Look again at a Workload that holds quota, as was asked for with `look_again`."""
        if self.second_passes.ripen(key):
            self.on_pending()

    def looked_again(self, work: WorkloadInfo) -> bool:
        """Note that a second pass was in vain; return whether there will be another one."""
        held = self.reservations.get(work.key)
        if held is None or not needs_second_pass(held.view):
            return False
        self._look_again(work.key, work.passes + 1)
        return True

    def back(self, work: WorkloadInfo, why: Requeue) -> bool:
        """Put a head back; return whether it will be tried again without a change."""
        key, queue = work.key, self.queue_manager.queues.get(work.cluster_queue)
        view = self.seen.get(key)
        target = self.queue_manager.target(local_queue(view)) if view is not None else ""
        if queue is None or view is None or not may_wait(view) or target != work.cluster_queue:
            self._leave(key)
            if view is not None and key not in self._assumed:
                self._place(view)
            return False
        fresh = work
        if view is not work.view:
            fresh = self._waiting(view, work.cluster_queue)
            fresh.tried = work.tried
        self._tell_of(fresh)
        return queue.back(fresh, why, clock.now())

    def assume(self, work: WorkloadInfo, *, is_admitted: bool) -> None:
        """Count what a Workload was given before it is written."""
        self._assumed[work.key] = 0
        self._note_readiness(work.view)
        self.queue_manager.remove(work.key)
        self.second_passes.drop(work.key)
        self.reservations.put(work, is_admitted=is_admitted)
        self._tell_of(work)

    def charge(self, work: WorkloadInfo) -> None:
        """Count what a Workload that is given quota asked for as consumed by its LocalQueue already."""
        if not self.is_by_usage(work.cluster_queue) or work.view.is_true(kueue.QUOTA_RESERVED):
            return
        requested = work.requests
        if self.ignores_undeclared:
            groups = self.spec(work.cluster_queue).resource_groups
            covered = {resource for group in groups for resource in group.covered_resources}
            requested = {name: value for name, value in requested.items() if name in covered}
        self.ledger.charge(work.local_queue, work.key, units(requested), clock.now())

    def confirm(self, key: str, version: str) -> None:
        """Note that an admission was written; later events of the Workload count again."""
        if key not in self._assumed:
            return
        self._assumed[key] = int(version)
        view = self.seen.get(key)
        if view is not None and _version(view) >= int(version):
            del self._assumed[key]
            self._place(view)

    def forget(self, key: str) -> None:
        """Take an assumption back, since it could not be written."""
        self._assumed.pop(key, None)
        self._release(key)
        view = self.seen.get(key)
        if view is not None:
            if not view.is_true(kueue.QUOTA_RESERVED):
                self.ledger.discharge(local_queue(view), key)
            self._place(view)

    def is_being_preempted(self, work: WorkloadInfo) -> bool:
        return self._preempting.get(work.key) == work.view.uid

    def preempt(self, work: WorkloadInfo) -> None:
        self._preempting[work.key] = work.view.uid

    def spare(self, work: WorkloadInfo) -> None:
        """Note that a preemption could not be written."""
        self._preempting.pop(work.key, None)

    def wake(self, tree: str) -> None:
        """Requeue the inadmissible Workloads of a tree of cohorts."""
        if self.queue_manager.wake(self.forest.queues_of(tree), self._may_be_tried):
            self.on_pending()

    # Within

    def _account(self, old: kueue.QueuedWorkload, new: kueue.QueuedWorkload) -> None:
        """Settle the penalty of a Workload that was admitted; forget that of one that will not be."""
        key, queue, admission = new.key, local_queue(new), new.status.admission
        is_new = new.spec.active and _is_admitted(new) and not _is_admitted(old)
        if is_new and admission is not None and self.is_by_usage(admission.cluster_queue):
            self.ledger.settle(queue, key, self._admitted_usage(queue), clock.now())
        if local_queue(old) != queue:
            self.ledger.discharge(local_queue(old), key)
        if new.is_finished or not (new.spec.active or new.is_true(kueue.QUOTA_RESERVED)):
            self.ledger.discharge(queue, key)

    def _place(self, view: kueue.QueuedWorkload) -> None:
        """Put a Workload where it belongs: among those who hold quota, those who wait, or neither."""
        key = view.key
        if view.is_true(kueue.EVICTED) or not view.is_true(kueue.QUOTA_RESERVED):
            self._preempting.pop(key, None)
        if holds_quota(view):
            self._leave(key)
            self._hold(view)
            return
        gave_back = self._release(key)
        if not may_wait(view):
            self._give_up(key)
            return
        until = view.status.requeue_state.requeue_at
        if gave_back and until is not None and clock.now() < until:
            self._leave(key)  # as in Kueue, it is queued when something else is written of it, as when its time is over
            return
        target = self.queue_manager.target(local_queue(view))
        if not target:
            self._leave(key)
            return
        work = self._waiting(view, target)
        if self.queue_manager.put(work, clock.now()):
            self.on_pending()
        self._tell_of(work)

    def _hold(self, view: kueue.QueuedWorkload) -> None:
        assert view.status.admission is not None
        self._note_readiness(view)
        if needs_second_pass(view):
            self._look_again(view.key)
        else:
            self.second_passes.drop(view.key)
        before = self.reservations.get(view.key)
        if before is not None and _holds_the_same(before.view, view):
            before.view = view
            return
        work = holding(view, view.status.admission, by_eviction=self.settings.order_by_eviction)
        self.reservations.put(work)
        self._tell_of(work)
        if before is not None and _gives_way(before, work):
            self._ask_again(before.cluster_queue)

    def _release(self, key: str) -> bool:
        """Forget what a Workload held; return whether it held anything."""
        work = self.reservations.remove(key)
        self.second_passes.drop(key)
        self._note_ready(key)
        if work is not None:
            self._tell_of(work)
            self._ask_again(work.cluster_queue)
        return work is not None

    def _again(self) -> Iterable[WorkloadInfo]:
        for key, passes in self.second_passes.take().items():
            work = self.reservations.get(key)
            if work is not None and needs_second_pass(work.view):
                work.passes = passes
                yield work

    def _look_again(self, key: str, passes: int = 0) -> None:
        delay = self.second_passes.put(key, passes)
        if delay is not None:
            self.look_again(key, delay)

    def _note_readiness(self, view: kueue.QueuedWorkload) -> None:
        """Note of a Workload that holds quota whether its pods are ready."""
        if view.is_true(kueue.PODS_READY):
            self._note_ready(view.key)
        elif self.settings.blocks_until_ready:
            self._not_ready.add(view.key)

    def _note_ready(self, key: str) -> None:
        """Note that a Workload keeps nobody from being admitted."""
        if key in self._not_ready:
            self._not_ready.remove(key)
            if not self._not_ready:
                self.on_pending()

    def _give_up(self, key: str) -> None:
        """Let a Workload go that wants no quota any more, and look again at those behind it."""
        _, name = self.queue_manager.place(key)
        self._leave(key)
        if name:
            self._ask_again(name)

    def _leave(self, key: str) -> None:
        local, name = self.queue_manager.place(key)
        if self.queue_manager.remove(key):
            self.on_pending()
        if name:
            self._tell(CLUSTER_QUEUE, name)
            self._tell(LOCAL_QUEUE, local)

    def _place_all(self, keys: Iterable[str]) -> None:
        for key in [*keys]:
            if key not in self._assumed:
                self._place(self.seen[key])

    def _waiting(self, view: kueue.QueuedWorkload, cluster_queue: str) -> WorkloadInfo:
        return waiting(
            view,
            cluster_queue,
            limits=self.configuration.limits(view.namespace),
            overheads=self.configuration.overheads,
            settings=self.settings,
        )

    def _concern(self, queues: Iterable[str]) -> None:
        """Look again at ClusterQueues of which something changed."""
        for name in queues:
            self._tell(CLUSTER_QUEUE, name)
            self._ask_again(name)

    def _ask_after_node(self, flavors: Sequence[str]) -> None:
        """Look again at all ClusterQueues, as Kueue does, if a node changed that some flavor has."""
        for name in self.configuration.queues if flavors else ():
            self._ask_again(name)

    def _ask_after_pod(self, flavors: Sequence[str]) -> None:
        """Look again at the ClusterQueues of flavors that have more room on their nodes."""
        for name in self.configuration.using(flavors) if flavors else ():
            self._ask_again(name)

    def _ask_again(self, name: str) -> None:
        """Have the inadmissible Workloads of a tree tried again soon, and the pending ones at once."""
        if tree := self.forest.tree(name):
            self.retry(tree)
        self.on_pending()

    def _ask_cohort_again(self, name: str) -> None:
        if queue := self.forest.a_queue_below(name):
            self._ask_again(queue)  # one stands for all of the tree

    def _may_be_tried(self, name: str, work: WorkloadInfo) -> bool:
        return self.selects(name, work.view.namespace) and not is_backing_off(work.view, clock.now())


def _is_admitted(view: kueue.QueuedWorkload) -> bool:
    return view.is_true(kueue.ADMITTED) and not view.is_finished


def _holds_the_same(old: kueue.QueuedWorkload, new: kueue.QueuedWorkload) -> bool:
    """Tell whether a Workload holds what it held, and stands where it stood, whatever else it says."""
    return old.uid == new.uid and _hold_of(old) == _hold_of(new)


def _hold_of(view: kueue.QueuedWorkload) -> tuple[object, ...]:
    flags = view.is_true(kueue.QUOTA_RESERVED), view.is_true(kueue.ADMITTED), view.is_true(kueue.EVICTED)
    return view.metadata.generation, view.status.admission, view.status.reclaimable_pods, flags


def _gives_way(before: WorkloadInfo, now: WorkloadInfo) -> bool:
    """Tell whether other Workloads may be admitted since this one holds less, or is later in the queue."""
    return before.usage != now.usage or before.priority != now.priority or before.cluster_queue != now.cluster_queue


def _version(view: kueue.QueuedWorkload) -> int:
    return int(view.metadata.resource_version or 0)


def _runs_as(view: kueue.QueuedWorkload, runtime_class: str) -> bool:
    specs = (pod_set.get("template", {}).get("spec") or {} for pod_set in view.spec.pod_sets)
    return any(spec.get("runtimeClassName") == runtime_class for spec in specs)


def _nobody() -> None:
    pass


def _nobody_of(name: str) -> None:
    pass


def _nobody_then(name: str, delay: float) -> None:
    pass
