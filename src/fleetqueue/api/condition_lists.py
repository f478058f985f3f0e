"""Conditions as they are written: ask for one; set one, or take one away, and leave the others where they are."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.scheme import Manifest


def is_true(obj: Manifest, kind: str) -> bool:
    """Tell whether a condition of an object is true, without reading all of it."""
    return condition_status(obj.get("status") or {}, kind) == conditions.TRUE


def condition_status(status: Manifest, kind: str) -> str:
    """Return the status of a condition, by the status of its object; empty where there is none."""
    reported = status.get("conditions") or ()
    return str(next((condition.get("status", "") for condition in reported if condition.get("type") == kind), ""))


def with_conditions(live: Sequence[Manifest], wanted: Iterable[Condition], now: datetime) -> list[Manifest]:
    """Set conditions; one that says the same as before stays as it is, a new one comes last."""
    result = list(live)
    for condition in wanted:
        place = next((i for i, item in enumerate(result) if item["type"] == condition.type), None)
        known = () if place is None else (msgspec.convert(result[place], Condition),)
        if place is None:
            result += conditions.dated([condition], (), now=now)
        elif not conditions.same([condition], known):
            [result[place]] = conditions.dated([condition], known, now=now)
    return result


def without_condition(live: Sequence[Manifest], kind: str) -> list[Manifest]:
    return [condition for condition in live if condition["type"] != kind]
