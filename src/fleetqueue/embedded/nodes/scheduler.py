"""Find a node for every pod that waits for one: the least loaded that fits; and say why where none does.

Reads:   Pod, Node
Writes:  pods/binding, the condition PodScheduled, Events
Mirrors: kubernetes pkg/scheduler, of which it knows resources, nodeSelector, node affinity, taints and cordons

Left out: preemption, affinity between pods, spreading, volumes, host ports, and preferences.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import msgspec

from fleetqueue import clock
from fleetqueue.api import errors, quantity
from fleetqueue.api.conditions import find, timestamp
from fleetqueue.api.core_v1 import DEFAULT_SCHEDULER, POD_SCHEDULED, Node, Pod
from fleetqueue.api.quantity import Amounts
from fleetqueue.embedded.nodes.fitting import NodeRefusal, explain, load, needs_of, refusal, room_of
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics

ROUND: Final = "round"
"""The one key: all that wait are looked at together, the most important first."""
WAITING: Final = "waiting"


@dataclass(frozen=True, slots=True)
class NodeChoice:
    node: str = ""
    why_not: str = ""


class NodeUsage:
    """How much of each node is taken: by pods that are bound, and by those whose binding is under way."""

    def __init__(self) -> None:
        self._taken: dict[str, Amounts] = {}
        self._places: dict[str, tuple[str, Amounts]] = {}
        """From a pod's uid to its node, and what it takes there."""
        self._assumed: set[str] = set()
        """Pods that we have bound and the cache does not show so yet."""

    def of(self, node: str) -> Mapping[str, Decimal]:
        return self._taken.get(node, {})

    def assume(self, pod: Pod, node: str, needs: Amounts) -> None:
        """Reserve room for a pod before it is bound."""
        self._assumed.add(pod.uid)
        self._put(pod.uid, node, needs)

    def forget(self, pod: Pod) -> None:
        """Give the place back: the binding was refused."""
        self._assumed.discard(pod.uid)
        self._remove(pod.uid)

    def is_assumed(self, pod: Pod) -> bool:
        return pod.uid in self._assumed

    def change(self, old: Pod | None, new: Pod | None) -> bool:
        """Take a change as the informer tells it; return whether something became free."""
        is_freed = False
        if old is not None and (new is None or new.uid != old.uid):
            is_freed = old.uid in self._places
            self.forget(old)
        if new is not None and new.has_ended:
            is_freed = is_freed or new.uid in self._places
            self.forget(new)
        elif new is not None and new.spec.node_name:
            self._assumed.discard(new.uid)
            self._put(new.uid, new.spec.node_name, needs_of(new))
        return is_freed

    def _put(self, uid: str, node: str, needs: Amounts) -> None:
        if self._places.get(uid) == (node, needs):
            return
        self._remove(uid)
        self._places[uid] = (node, needs)
        self._taken[node] = quantity.add((self._taken.get(node, {}), needs))

    def _remove(self, uid: str) -> None:
        node, needs = self._places.pop(uid, ("", {}))
        if node:
            given_back = {name: -amount for name, amount in needs.items()}
            self._taken[node] = quantity.add((self._taken[node], given_back))


