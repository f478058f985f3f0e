"""Whether a pod fits on a node, and if not, why."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from fleetqueue.api import quantity
from fleetqueue.api.core_v1 import Taint
from fleetqueue.api.pod_requests import Starter, pod_requests
from fleetqueue.api.quantity import Amounts
from fleetqueue.api.selectors import Requirement
from fleetqueue.api.tolerations import is_tolerated
from fleetqueue.embedded.nodes.objects import Container, Node, Pod, Term
from fleetqueue.embedded.nodes.refusals import Refusal

UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
NOT_CHOSEN: Final = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED: Final = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
FULL: Final = "Too many pods"
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
KEEPING_OUT: Final = ("NoSchedule", "NoExecute")
SHARED: Final = ("cpu", "memory")
"""What a pod may ask for as a whole, and what says how busy a node is."""
ZERO: Final = Decimal(0)
DEFAULT_PODS: Final = 110


def refusal(pod: Pod, needs: Amounts, node: Node, used: Mapping[str, Decimal]) -> Refusal | None:
    """Return why a pod cannot run on a node; None where it can. As in Kubernetes the first kind of reason counts."""
    if not _is_named(pod, node):
        return Refusal([NOT_NAMED])
    if node.spec.unschedulable and _is_minded(CORDON, pod):
        return Refusal([UNSCHEDULABLE])
    if any(_is_minded(taint, pod) for taint in node.spec.taints):
        return Refusal([TAINTED])
    if not is_chosen(pod, node):
        return Refusal([NOT_CHOSEN])
    return _shortage(needs, room_of(node), used)


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
    terms = _terms(pod)
    return terms is None or any(_matches(term, node) for term in terms)


def _shortage(needs: Amounts, room: Amounts, used: Mapping[str, Decimal]) -> Refusal | None:
    short = [name for name, amount in needs.items() if amount and amount > room.get(name, ZERO) - used.get(name, ZERO)]
    if not short:
        return None
    is_taken = all(needs[name] <= room.get(name, ZERO) for name in short)
    return Refusal([FULL if name == "pods" else f"Insufficient {name}" for name in short], is_taken)


def _is_named(pod: Pod, node: Node) -> bool:
    """Tell whether a node is one of those that a pod names; where every term names some, no other is looked at."""
    terms = _terms(pod) or ()
    names = [[one for one in term.match_fields if one.operator == "In"] for term in terms]
    if not names or not all(names):
        return True
    return any(all(node.name in one.values for one in fields) for fields in names)


def _terms(pod: Pod) -> Sequence[Term] | None:
    """Return the terms one of which a node must match; None where any node will do."""
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    return affinity.required.node_selector_terms if affinity and affinity.required else None


def _is_minded(taint: Taint, pod: Pod) -> bool:
    return taint.effect in KEEPING_OUT and not is_tolerated(taint, pod.spec.tolerations)


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
