"""Why no node will do, in the words of the Kubernetes scheduler, as everybody knows them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

NO_NODES: Final = "no nodes available to schedule pods"
NO_CLAIMS: Final = "no new claims to deallocate"
NO_HELP: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NEVER: Final = "not eligible due to preemptionPolicy=Never."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod cannot run on one node."""

    reasons: Sequence[str]
    is_taken: bool = False
    """Whether the pod would fit if others were not there."""


def explain(refusals: Sequence[Refusal], *, preempts: bool = True) -> str:
    """Sum up all nodes, and why no pod is removed for this one: none ever is, but the sentence belongs to it."""
    if not refusals:
        return NO_NODES
    why = _sum(reason for refusal in refusals for reason in refusal.reasons)
    told = [f"0/{len(refusals)} nodes are available: {why}."]
    no_victims = _sum(NO_VICTIMS if refusal.is_taken else NO_HELP for refusal in refusals)
    preemption = f"0/{len(refusals)} nodes are available: {no_victims}." if preempts else NEVER
    return " ".join([*told, f"{NO_CLAIMS}, preemption: {preemption}"])


def _sum(reasons: Iterable[str]) -> str:
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
