"""The status of an AppWrapper while it is decided on: its phase, its conditions, and its patience."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from fleetqueue.api import durations
from fleetqueue.api.condition_lists import is_true, with_conditions
from fleetqueue.api.conditions import FALSE, TRUE, Condition
from fleetqueue.api.scheme import Manifest

NEW, SUSPENDED, RESUMING, RUNNING = "", "Suspended", "Resuming", "Running"
SUSPENDING, RESETTING, SUCCEEDED, FAILED, TERMINATING = "Suspending", "Resetting", "Succeeded", "Failed", "Terminating"
QUOTA, DEPLOYED, READY = "QuotaReserved", "ResourcesDeployed", "PodsReady"
UNHEALTHY, DELETING = "Unhealthy", "DeletingResources"
_NOTE: Final = "workload.codeflare.dev.appwrapper/"
SECONDS: Final = {
    "admissionGracePeriodDuration": 60.0,
    "warmupGracePeriodDuration": 300.0,
    "failureGracePeriodDuration": 60.0,
    "retryPausePeriodDuration": 90.0,
    "forcefulDeletionGracePeriodDuration": 600.0,
    "deletionOnFailureGracePeriodDuration": 0.0,
    "successTTLDuration": 7 * 24 * 3600.0,
}
"""How long it is patient, unless annotations say otherwise."""
RETRIES: Final = 3


@dataclass(slots=True)
class WrapperPlan:
    wrapper: Manifest
    now: datetime
    again_in: float | None = None
    says: list[tuple[str, str, str]] = field(default_factory=list)
    """Events: reason, action and note."""
    status: Manifest = field(init=False)

    def __post_init__(self) -> None:
        self.status = dict(self.wrapper.get("status") or {})

    def go(self, phase: str) -> None:
        self.status["phase"] = phase

    def tell(self, kind: str, status: str, reason: str, message: str = "") -> None:
        told = Condition(type=kind, status=status, reason=reason, message=message)
        self.status["conditions"] = with_conditions(self.status.get("conditions") or (), [told], self.now)

    def end(self, kind: str, reason: str, message: str = "") -> None:
        """Say that something is so no more, if it was."""
        if is_true({"status": self.status}, kind):
            self.tell(kind, FALSE, reason, message)

    def tell_of_component(self, number: int, status: str, reason: str, **fields: str) -> None:
        statuses = list(self.status["componentStatus"])
        told = Condition(type=DEPLOYED, status=status, reason=reason)
        known = statuses[number].get("conditions") or ()
        statuses[number] = {**statuses[number], **fields, "conditions": with_conditions(known, [told], self.now)}
        self.status["componentStatus"] = statuses

    def complain(self, reason: str, message: str) -> None:
        self.tell(UNHEALTHY, TRUE, reason, message)
        self.says.append((reason, UNHEALTHY, message))

    def left(self, kind: str, period: str) -> float:
        """Return how many seconds are left of a period since a condition last turned."""
        known = next(one for one in self.status["conditions"] if one["type"] == kind)
        passed = (self.now - datetime.fromisoformat(known["lastTransitionTime"])).total_seconds()
        return patience(self.wrapper, period) - passed

    def try_again_or_fail(self) -> None:
        tries = self.status.get("resettingCount", 0)
        if tries >= _retries(self.wrapper):
            self.go(FAILED)
            return
        self.status["resettingCount"] = tries + 1
        self.go(RESETTING)


def patience(wrapper: Manifest, period: str) -> float:
    """Return how many seconds an AppWrapper waits for something; a malformed annotation counts as none."""
    annotations = wrapper["metadata"].get("annotations") or {}
    try:
        return max(durations.parsed(annotations[f"{_NOTE}{period}"]), 0.0)
    except (KeyError, ValueError):
        return SECONDS[period]


def _retries(wrapper: Manifest) -> int:
    text = (wrapper["metadata"].get("annotations") or {}).get(f"{_NOTE}retryLimit", "")
    return int(text) if text.isdecimal() else RETRIES
