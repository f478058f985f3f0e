"""The conditions of Kubeflow's jobs. What was said last stands last; who runs does not restart, and the reverse.

Mirrors: training-operator pkg/util/status.go, mpi-operator pkg/controller/mpi_job_controller_status.go
"""

from datetime import datetime
from typing import Final

from fleetqueue.api.condition_lists import condition_status
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import WARNING
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.plan import OperatorPlan

CREATED: Final = "Created"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
SUSPENDED: Final = "Suspended"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
ENDS: Final = (SUCCEEDED, FAILED)
_INSTEAD: Final = {RUNNING: RESTARTING, RESTARTING: RUNNING}


def has(status: Manifest, kind: str) -> bool:
    return condition_status(status, kind) == "True"


def has_ended(status: Manifest) -> bool:
    return any(has(status, kind) for kind in ENDS)


def tell(
    plan: OperatorPlan,
    now: datetime,
    kind: str,
    reason: str,
    message: str,
    *,
    value: str = "True",
    event: str = "",
) -> None:
    """Say something of a job, unless its status says so with this reason already.

    `event` is the type of the Event that tells people of it; none where empty.
    """
    conditions: list[Manifest] = plan.status.get("conditions") or []
    known = next((condition for condition in conditions if condition["type"] == kind), None)
    is_same = known is not None and known["status"] == value
    if known is not None and is_same and known["reason"] == reason:
        return
    since = known["lastTransitionTime"] if known is not None and is_same else timestamp(now)
    new = {
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastUpdateTime": timestamp(now),
        "lastTransitionTime": since,
    }
    plan.status["conditions"] = [*_others(conditions, kind), new]
    if event:
        plan.say(reason, message, warns=event == WARNING)


def _others(conditions: list[Manifest], kind: str) -> list[Manifest]:
    kept = [condition for condition in conditions if condition["type"] not in (kind, _INSTEAD.get(kind))]
    if kind not in ENDS:
        return kept
    return [{**condition, "status": "False"} if condition["type"] == RUNNING else condition for condition in kept]
