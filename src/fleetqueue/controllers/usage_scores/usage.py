"""What pods ask of the nodes that they run on, what that leaves free, and how that scores.

A pod takes what the scheduler sets aside for it, the way Kubernetes counts it, not what it happens to use. Simplified:
a pod that is being resized in place counts with the requests of its spec, not with the larger of old and new.
"""

import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar, Final, Self

from fleetqueue.api import conditions, quantity
from fleetqueue.api.cluster_v1 import SCORE_MAX, SCORE_MIN
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.meta import Object, ObjectMeta
from fleetqueue.api.quantity import Amounts
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.usage_scores import RESOURCES, SCORES, ScoreScale, ScoreScope

Scores = dict[str, int]
"""The value of each score by its name, in the order of the contract."""

NOTHING: Final[Amounts] = {}
NO_LABELS: Final[dict[str, str]] = {}


class ScoredPod(Object):
    """A pod as far as it counts: the node that it takes from, and how much of what is scored.

    A worker may have a hundred thousand pods, most of them like many others: what these share is kept once.
    """

    resource: ClassVar = Pod.resource
    keeps_raw: ClassVar[bool] = False

    node: str
    takes: Amounts

    @classmethod
    def kept(cls, raw: Manifest) -> Self:
        return cls.of(Pod.view(counted_fields(raw)))

    @classmethod
    def of(cls, pod: Pod) -> Self:
        node, takes = usage(pod)
        metadata = ObjectMeta(
            name=pod.name,
            namespace=sys.intern(pod.namespace),
            resource_version=pod.metadata.resource_version,
            labels=NO_LABELS,
            annotations=NO_LABELS,
        )
        return cls(metadata=metadata, node=sys.intern(node), takes=_shared(tuple(takes.items())))


class ScoredNode(Node):
    """A node as far as it counts."""

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep what is read: the list of images is most of a node's size."""
        return {
            **super().trim(raw),
            "spec": _only(raw.get("spec"), "unschedulable", "taints"),
            "status": _only(raw.get("status"), "allocatable", "conditions"),
        }


def counted_fields(raw: Manifest) -> Manifest:
    """Return a pod with only what counts, since all of it would take long to decode."""
    spec = raw.get("spec") or {}
    kept = _only(spec, "nodeName", "overhead", "resources")
    for field in ("containers", "initContainers"):
        if field in spec:
            kept[field] = [_only(container, "resources", "restartPolicy") for container in spec[field] or ()]
    return {**raw, "spec": kept, "status": _only(raw.get("status"), "phase")}


class ClusterUsage:
    """The free resources of a cluster, brought up to date by each change instead of counted anew.

    Adding all pods up again for each that comes or goes is too slow.
    """

    def __init__(self) -> None:
        self._capacity: dict[str, Amounts] = {}
        self._used: dict[str, Amounts] = {}

    def change_pod(self, old: ScoredPod | None, new: ScoredPod | None) -> bool:
        """Take a changed pod into account; return whether it changed what is used."""
        before, after = ((pod.node, pod.takes) if pod is not None else ("", NOTHING) for pod in (old, new))
        if before == after:
            return False
        self._add(*before, sign=-1)
        self._add(*after, sign=1)
        return True

    def change_node(self, old: Node | None, new: Node | None) -> bool:
        """Take a changed node into account; return whether it changed what there is."""
        before, after = capacity(old), capacity(new)
        for node in (old, new):
            if node is not None:
                self._capacity.pop(node.name, None)
        if new is not None and after:
            self._capacity[new.name] = after
        return before != after

    def free(self) -> Iterator[Amounts]:
        """Yield what is free on each node that takes pods.

        A node that holds more than it has (its devices failed, say) has nothing free; it takes nothing from the others.
        """
        for name, amounts in self._capacity.items():
            used = self._used.get(name, NOTHING)
            yield {resource: max(have - used.get(resource, 0), Decimal(0)) for resource, have in amounts.items()}

    def _add(self, node: str, amounts: Amounts, *, sign: int) -> None:
        if not amounts:
            return
        used = quantity.add((self._used.pop(node, NOTHING), {name: sign * value for name, value in amounts.items()}))
        left = {name: value for name, value in used.items() if value}
        if left:
            self._used[node] = left


def usage(pod: Pod) -> tuple[str, Amounts]:
    """Return which node a pod takes from, and how much of what is scored; nothing where it does not run, or no more."""
    if not pod.spec.node_name or pod.is_deleting or pod.has_ended:
        return "", NOTHING
    requested = pod.spec.requests()
    taken = {name: requested[name] for name in RESOURCES if requested.get(name)}
    return (pod.spec.node_name, taken) if taken else ("", NOTHING)


def capacity(node: Node | None) -> Amounts:
    """Return how much of what is scored a node offers to pods; nothing where it takes none.

    Simplified: taints are not looked at. Nodes with accelerators are commonly tainted so that only the jobs that want
    them come, and those tolerate it; a node that is not well or cordoned shows it in its conditions and its spec.
    """
    if node is None or node.spec.unschedulable or not is_ready(node):
        return NOTHING
    return {name: quantity.parse(value) for name, value in node.status.allocatable.items() if name in RESOURCES}


def is_ready(node: Node) -> bool:
    """Tell whether a node is well; one of which nobody says anything (it has no kubelet, say) counts as well."""
    ready = conditions.find(node.status.conditions, "Ready")
    return ready is None or ready.is_true


@lru_cache(maxsize=4096)
def _shared(amounts: tuple[tuple[str, Decimal], ...]) -> Amounts:
    return dict(amounts)


def _only(part: Manifest | None, *fields: str) -> Manifest:
    """Keep these fields of a part, where it has them."""
    return {field: part[field] for field in fields if field in part} if part else {}


def scores(free: Iterable[Amounts], scale: ScoreScale) -> Scores:
    """Score a cluster by what is free on each of its nodes."""
    total: Amounts = {}
    best: Amounts = {}
    for amounts in free:
        for resource, amount in amounts.items():
            total[resource] = total.get(resource, Decimal(0)) + amount
            best[resource] = max(best.get(resource, Decimal(0)), amount)
    counted = {ScoreScope.CLUSTER: total, ScoreScope.NODE: best}
    return {
        name: normalised(counted[scope].get(resource, Decimal(0)), scale.full(resource))
        for name, resource, scope in SCORES
    }


def lowest() -> Scores:
    """Return the scores of a cluster of which nothing is known."""
    return {score.name: SCORE_MIN for score in SCORES}


def normalised(amount: Decimal, full: int) -> int:
    """Bring an amount to the range of scores, rounded toward zero as OCM's own normaliser does."""
    if amount > full:
        return SCORE_MAX
    if amount <= 0:
        return SCORE_MIN
    return int((SCORE_MAX - SCORE_MIN) * amount / full + SCORE_MIN)


def as_status(values: Scores) -> list[Manifest]:
    """Write scores as an AddOnPlacementScore lists them."""
    return [{"name": name, "value": value} for name, value in values.items()]
