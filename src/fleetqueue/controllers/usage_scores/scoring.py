"""From what is free on each node to the scores of the cluster."""

from collections.abc import Iterable
from decimal import Decimal

from fleetqueue.api.cluster_v1 import SCORE_MAX, SCORE_MIN
from fleetqueue.api.quantity import Amounts
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.usage_scores import SCORES, ScoreScale, ScoreScope

Scores = dict[str, int]
"""The value of each score by its name, in the order of the contract."""


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
