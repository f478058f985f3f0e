"""Keep a pod of a DaemonSet on every node that it is meant for.

Reads:   DaemonSet, Pod, Node, ControllerRevision
Writes:  Pod (create, delete), ControllerRevision, DaemonSet status, Events
Mirrors: kubernetes pkg/controller/daemon
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import SUCCEEDED, Node, Pod
from fleetqueue.api.meta import split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes.adoption import Adoption
from fleetqueue.embedded.kubernetes.controller_revisions import (
    POD_REVISION,
    ControllerRevision,
    next_number,
    revision_manifest,
    saved,
    surplus_revisions,
)
from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonSet, pod_manifest, target_node
from fleetqueue.embedded.kubernetes.daemon_set_plan import DaemonNodes, DaemonSetPlan, decide
from fleetqueue.embedded.kubernetes.deployment_objects import template_hash
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid
from fleetqueue.embedded.kubernetes.pod_control import PodControl, at_once, slow_start
from fleetqueue.embedded.kubernetes.pods import prefix_of, seconds_to_available
from fleetqueue.embedded.kubernetes.revision_control import RevisionControl
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.own_writes import OwnWrites
from fleetqueue.runtime.statuses import live_status, write_status

BY_DAEMON_SET: Final = "daemon-set"
LAG_SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 250
FIRST_PAUSE, LAST_PAUSE = 1.0, 900.0
"""Seconds. A kubelet may refuse a pod at once, again and again: each replacement waits twice as long as the last."""

daemon_set_of: Final = keys_of_owner(DaemonSet.resource)


class ReplacementPauses:
    """How long failed pods wait for their replacement, by DaemonSet and node."""

    def __init__(self) -> None:
        self._pauses: dict[str, dict[tuple[str, int, str], tuple[float, float]]] = {}
        """When a pod was replaced, and how long the next one waits."""

    def left(self, daemon_set: DaemonSet) -> dict[str, float]:
        """Return, by node, for how many seconds no pod is replaced yet."""
        known, now = self._pauses.get(daemon_set.key, {}), clock.monotonic()
        return {key[2]: at + pause - now for key, (at, pause) in known.items() if key[:2] == _state(daemon_set)}

    def replaced(self, daemon_set: DaemonSet, node: str) -> None:
        known, now = self._pauses.setdefault(daemon_set.key, {}), clock.monotonic()
        key = (*_state(daemon_set), node)
        at, pause = known.get(key, (now, 0.0))
        is_over = now - at > 2 * LAST_PAUSE
        known[key] = (now, FIRST_PAUSE if not pause or is_over else min(2 * pause, LAST_PAUSE))

    def forget(self, key: str) -> None:
        self._pauses.pop(key, None)


def _state(daemon_set: DaemonSet) -> tuple[str, int]:
    """What changes with a change of the set: then its pods may do better."""
    return daemon_set.uid, daemon_set.status.observed_generation


class DaemonSetController(Controller):
    name = "daemon-sets"
    concurrency = 2

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = CountingRecorder(hub.client, "daemonset-controller")
        self.pods = PodControl(hub, self.events)
        self.revisions = RevisionControl(hub, DaemonSet.resource)
        self.adoption = Adoption(hub, Pod, self.pods.writes)
        self.own_writes = OwnWrites(hub.informer(DaemonSet).store)
        self.pauses = ReplacementPauses()
        hub.informer(Pod).store.add_index(BY_DAEMON_SET, daemon_set_of)

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(DaemonSet, by_key),
            Watch(Pod, self._sets_of_pod),
            Watch(ControllerRevision, daemon_set_of),
            Watch(Node, self._all_keys, facts=lambda node: (node.metadata.labels, node.spec.taints)),
        )

    def _sets_of_pod(self, pod: Pod) -> Iterable[str]:
        """Wake the set that a pod belongs to, or those that may adopt it."""
        if pod.controller is not None:
            return daemon_set_of(pod)
        sets = self.hub.list(DaemonSet, pod.namespace)
        return [one.key for one in sets if one.spec.selector.matches(pod.metadata.labels)]

    def _all_keys(self, node: Node) -> Iterable[str]:
        return [one.key for one in self.hub.list(DaemonSet)]

    def subscribe(self) -> None:
        self.hub.informer(Pod).subscribe(self.pods.writes.seen)  # first, so that who is woken finds it settled
        self.hub.informer(DaemonSet).subscribe(self.own_writes.seen)
        self.revisions.subscribe()
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        if any(writes.are_unseen(key) for writes in (self.pods.writes, self.revisions.writes, self.own_writes)):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        namespace, name = split_key(key)
        daemon_set = self.hub.get(DaemonSet, name, namespace)
        if daemon_set is None:
            self.pauses.forget(key)
        if daemon_set is None or daemon_set.is_deleting:
            return
        pods = [pod for pod in self.hub.by_index(Pod, BY_DAEMON_SET, key) if owner_uid(pod) == daemon_set.uid]
        selector = daemon_set.spec.selector
        has_pods = await self.adoption.settle(daemon_set, selector, pods)
        if await self.revisions.adopt(daemon_set, selector) or has_pods:
            return  # what was adopted or released wakes us
        known = self.revisions.of(daemon_set)
        present = await self._present(daemon_set, known)
        if present is None:
            return  # the change of the status wakes us
        mark = present.metadata.labels[POD_REVISION]
        seen = DaemonNodes.of(daemon_set, self.hub.list(Node), pods, mark, clock.now())
        plan = decide(seen, self.pauses.left(daemon_set))
        try:
            await self._carry_out(daemon_set, plan, mark)
        finally:
            await self._write(daemon_set, wanted_status(seen))
        await self._clean_up(daemon_set, [one for one in known if one.name != present.name], pods)
        waits = (plan.look_again, seconds_to_available(pods, daemon_set.spec.min_ready_seconds, clock.now()))
        if any(wait is not None for wait in waits):
            soonest = min(wait for wait in waits if wait is not None)
            raise errors.RetryLater(soonest, "a pod becomes available then, or may be replaced")

    async def _carry_out(self, daemon_set: DaemonSet, plan: DaemonSetPlan, mark: str) -> None:
        for pod in plan.ended:
            await self._tell_of(daemon_set, pod)
        _, failure = await slow_start(plan.create[:MOST_AT_ONCE], partial(self._create, daemon_set, mark))
        await at_once(plan.delete[:MOST_AT_ONCE], partial(self.pods.delete, daemon_set))
        if failure is not None:
            raise failure

    async def _tell_of(self, daemon_set: DaemonSet, pod: Pod) -> None:
        node = target_node(pod)
        where = f"daemon pod {pod.key} on node {node}"
        if pod.status.phase == SUCCEEDED:
            note = f"Found succeeded {where}, will try to delete it"
            await self.events.normal(daemon_set, "SucceededDaemonPod", note)
            return
        self.pauses.replaced(daemon_set, node)
        await self.events.warning(daemon_set, "FailedDaemonPod", f"Found failed {where}, will try to kill it")

    async def _create(self, daemon_set: DaemonSet, mark: str, node: str) -> None:
        prefix = prefix_of(daemon_set.name)
        manifest = pod_manifest(daemon_set, mark, node, prefix + clock.suffix(), prefix)
        await self.pods.create(daemon_set, manifest)

    async def _write(self, daemon_set: DaemonSet, wanted: Manifest) -> None:
        live = live_status(self.hub, daemon_set)
        kept: Manifest = {field: live[field] for field in ("collisionCount", "conditions") if field in live}
        answer = await write_status(self.hub, daemon_set, live, {**kept, **wanted})
        if answer is not None:
            self.own_writes.wrote(daemon_set.key, answer)

    # Revisions

    async def _present(self, daemon_set: DaemonSet, known: Sequence[ControllerRevision]) -> ControllerRevision | None:
        """Return the revision of the present template, with the highest number; a new template's is made first."""
        data = saved(daemon_set.spec.template)
        equal = [one for one in known if one.data == data]
        if not equal:
            return await self._create_revision(daemon_set, data, next_number(known))
        if equal[-1] is known[-1]:
            return known[-1]
        return await self.revisions.renumber(daemon_set, equal[-1], next_number(known))

    async def _create_revision(self, daemon_set: DaemonSet, data: Manifest, number: int) -> ControllerRevision | None:
        """Create a revision; None where its name is taken, which is noted, so that the next one has another."""
        collisions = daemon_set.status.collision_count or 0
        mark = template_hash(daemon_set.spec.template, collisions)
        given = (daemon_set.spec.template.get("metadata") or {}).get("labels") or {}
        manifest = revision_manifest(
            daemon_set,
            data,
            number,
            name=f"{daemon_set.name}-{mark}",
            labels={**given, POD_REVISION: mark},
            annotations=daemon_set.metadata.annotations,
        )
        made = await self.revisions.create(daemon_set, manifest)
        if made is None:
            live = live_status(self.hub, daemon_set)
            await write_status(self.hub, daemon_set, live, {**live, "collisionCount": collisions + 1})
        return made

    async def _clean_up(self, daemon_set: DaemonSet, old: Sequence[ControllerRevision], pods: Iterable[Pod]) -> None:
        """Delete the oldest revisions beyond those that are kept to roll back to."""
        marks = {pod.metadata.labels.get(POD_REVISION) for pod in pods}
        live = {one.name for one in old if one.metadata.labels.get(POD_REVISION) in marks}
        for one in surplus_revisions(old, live, daemon_set.spec.revision_history_limit - len(live)):
            await self.revisions.delete(daemon_set, one)


def wanted_status(seen: DaemonNodes) -> Manifest:
    """Return the status that fits what is seen: of each node the oldest pod counts."""
    daemon_set, wanted = seen.daemon_set, set(seen.wanted)
    others = [node.name for node in seen.nodes if node.name not in wanted and seen.pods.get(node.name)]
    first = [seen.pods[name][0] for name in sorted(wanted) if seen.pods.get(name)]
    ready = [pod for pod in first if pod.is_ready]
    available = sum(seen.has_available(pod) for pod in ready)
    numbers = {
        "updatedNumberScheduled": sum(daemon_set.is_updated(pod, seen.mark) for pod in first),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
    }
    return {
        "currentNumberScheduled": len(first),
        "numberMisscheduled": len(others),
        "desiredNumberScheduled": len(wanted),
        "numberReady": len(ready),
        "observedGeneration": daemon_set.metadata.generation,
        **{name: number for name, number in numbers.items() if number},
    }