class PodSchedulerController(Controller):
    name = "scheduler"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = SeriesRecorder(hub.client, DEFAULT_SCHEDULER)
        self.usage = NodeUsage()
        hub.informer(Pod).store.add_index(WAITING, lambda pod: [WAITING] if _is_waiting(pod) else [])

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Node, lambda node: (ROUND,)),)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod).subscribe(self._changed)

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        is_freed = self.usage.change(old, new)
        if is_freed or (new is not None and _is_waiting(new) and not (old is not None and _same_wish(old, new))):
            self.wake(ROUND)

    async def reconcile(self, key: str) -> None:
        nodes = self.hub.list(Node)
        failure: Exception | None = None
        hopeless: dict[bytes, NodeChoice] = {}
        for pod in sorted(self.hub.by_index(Pod, WAITING, WAITING), key=_importance):
            if self.usage.is_assumed(pod):
                continue
            wish = _wish(pod)
            choice = hopeless.get(wish) or choose(pod, needs_of(pod), nodes, self.usage)
            try:
                await self._act(pod, choice)
            except (errors.ApiError, errors.Unreachable) as error:
                failure = error
            if not choice.node:
                hopeless[wish] = choice
        if failure is not None:
            raise failure

    async def _act(self, pod: Pod, choice: NodeChoice) -> None:
        if not choice.node:
            await self._tell(pod, choice.why_not)
            return
        self.usage.assume(pod, choice.node, needs_of(pod))
        try:
            await self._bind(pod, choice.node)
        except (errors.ApiError, errors.Unreachable):
            self.usage.forget(pod)
            raise
        await self.events.normal(
            pod, "Scheduled", f"Successfully assigned {pod.key} to {choice.node}", action="Binding"
        )

    async def _bind(self, pod: Pod, node: str) -> None:
        """Bind this very pod (uid); the API server then sets the condition PodScheduled."""
        metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await self.hub.client.create(Pod.resource, binding, "binding")

    async def _tell(self, pod: Pod, why: str) -> None:
        """Write why a pod waits, where that has changed."""
        eviction_labels = find(pod.status.conditions, POD_SCHEDULED)
        if eviction_labels is not None and (
            eviction_labels.status,
            eviction_labels.reason,
            eviction_labels.message,
        ) == ("False", "Unschedulable", why):
            return
        since = (
            eviction_labels.last_transition_time
            if eviction_labels is not None and eviction_labels.status == "False"
            else None
        )
        raw = self.hub.raw(pod)
        others = [one for one in (raw.get("status") or {}).get("conditions") or () if one["type"] != POD_SCHEDULED]
        condition = {
            "type": POD_SCHEDULED,
            "observedGeneration": pod.metadata.generation,
            "status": "False",
            "reason": "Unschedulable",
            "message": why,
            "lastProbeTime": None,
            "lastTransitionTime": timestamp(since or clock.now()),
        }
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [*others, condition]}}
        await self.hub.client.merge(Pod.resource, pod.name, pod.namespace, patch, subresource="status")
        await self.events.warning(pod, "FailedScheduling", why, action="Scheduling")


def choose(pod: Pod, needs: Amounts, nodes: Iterable[Node], usage: NodeUsage) -> NodeChoice:
    """Return the least loaded of the nodes that fit, by name where several are; or why none does."""
    candidates: list[tuple[Any, str]] = []
    refusals: list[NodeRefusal] = []
    for node in nodes:
        used = usage.of(node.name)
        why = refusal(pod, needs, node, used)
        if why is None:
            candidates.append((load(needs, room_of(node), used), node.name))
        else:
            refusals.append(why)
    if candidates:
        return NodeChoice(node=min(candidates)[1])
    return NodeChoice(why_not=explain(refusals, preempts=pod.spec.preemption_policy != "Never"))


def _is_waiting(pod: Pod) -> bool:
    """Tell whether our scheduler has to find a node for a pod."""
    is_ours = pod.spec.scheduler_name == DEFAULT_SCHEDULER and not pod.spec.scheduling_gates
    return is_ours and pod.is_active and not pod.spec.node_name


def _importance(pod: Pod) -> tuple[Any, ...]:
    return -pod.spec.priority, pod.metadata.creation_timestamp, pod.key


def _wish(pod: Pod) -> bytes:
    """Return all of a pod that decides where it fits: where one does not, neither does another with the same wish."""
    spec = pod.spec
    parts = (spec.containers, spec.init_containers, spec.overhead, spec.resources)
    wishes = (spec.node_selector, spec.affinity, spec.tolerations, spec.preemption_policy)
    return msgspec.json.encode((parts, wishes))


def _same_wish(old: Pod, new: Pod) -> bool:
    return old.uid == new.uid and _is_waiting(old) and _wish(old) == _wish(new)
