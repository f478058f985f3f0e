"""What users read on Placements: conditions and events, in OCM's own words."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from fleetqueue.api.cluster_v1 import PLACEMENT_MISCONFIGURED, PLACEMENT_SATISFIED, Placement
from fleetqueue.api.conditions import Condition
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured

LONGEST_NOTE: Final = 1000
"""Characters of scores in one event; the API takes a few more."""


class EventText(NamedTuple):
    """What an event says."""

    reason: str
    action: str
    note: str


def misconfigured(problem: Misconfigured | None) -> Condition:
    if problem is not None:
        return Condition.true(PLACEMENT_MISCONFIGURED, "Misconfigured", str(problem))
    return Condition.false(PLACEMENT_MISCONFIGURED, "Succeedconfigured", "Placement configurations check pass")


def not_bound() -> Condition:
    return _unsatisfied(
        "NoManagedClusterSetBindings", "No valid ManagedClusterSetBindings found in placement namespace"
    )


def no_intersection(wanted: Iterable[str]) -> Condition:
    names = ",".join(wanted)
    return _unsatisfied("NoIntersection", f"None of ManagedClusterSets [{names}] is bound to placement namespace")


def sets_empty(names: Iterable[str]) -> Condition:
    return _unsatisfied(
        "AllManagedClusterSetsEmpty", f"All ManagedClusterSets [{','.join(names)}] have no member ManagedCluster"
    )


def nobody_matches() -> Condition:
    return _unsatisfied("NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate")


def scheduled(unscheduled: int) -> Condition:
    if unscheduled:
        return _unsatisfied("NotAllDecisionsScheduled", f"{unscheduled} cluster decisions unscheduled")
    return Condition.true(PLACEMENT_SATISFIED, "AllDecisionsScheduled", "All cluster decisions scheduled")


def decision_created(decision: str, placement: Placement) -> EventText:
    return EventText("DecisionCreate", "DecisionCreated", _about(decision, placement, "created"))


def decision_updated(decision: str, placement: Placement, warning: str = "") -> EventText:
    note = _about(decision, placement, "updated")
    return EventText("DecisionUpdate", "DecisionUpdated", f"{note}: {warning}" if warning else note)


def decision_deleted(decision: str, placement: Placement) -> EventText:
    return EventText("DecisionDelete", "DecisionDeleted", _about(decision, placement, "deleted"))


def scores_updated(totals: Mapping[str, int]) -> EventText:
    return EventText("ScoreUpdate", "ScoreUpdated", _shortened(f"{name}:{totals[name]} " for name in sorted(totals)))


def _unsatisfied(reason: str, message: str) -> Condition:
    return Condition.false(PLACEMENT_SATISFIED, reason, message)


def _about(decision: str, placement: Placement, done: str) -> str:
    return f"Decision {decision} is {done} with placement {placement.name} in namespace {placement.namespace}"


def _shortened(words: Iterable[str]) -> str:
    text = ""
    for word in words:
        if len(text) + len(word) > LONGEST_NOTE:
            return text + "......"
        text += word
    return text
