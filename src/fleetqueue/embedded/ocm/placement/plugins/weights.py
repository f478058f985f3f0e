"""Which prioritizers a Placement wants, and how much each counts.

Mirrors: OCM pkg/placement/controllers/scheduling/schedule.go
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from fleetqueue.api.cluster_v1 import Placement, ScoreCoordinate
from fleetqueue.embedded.ocm.placement.plugins.addon_scores import AddOn
from fleetqueue.embedded.ocm.placement.plugins.balance import BALANCE, Balance
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts, Misconfigured, Prioritizer
from fleetqueue.embedded.ocm.placement.plugins.resources import Allocatable
from fleetqueue.embedded.ocm.placement.plugins.steady import STEADY, Steady
from fleetqueue.rules.allocatable_scores import RESOURCES

ADDITIVE, EXACT = "Additive", "Exact"
DEFAULTS: Final = {BALANCE: 1, STEADY: 1}
"""What counts unless a Placement says otherwise, or names all that counts (Exact)."""


class Weighted(NamedTuple):
    prioritizer: Prioritizer
    weight: int


def wanted_prioritizers(placement: Placement, facts: Facts) -> list[Weighted]:
    """Return the prioritizers that count; raises Misconfigured."""
    return [Weighted(_prioritizer(coordinate, facts), weight) for coordinate, weight in weights(placement) if weight]


def weights(placement: Placement) -> list[tuple[ScoreCoordinate, int]]:
    """Return what a Placement wants with its weights; raises Misconfigured.

    Of two built-in entries with one name the last counts. Add-on entries all count, even equal ones.
    """
    policy = placement.spec.prioritizer_policy
    if policy.mode not in (ADDITIVE, EXACT, ""):
        raise Misconfigured("", f"incorrect prioritizer policy mode: {policy.mode}")
    counted = {} if policy.mode == EXACT else {ScoreCoordinate(built_in=name): w for name, w in DEFAULTS.items()}
    by_add_ons: list[tuple[ScoreCoordinate, int]] = []
    for wanted in policy.configurations:
        if wanted.score_coordinate.add_on is None:
            counted[wanted.score_coordinate] = wanted.weight
        else:
            by_add_ons.append((wanted.score_coordinate, wanted.weight))
    return [*counted.items(), *by_add_ons]


def score_resources(placement: Placement) -> Iterator[str]:
    """Return the names of the AddOnPlacementScores that a Placement looks at."""
    for wanted in placement.spec.prioritizer_policy.configurations:
        coordinate = wanted.score_coordinate
        if coordinate.type != "BuiltIn" and coordinate.add_on is not None:
            yield coordinate.add_on.resource_name


def _prioritizer(coordinate: ScoreCoordinate, facts: Facts) -> Prioritizer:
    if coordinate.type != "BuiltIn":
        if coordinate.add_on is None:
            raise Misconfigured("", "addOn should not be empty")
        return AddOn(coordinate.add_on, facts)
    match coordinate.built_in:
        case "Balance":
            return Balance(facts)
        case "Steady":
            return Steady(facts)
        case name if name in RESOURCES:
            return Allocatable(name)
    raise Misconfigured("", f"incorrect builtin prioritizer: {coordinate.built_in}")
