"""Conditions: the sentences in which objects say how they are."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from fleetqueue.api.meta import View

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


class Condition(View):
    type: str
    status: str = UNKNOWN
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0

    @classmethod
    def true(cls, kind: str, reason: str, message: str) -> "Condition":
        return cls(type=kind, status=TRUE, reason=reason, message=message)

    @classmethod
    def false(cls, kind: str, reason: str, message: str) -> "Condition":
        return cls(type=kind, status=FALSE, reason=reason, message=message)

    @property
    def is_true(self) -> bool:
        return self.status == TRUE

    @property
    def sentence(self) -> str:
        """Its reason and its message; a message may be empty."""
        return ": ".join(part for part in (self.reason, self.message) if part)


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    for condition in conditions:  # a plain loop, since a burst of jobs asks this ten thousand times a second
        if condition.type == kind:
            return condition
    return None


def is_true(conditions: Iterable[Condition], kind: str) -> bool:
    for condition in conditions:
        if condition.type == kind:
            return condition.status == TRUE
    return False


def message_of(conditions: Iterable[Condition], kind: str) -> str:
    """Return what a condition says; empty where there is none of this kind."""
    condition = find(conditions, kind)
    return condition.message if condition is not None else ""


def dated(wanted: Sequence[Condition], live: Sequence[Condition], *, now: datetime) -> list[dict[str, Any]]:
    """Return the conditions as JSON; each keeps its transition time while its status stays the same."""
    return [_as_json(condition, find(live, condition.type), now) for condition in wanted]


def same(wanted: Iterable[Condition], live: Sequence[Condition]) -> bool:
    """Tell whether every wanted condition is already written, whatever its date."""
    return all(_said(condition) == _said(find(live, condition.type)) for condition in wanted)


def timestamp(moment: datetime) -> str:
    """Write a moment as Kubernetes does: UTC, whole seconds."""
    return f"{moment.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"


def micro_timestamp(moment: datetime) -> str:
    """Write a moment as Kubernetes does in Leases and Events: UTC, with microseconds."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"


def _as_json(condition: Condition, live: Condition | None, now: datetime) -> dict[str, Any]:
    unchanged = live is not None and live.status == condition.status
    since = live.last_transition_time if unchanged and live is not None else None
    written: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": timestamp(since or now),
    }
    if condition.observed_generation:
        written["observedGeneration"] = condition.observed_generation
    return written


def _said(condition: Condition | None) -> tuple[Any, ...] | None:
    if condition is None:
        return None
    return condition.status, condition.reason, condition.message, condition.observed_generation
