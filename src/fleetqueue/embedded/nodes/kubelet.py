"""Simulate pods on our nodes: they start, run for the time that they name, end or fail, and stop when deleted.

Reads:   Pod, Node
Writes:  Pod status; deletes pods that have stopped
Mirrors: kubernetes pkg/kubelet, as kwok simulates it

One of these serves all nodes of its settings: nothing runs, so nothing has to be kept apart. What a pod does next,
and when, follows from the pod alone, so that a restart changes nothing. The exception are pods that are one of our own
parts: see `programs`.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import find
from fleetqueue.api.core_v1 import READY, RUNNING, Node, Pod
from fleetqueue.api.meta import split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.nodes import pod_statuses, stages
from fleetqueue.embedded.nodes.program_life import restarts
from fleetqueue.embedded.nodes.program_pods import ProgramPods
from fleetqueue.embedded.nodes.programs import NO_PROGRAMS, Programs
from fleetqueue.embedded.nodes.settings import KubeletSettings, NodeSettings, is_silent
from fleetqueue.embedded.nodes.stages import Stage
from fleetqueue.rules.run_times import fails
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status

FIRST: Final = 2
"""The first one of a network is the node's own."""
LAST: Final = 254


class Addresses:
    """The addresses of pods: each node has a network, and an address is free again when its pod has ended."""

    def __init__(self) -> None:
        self._by_pod: dict[str, str] = {}
        self._taken: set[str] = set()

    def give(self, pod: Pod, network: str) -> str:
        """Return the address of a pod, the lowest free one where it has none; the last one where all are taken."""
        if pod.uid not in self._by_pod:
            free = (f"{network}.{number}" for number in range(FIRST, LAST) if f"{network}.{number}" not in self._taken)
            self._note(pod, next(free, f"{network}.{LAST}"))
        return self._by_pod[pod.uid]

    def change(self, old: Pod | None, new: Pod | None) -> None:
        """Take a change as the informer tells it."""
        if old is not None and (new is None or new.uid != old.uid or new.has_ended):
            self._taken.discard(self._by_pod.pop(old.uid, ""))
        if new is not None and new.status.pod_ip and not new.has_ended:
            self._note(new, new.status.pod_ip)

    def _note(self, pod: Pod, address: str) -> None:
        self._by_pod[pod.uid] = address
        self._taken.add(address)


FAILURE: Final = 1
"""The exit code of a pod that shall fail."""

BY_NODE: Final = "node"

log = Log("kubelet")


