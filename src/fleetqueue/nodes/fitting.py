"""Whether a pod fits on a node, and if not, why: in the words of the Kubernetes scheduler."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from fleetqueue.api import quantity
from fleetqueue.api.core_v1 import Taint
from fleetqueue.api.pod_requests import Starter, pod_requests
from fleetqueue.api.quantity import Amounts
from fleetqueue.api.selectors import Requirement
from fleetqueue.nodes.objects import Container, Node, Pod, Term, Toleration

UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
NOT_CHOSEN: Final = "node(s) didn't match Pod's node affinity/selector"
FULL: Final = "Too many pods"
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
SHARED: Final = ("cpu", "memory")
"""What a pod may ask for as a whole, and what says how busy a node is."""
ZERO: Final = Decimal(0)
DEFAULT_PODS: Final = 110


def obstacles(pod: Pod, needs: Amounts, node: Node, used: Mapping[str, Decimal]) -> list[str]:
    """Return why a pod cannot run on a node; empty where it can. As in Kubernetes the first kind of reason counts."""
    if node.spec.unschedulable and not _is_tolerated(CORDON, pod.spec.tolerations):
        return [UNSCHEDULABLE]
    if not all(_is_tolerated(taint, pod.spec.tolerations) for taint in node.spec.taints):
        return [TAINTED]
    if not is_chosen(pod, node):
        return [NOT_CHOSEN]
    return _shortages(needs, room_of(node), used)


def room_of(node: Node) -> Amounts:
    """Return what a node has for pods."""
    return {"pods": Decimal(DEFAULT_PODS), **quantity.parse_all(node.status.allocatable or node.status.capacity)}


def needs_of(pod: Pod) -> Amounts:
    """Return what is set aside for a pod: the more of what starts it and what runs, and a place."""
    spec, whole = pod.spec, pod.spec.resources.asked
    needs = pod_requests(
        (Starter(_asked(one), one.restart_policy == "Always") for one in spec.init_containers),
        map(_asked, spec.containers),
        whole={name: quantity.parse(whole[name]) for name in SHARED if name in whole},
        overhead=quantity.parse_all(spec.overhead),
    )
    return quantity.add((needs, {"pods": Decimal(1)}))


def load(needs: Amounts, room: Amounts, used: Mapping[str, Decimal]) -> Decimal:
    """Return how full a node would be with a pod on it: over what the pod asks for, and cpu and memory."""
    names = [name for name in sorted({*needs, *SHARED} - {"pods"}) if room.get(name)]
    shares = [(used.get(name, ZERO) + needs.get(name, ZERO)) / room[name] for name in names]
    return sum(shares, ZERO) / len(shares) if shares else ZERO


def is_chosen(pod: Pod, node: Node) -> bool:
    """Tell whether a pod's own wishes allow a node: its nodeSelector, and one term of its affinity."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity.required if affinity else None
    return required is None or any(_matches(term, node) for term in required.node_selector_terms)


def explain(reasons: Iterable[Sequence[str]]) -> str:
    """Sum up why no node will do, as everybody knows it: `0/3 nodes are available: 3 Insufficient cpu.`"""
    counts: dict[str, int] = {}
    nodes = 0
    for of_node in reasons:
        nodes += 1
        for reason in of_node:
            counts[reason] = counts.get(reason, 0) + 1
    if not nodes:
        return "no nodes available to schedule pods"
    each = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{nodes} nodes are available: {', '.join(each)}."


def _shortages(needs: Amounts, room: Amounts, used: Mapping[str, Decimal]) -> list[str]:
    short = [name for name, amount in needs.items() if amount and amount > room.get(name, ZERO) - used.get(name, ZERO)]
    return [FULL if name == "pods" else f"Insufficient {name}" for name in short]


def _is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    if taint.effect not in ("NoSchedule", "NoExecute"):
        return True
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def _matches(term: Term, node: Node) -> bool:
    if not (term.match_expressions or term.match_fields):
        return False  # a term that asks for nothing chooses nothing
    fields = {"metadata.name": node.name}
    return all(_holds(one, node.metadata.labels) for one in term.match_expressions) and all(
        _holds(one, fields) for one in term.match_fields
    )


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    if requirement.operator not in ("Gt", "Lt"):
        return requirement.matches(labels)
    value = labels.get(requirement.key, "")
    if not (value.lstrip("-").isdecimal() and requirement.values):
        return False
    bound = int(requirement.values[0])
    return int(value) > bound if requirement.operator == "Gt" else int(value) < bound


def _asked(container: Container) -> Amounts:
    return quantity.parse_all(container.resources.asked)
