"""Find a node for every pod that waits for one: the least loaded that fits; and say why where none does.

Reads:   Pod, Node
Writes:  pods/binding, the condition PodScheduled, Events
Mirrors: kubernetes pkg/scheduler, of which it knows resources, nodeSelector, node affinity, taints and cordons

Left out: preemption, affinity between pods, spreading, volumes, host ports, and preferences.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import find, timestamp
from fleetqueue.api.quantity import Amounts
from fleetqueue.embedded.nodes.fitting import load, needs_of, refusal, room_of
from fleetqueue.embedded.nodes.objects import DEFAULT_SCHEDULER, SCHEDULED, Node, Pod
from fleetqueue.embedded.nodes.refusals import Refusal, explain
from fleetqueue.embedded.nodes.usage import Usage
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

ROUND: Final = "round"
"""The one key: all that wait are looked at together, the most important first."""
WAITING: Final = "waiting"

log = Log("scheduler")


@dataclass(frozen=True, slots=True)
class Choice:
    node: str = ""
    why_not: str = ""


class SchedulerController(Controller):
    name = "scheduler"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = SeriesRecorder(hub.client, DEFAULT_SCHEDULER)
        self.usage = Usage()
        hub.informer(Pod).store.add_index(WAITING, lambda pod: [WAITING] if pod.is_waiting else [])

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Node, lambda node: (ROUND,)),)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod).subscribe(self._changed)

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        is_freed = self.usage.change(old, new)
        if is_freed or (new is not None and new.is_waiting and not (old is not None and _same_wish(old, new))):
            self.wake(ROUND)

    async def reconcile(self, key: str) -> None:
        nodes = self.hub.list(Node)
        failure: Exception | None = None
        hopeless: dict[bytes, Choice] = {}
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

    async def _act(self, pod: Pod, choice: Choice) -> None:
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
        """Ask for the binding of this very pod; with it the API server says that the pod is scheduled."""
        metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await self.hub.client.create(Pod.resource, binding, "binding")

    async def _tell(self, pod: Pod, why: str) -> None:
        """Say why a pod waits, where that is news."""
        said = find(pod.status.conditions, SCHEDULED)
        if said is not None and (said.status, said.reason, said.message) == ("False", "Unschedulable", why):
            return
        since = said.last_transition_time if said is not None and said.status == "False" else None
        raw = self.hub.informer(Pod).store.raw(pod.key) or {}
        others = [one for one in (raw.get("status") or {}).get("conditions") or () if one["type"] != SCHEDULED]
        condition = {
            "type": SCHEDULED,
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


def choose(pod: Pod, needs: Amounts, nodes: Iterable[Node], usage: Usage) -> Choice:
    """Return the least loaded of the nodes that fit, by name where several are; or why none does."""
    found: list[tuple[Any, str]] = []
    refusals: list[Refusal] = []
    for node in nodes:
        used = usage.of(node.name)
        why = refusal(pod, needs, node, used)
        if why is None:
            found.append((load(needs, room_of(node), used), node.name))
        else:
            refusals.append(why)
    if found:
        return Choice(node=min(found)[1])
    return Choice(why_not=explain(refusals, preempts=pod.spec.preemption_policy != "Never"))


def _importance(pod: Pod) -> tuple[Any, ...]:
    return -pod.spec.priority, pod.metadata.creation_timestamp, pod.key


def _wish(pod: Pod) -> bytes:
    """Return all of a pod that decides where it fits: where one does not, neither does another with the same wish."""
    spec = pod.spec
    parts = (spec.containers, spec.init_containers, spec.overhead, spec.resources)
    wishes = (spec.node_selector, spec.affinity, spec.tolerations, spec.preemption_policy)
    return msgspec.json.encode((parts, wishes))


def _same_wish(old: Pod, new: Pod) -> bool:
    return old.uid == new.uid and old.is_waiting and _wish(old) == _wish(new)
