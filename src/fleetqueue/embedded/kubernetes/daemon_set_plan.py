"""Decide what becomes of a DaemonSet's pods: which nodes get one, and which pods go, also for an update."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fleetqueue.api.core_v1 import FAILED, Node, Pod
from fleetqueue.embedded.kubernetes.controller_revisions import POD_REVISION
from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonPlaces, DaemonSet, target_node
from fleetqueue.embedded.kubernetes.pods import is_available


@dataclass(slots=True)
class DaemonSetPlan:
    create: list[str] = field(default_factory=list)
    """Names of nodes that get a pod."""
    delete: list[Pod] = field(default_factory=list)
    ended: list[Pod] = field(default_factory=list)
    """Those of the deleted that have ended by themselves, which is told of."""
    look_again: float | None = None
    """Seconds until a pod that failed may be replaced."""


@dataclass(frozen=True, slots=True)
class DaemonNodes:
    """What is seen: the nodes, and by node the pods that are there, or were made for it."""

    daemon_set: DaemonSet
    nodes: Sequence[Node]
    pods: Mapping[str, Sequence[Pod]]
    mark: str
    """The hash of the present template."""
    now: datetime
    places: DaemonPlaces

    @classmethod
    def of(
        cls, daemon_set: DaemonSet, nodes: Iterable[Node], pods: Iterable[Pod], mark: str, now: datetime
    ) -> "DaemonNodes":
        by_node: dict[str, list[Pod]] = {}
        for pod in sorted(pods, key=order):
            if not (pod.has_ended and pod.is_deleting) and (node := target_node(pod)):
                by_node.setdefault(node, []).append(pod)
        return cls(daemon_set, sorted(nodes, key=lambda one: one.name), by_node, mark, now, DaemonPlaces(daemon_set))

    def has_available(self, pod: Pod) -> bool:
        return is_available(pod, self.daemon_set.spec.min_ready_seconds, self.now)

    @property
    def wanted(self) -> list[str]:
        return [node.name for node in self.nodes if self.places.wants(node)]


def decide(seen: DaemonNodes, pauses: Mapping[str, float]) -> DaemonSetPlan:
    """Choose what to do. No I/O: every branch is one row of a test table.

    Args:
        pauses: by node, for how many seconds a pod that failed there is not replaced yet.
    """
    plan = DaemonSetPlan()
    for node in seen.nodes:
        _decide_for(node, seen, pauses, plan)
    names = {node.name for node in seen.nodes}
    strays = [pod for name, pods in seen.pods.items() if name not in names for pod in pods]
    plan.delete += [pod for pod in strays if not pod.spec.node_name and not pod.is_deleting]
    if plan.create or plan.delete or not seen.daemon_set.rolls:
        return plan
    rolled = _surge(seen) if seen.daemon_set.max_surge(len(seen.wanted)) else _replace(seen)
    rolled.look_again = plan.look_again
    return rolled


def _decide_for(node: Node, seen: DaemonNodes, pauses: Mapping[str, float], plan: DaemonSetPlan) -> None:
    is_wanted, pods = seen.places.wants(node), seen.pods.get(node.name, ())
    if not pods:
        plan.create += [node.name] if is_wanted else []
        return
    staying = [pod for pod in pods if not pod.is_deleting]
    if not seen.places.keeps(node):
        plan.delete += staying
        return
    ended = [pod for pod in staying if pod.has_ended]
    pause = pauses.get(node.name, 0.0)
    for pod in ended:
        if pod.status.phase == FAILED and pause > 0:
            plan.look_again = min(pause, plan.look_again or pause)
        else:
            plan.ended.append(pod)
            plan.delete.append(pod)
    running = [pod for pod in staying if not pod.has_ended]
    if not seen.daemon_set.surges:
        plan.delete += running[1:]
    elif not running:
        plan.create += [node.name] if is_wanted else []
    else:
        plan.delete += _too_many(running, seen)


def _too_many(running: Sequence[Pod], seen: DaemonNodes) -> list[Pod]:
    """Return which pods of a node go where an old one and a new one may be side by side."""
    new = [pod for pod in running if pod.metadata.labels.get(POD_REVISION) == seen.mark]
    old = [pod for pod in running if pod not in new]
    surplus = [*new[1:], *old[1:]]
    if new and old and (not old[0].is_ready or seen.has_available(new[0])):
        surplus.append(old[0])
    return surplus


@dataclass(frozen=True, slots=True)
class _Pair:
    """The pods of a node that are not being deleted."""

    node: str
    new: Pod | None
    old: Pod | None
    is_odd: bool
    """Whether there are more, which is put right first."""


def _pairs(seen: DaemonNodes) -> list[_Pair]:
    pairs = []
    for name in sorted({*seen.pods, *seen.wanted}):
        pods = [pod for pod in seen.pods.get(name, ()) if not pod.is_deleting]
        new = [pod for pod in pods if seen.daemon_set.is_updated(pod, seen.mark)]
        old = [pod for pod in pods if pod not in new]
        is_odd = len(new) > 1 or len(old) > 1
        pairs.append(_Pair(name, new[0] if new else None, old[0] if old else None, is_odd))
    return pairs


def _replace(seen: DaemonNodes) -> DaemonSetPlan:
    """Let old pods go, no more than may be missing; those that are not available are missing already."""
    limit, missing = seen.daemon_set.max_unavailable(len(seen.wanted)), 0
    broken: list[Pod] = []
    candidates: list[Pod] = []
    for pair in _pairs(seen):
        if pair.is_odd or (pair.new is None) == (pair.old is None):
            missing += 1
        elif pair.old is None:
            missing += pair.new is not None and not seen.has_available(pair.new)
        elif not seen.has_available(pair.old):
            missing += 1
            broken.append(pair.old)
        else:
            candidates.append(pair.old)
    return DaemonSetPlan(delete=[*broken, *candidates[: max(limit - missing, 0)]])


def _surge(seen: DaemonNodes) -> DaemonSetPlan:
    """Make new pods beside old ones, no more than are allowed, and let an old one go when the new one is available."""
    limit, surging, available = seen.daemon_set.max_surge(len(seen.wanted)), 0, 0
    plan, wanted = DaemonSetPlan(), set(seen.wanted)
    candidates: list[str] = []
    leaving: list[Pod] = []
    for pair in _pairs(seen):
        if pair.is_odd:
            surging += 1
            continue
        shown = pair.old or pair.new
        available += shown is not None and seen.has_available(shown)
        if pair.old is None:
            continue
        if pair.new is not None:
            surging += not seen.has_available(pair.new)
            plan.delete += [pair.old] if seen.has_available(pair.new) else []
        elif pair.node not in wanted:
            (leaving if seen.has_available(pair.old) else plan.delete).append(pair.old)
        elif not seen.has_available(pair.old):
            plan.create.append(pair.node)
        else:
            candidates.append(pair.node)
    plan.delete += leaving[: max(available - len(wanted), 0)]
    plan.create += candidates[: max(limit - surging, 0)]
    return plan


def order(pod: Pod) -> tuple[bool, datetime | None, str]:
    """Sort by it: first those that have a node, then the oldest."""
    return not pod.spec.node_name, pod.metadata.creation_timestamp, pod.name
