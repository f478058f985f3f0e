"""Whether a pod fits on a node; and where it fits on none, why not, in the words of the Kubernetes scheduler."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fleetqueue.api import quantity
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.quantity import Amounts
from fleetqueue.api.taints import NO_SCHEDULE, UNSCHEDULABLE, Taint, is_tolerated
from fleetqueue.rules.node_affinity import is_chosen, required_terms

CORDONED: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
NOT_CHOSEN: Final = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED: Final = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
FULL: Final = "Too many pods"
CORDON: Final = Taint(key=UNSCHEDULABLE, effect=NO_SCHEDULE)
SHARED: Final = ("cpu", "memory")
"""What the load of a node is counted over, beside what a pod requests."""
ZERO: Final = Decimal(0)
DEFAULT_PODS: Final = 110


@dataclass(frozen=True, slots=True)
class NodeRefusal:
    """Why a pod cannot run on one node."""

    reasons: Sequence[str]
    is_taken: bool = False
    """Whether the pod would fit if others were not there."""


def refusal(pod: Pod, needs: Amounts, node: Node, used: Mapping[str, Decimal]) -> NodeRefusal | None:
    """Return why a pod cannot run on a node; None where it can. As in Kubernetes the first kind of reason counts."""
    if not _is_named(pod, node):
        return NodeRefusal([NOT_NAMED])
    if node.spec.unschedulable and _keeps_out(CORDON, pod):
        return NodeRefusal([CORDONED])
    if any(_keeps_out(taint, pod) for taint in node.spec.taints):
        return NodeRefusal([TAINTED])
    if not is_chosen(pod, node):
        return NodeRefusal([NOT_CHOSEN])
    return _shortage(needs, room_of(node), used)


def room_of(node: Node) -> Amounts:
    """Return what a node has for pods."""
    return {"pods": Decimal(DEFAULT_PODS), **quantity.parse_all(node.status.allocatable or node.status.capacity)}


def needs_of(pod: Pod) -> Amounts:
    """Return what is set aside for a pod: the more of what starts it and what runs, and a place."""
    return quantity.add((pod.spec.requests(), {"pods": Decimal(1)}))


def load(needs: Amounts, room: Amounts, used: Mapping[str, Decimal]) -> Decimal:
    """Return how full a node would be with a pod on it: over what the pod requests, and cpu and memory."""
    names = [name for name in sorted({*needs, *SHARED} - {"pods"}) if room.get(name)]
    shares = [(used.get(name, ZERO) + needs.get(name, ZERO)) / room[name] for name in names]
    return sum(shares, ZERO) / len(shares) if shares else ZERO


def _shortage(needs: Amounts, room: Amounts, used: Mapping[str, Decimal]) -> NodeRefusal | None:
    short = [name for name, amount in needs.items() if amount and amount > room.get(name, ZERO) - used.get(name, ZERO)]
    if not short:
        return None
    is_taken = all(needs[name] <= room.get(name, ZERO) for name in short)
    return NodeRefusal([FULL if name == "pods" else f"Insufficient {name}" for name in short], is_taken)


def _is_named(pod: Pod, node: Node) -> bool:
    """Tell whether a node is one of those that a pod names; where every term names some, no other is looked at."""
    terms = required_terms(pod) or ()
    names = [[one for one in term.match_fields if one.operator == "In"] for term in terms]
    if not names or not all(names):
        return True
    return any(all(node.name in one.values for one in fields) for fields in names)


def _keeps_out(taint: Taint, pod: Pod) -> bool:
    return taint.keeps_out and not is_tolerated(taint, pod.spec.tolerations)


NO_NODES: Final = "no nodes available to schedule pods"
NO_CLAIMS: Final = "no new claims to deallocate"
NO_HELP: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NEVER: Final = "not eligible due to preemptionPolicy=Never."


def explain(refusals: Sequence[NodeRefusal], *, preempts: bool = True) -> str:
    """Sum up all nodes, and why no pod is removed for this one: none ever is, but the sentence belongs to it."""
    if not refusals:
        return NO_NODES
    why = _sum(reason for refusal in refusals for reason in refusal.reasons)
    sentences = [f"0/{len(refusals)} nodes are available: {why}."]
    no_victims = _sum(NO_VICTIMS if refusal.is_taken else NO_HELP for refusal in refusals)
    preemption = f"0/{len(refusals)} nodes are available: {no_victims}." if preempts else NEVER
    return " ".join([*sentences, f"{NO_CLAIMS}, preemption: {preemption}"])


def _sum(reasons: Iterable[str]) -> str:
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
