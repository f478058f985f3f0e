"""What a Deployment says of itself, for `kubectl rollout status`: numbers, whether it is available, and gets on."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from fleetqueue.api.conditions import Condition, find, timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes.deployment_objects import Deployment
from fleetqueue.embedded.kubernetes.replica_sets import ReplicaSet

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
DONE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"


def wanted_status(
    deployment: Deployment, live: Manifest, all_sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> Manifest:
    """Return the status that fits what the ReplicaSets say."""
    replicas = sum(one.status.replicas for one in all_sets)
    available = sum(one.status.available_replicas for one in all_sets)
    numbers = {
        "replicas": replicas,
        "updatedReplicas": new.status.replicas if new is not None else 0,
        "readyReplicas": sum(one.status.ready_replicas for one in all_sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(one.spec.replicas for one in all_sets) - available),
    }
    status: Manifest = {name: number for name, number in numbers.items() if number}
    status["terminatingReplicas"] = sum(one.status.terminating_replicas for one in all_sets)
    status["observedGeneration"] = deployment.metadata.generation
    conditions = list(live.get("conditions") or ())
    conditions = _said(conditions, _availability(deployment, available), now)
    progress = _progress(deployment, numbers, live, new, now)
    if progress is not None:
        conditions = _said(conditions, progress, now, is_news=_moves(live, numbers))
    return {**status, "conditions": conditions}


def seconds_to_timeout(deployment: Deployment, status: Manifest, now: datetime) -> float | None:
    """Return when a rollout that does not get on is given up; None where none is under way."""
    condition = next((c for c in status.get("conditions") or () if c["type"] == PROGRESSING), None)
    if condition is None or condition["reason"] in (DONE, TIMED_OUT) or deployment.spec.paused:
        return None
    since = datetime.fromisoformat(condition["lastUpdateTime"])
    return (since + timedelta(seconds=deployment.spec.progress_deadline_seconds) - now).total_seconds()


def _availability(deployment: Deployment, available: int) -> Condition:
    if available >= deployment.spec.replicas - deployment.max_unavailable:
        return Condition.true(AVAILABLE, "MinimumReplicasAvailable", "Deployment has minimum availability.")
    return Condition.false(AVAILABLE, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")


def _progress(
    deployment: Deployment, numbers: dict[str, int], live: Manifest, new: ReplicaSet | None, now: datetime
) -> Condition | None:
    """Return how the rollout gets on; None where that is said already."""
    progress = find(deployment.status.conditions, PROGRESSING)
    what = f'ReplicaSet "{new.name}"' if new is not None else f'Deployment "{deployment.name}"'
    if deployment.spec.paused:
        return Condition(type=PROGRESSING, reason="DeploymentPaused", message="Deployment is paused")
    if progress is None and new is not None:
        return Condition.true(PROGRESSING, "NewReplicaSetCreated", f'Created new replica set "{new.name}"')
    is_settled = numbers["replicas"] == numbers["updatedReplicas"] and progress is not None and progress.reason == DONE
    if is_settled:
        return None
    if _is_complete(deployment, numbers):
        return Condition.true(PROGRESSING, DONE, f"{what} has successfully progressed.")
    if _moves(live, numbers) or (progress is not None and progress.reason == DONE):
        return Condition.true(PROGRESSING, "ReplicaSetUpdated", f"{what} is progressing.")
    left = seconds_to_timeout(deployment, live, now)
    if left is not None and left <= 0:
        return Condition.false(PROGRESSING, TIMED_OUT, f"{what} has timed out progressing.")
    return None


def _is_complete(deployment: Deployment, numbers: dict[str, int]) -> bool:
    wanted = deployment.spec.replicas
    return numbers["updatedReplicas"] == numbers["replicas"] == numbers["availableReplicas"] == wanted


def _moves(live: Manifest, numbers: dict[str, int]) -> bool:
    """Tell whether more pods are new, fewer are old, or more are ready than before."""
    before: dict[str, int] = {name: live.get(name, 0) for name in numbers}
    return (
        numbers["updatedReplicas"] > before["updatedReplicas"]
        or numbers["replicas"] - numbers["updatedReplicas"] < before["replicas"] - before["updatedReplicas"]
        or numbers["readyReplicas"] > before["readyReplicas"]
        or numbers["availableReplicas"] > before["availableReplicas"]
    )


def _said(conditions: list[Manifest], condition: Condition, now: datetime, *, is_news: bool = False) -> list[Manifest]:
    """Return the conditions with one of them said: its times move when its status, or what it says, does."""
    known = next((c for c in conditions if c["type"] == condition.type), None)
    if known is not None and (known["status"], known["reason"]) == (condition.status, condition.reason) and not is_news:
        return conditions
    is_same = known is not None and known["status"] == condition.status
    new = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastUpdateTime": timestamp(now),
        "lastTransitionTime": known["lastTransitionTime"] if known is not None and is_same else timestamp(now),
    }
    return [*(c for c in conditions if c["type"] != condition.type), new]