class KubeletController(Controller):
    name = "kubelet"
    concurrency = 4

    def __init__(
        self, hub: Cluster, metrics: Metrics, *, settings: KubeletSettings, programs: Programs | None = None
    ) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self.programs = ProgramPods(hub, programs or NO_PROGRAMS, self.wake)
        hub.informer(Pod).store.add_index(BY_NODE, lambda pod: [pod.spec.node_name] if pod.spec.node_name else [])
        self.addresses = Addresses()
        self._statuses: dict[str, Callable[[Pod, Manifest], Manifest]] = {
            "Creating": self._creating,
            "Running": self._running,
            "Ended": self._ended,
            "Exited": self._exited,
            "Stopped": self._stopped,
        }

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Pod, lambda pod: (pod.key,) if self.settings.of(pod.spec.node_name) else ()),)

    def subscribe(self) -> None:
        self.hub.informer(Pod).subscribe(self.addresses.change)
        super().subscribe()
        self.programs.follow_mounted()
        self.hub.informer(Node).subscribe(self._node_changed)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if old is None or new is None:
            return
        if is_silent(old) != is_silent(new) or old.is_ready != new.is_ready:
            for pod in self.hub.by_index(Pod, BY_NODE, new.name):
                self.wake(pod.key)

    async def work(self) -> None:
        try:
            await super().work()
        finally:
            await self.programs.close()

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        pod = self.hub.get(Pod, name, namespace)
        if pod is None or self._is_silent(pod.spec.node_name):
            await self.programs.stop(key)
            return
        if self.settings.of(pod.spec.node_name) is None:
            return
        if self.programs.knows(pod):
            if not pod.is_deleting and not pod.has_ended:
                await self.programs.keep(pod, host=self._host(pod), address=self._address(pod))
                return
            await self.programs.stop(key, within=pod.metadata.deletion_grace_period_seconds or 0)
        if self._is_marked(pod):
            await self._write(pod, {"conditions": pod_statuses.all_true(live_status(self.hub, pod), clock.now())})
            return
        stage = next((stage for stage in stages.load(self.settings.stages) if stage.fits(pod)), None)
        if stage is None or _is_released(pod):
            return
        left = (stage.due(pod) - clock.now()).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, f"it {stage.name} then")
        await self._do(pod, stage)

    def _is_silent(self, name: str) -> bool:
        node = self.hub.get(Node, name)
        return node is not None and is_silent(node)

    def _is_marked(self, pod: Pod) -> bool:
        """Tell whether a pod that runs was said to be not ready while nothing was heard of its node."""
        node, ready = self.hub.get(Node, pod.spec.node_name), find(pod.status.conditions, READY)
        if pod.status.phase != RUNNING or pod.is_deleting or ready is None or ready.is_true:
            return False
        if node is None or node.ready is None or not node.is_ready:
            return False
        marked, heard = ready.last_transition_time, node.ready.last_transition_time
        return marked is not None and heard is not None and marked <= heard

    async def _do(self, pod: Pod, stage: Stage) -> None:
        log.debug("pod goes on", pod=pod.key, stage=stage.name)
        if stage.next == "Gone":
            await self._remove(pod)
            return
        await self._write(pod, self._statuses[stage.next](pod, live_status(self.hub, pod)))

    async def _write(self, pod: Pod, status: Manifest) -> None:
        patch = {"metadata": pod.precondition, "status": status}
        await self.hub.client.merge(Pod.resource, pod.name, pod.namespace, patch, subresource="status")

    async def _remove(self, pod: Pod) -> None:
        """Delete a pod that has stopped, without grace: the very one that was seen."""
        with suppress(errors.NotFound):
            await self.hub.client.delete(Pod.resource, pod.name, pod.namespace, uid=pod.uid, grace=0)

    def _creating(self, pod: Pod, live: Manifest) -> Manifest:
        return pod_statuses.creating(pod, live, self._host(pod), clock.now())

    def _running(self, pod: Pod, live: Manifest) -> Manifest:
        return pod_statuses.running(pod, live, self._host(pod), self._address(pod), clock.now())

    def _ended(self, pod: Pod, live: Manifest) -> Manifest:
        return pod_statuses.ended(pod, live, _exit_code(pod), clock.now())

    def _exited(self, pod: Pod, live: Manifest) -> Manifest:
        code = _exit_code(pod)
        state = pod_statuses.restarted if restarts(pod.spec.restart_policy, code) else pod_statuses.ended
        return state(pod, live, code, clock.now())

    def _stopped(self, pod: Pod, live: Manifest) -> Manifest:
        return pod_statuses.ended(pod, live, pod_statuses.KILLED, clock.now())

    def _host(self, pod: Pod) -> str:
        return self._machine(pod).address

    def _address(self, pod: Pod) -> str:
        machine = self._machine(pod)
        return machine.address if pod.spec.host_network else self.addresses.give(pod, machine.pod_network)

    def _machine(self, pod: Pod) -> NodeSettings:
        machine = self.settings.of(pod.spec.node_name)
        assert machine is not None  # other pods are not simulated
        return machine


def _exit_code(pod: Pod) -> int:
    return FAILURE if fails(pod.metadata.annotations) else 0


def _is_released(pod: Pod) -> bool:
    """Tell whether a pod is only there because of a finalizer: the kubelet has done its part."""
    return pod.is_deleting and pod.has_ended and pod.metadata.deletion_grace_period_seconds == 0
