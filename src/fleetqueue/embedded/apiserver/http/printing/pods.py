"""The row of a pod: the status that a person wants to see is put together from all its containers."""

from datetime import datetime
from typing import Any, Final, NamedTuple

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.printing.ages import age
from fleetqueue.embedded.apiserver.http.printing.columns import Printer, columns
from fleetqueue.embedded.apiserver.http.printing.wording import NONE, at, condition, created, items, name_of

GATED: Final = "SchedulingGated"
UNREACHABLE: Final = "NodeLost"
OVER: Final = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


class ContainerSummary(NamedTuple):
    """What the containers of one sort say together."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""


def cells(pod: Manifest, now: datetime) -> list[Any]:
    total = len(items(pod, "spec", "containers")) + len(_sidecars(pod))
    seen = _seen(pod)
    restarts = str(seen.restarts)
    if seen.restarts and seen.last_restart:
        restarts += f" ({age(seen.last_restart, now)} ago)"
    shown = [name_of(pod), f"{seen.ready}/{total}", _ended(pod, seen.reason), restarts, age(created(pod), now)]
    addresses = items(pod, "status", "podIPs")
    address = addresses[0].get("ip") if addresses else None
    more = (address, at(pod, "spec", "nodeName"), at(pod, "status", "nominatedNodeName"), _gates(pod))
    return [*shown, *(one or NONE for one in more)]


def over(pod: Manifest) -> list[Manifest]:
    """Say of a pod that has ended that nobody need wait for it."""
    phase = at(pod, "status", "phase")
    if phase not in OVER:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": OVER[phase]}]


def _seen(pod: Manifest) -> ContainerSummary:
    starting, sidecars, is_starting = _starting(pod, ContainerSummary(_initial(pod)))
    if is_starting and not is_true(pod, "Initialized"):
        return starting
    return _running(pod, starting._replace(restarts=sidecars.restarts, last_restart=sidecars.last_restart))


def _initial(pod: Manifest) -> str:
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == GATED:
        return GATED
    return str(at(pod, "status", "reason") or at(pod, "status", "phase") or "")


def _starting(pod: Manifest, seen: ContainerSummary) -> tuple[ContainerSummary, ContainerSummary, bool]:
    """Look at the init containers, in order, up to the first that is not done; those that go on are counted apart."""
    names, count, sidecars = _sidecars(pod), len(items(pod, "spec", "initContainers")), seen
    for position, status in enumerate(items(pod, "status", "initContainerStatuses")):
        seen = _counted(seen, status)
        is_sidecar = status.get("name") in names
        if is_sidecar:
            sidecars = _counted(sidecars, status)
        if at(status, "state", "terminated") is not None and not _exit_code(status):
            continue
        if is_sidecar and status.get("started"):
            seen = seen._replace(ready=seen.ready + bool(status.get("ready")))
            continue
        return seen._replace(reason=f"Init:{_waiting_for(status, position, count)}"), sidecars, True
    return seen, sidecars, False


def _waiting_for(status: Manifest, position: int, count: int) -> str:
    if at(status, "state", "terminated") is not None:
        return _end(status)
    waiting = at(status, "state", "waiting", "reason")
    return waiting if waiting and waiting != "PodInitializing" else f"{position}/{count}"


def _running(pod: Manifest, seen: ContainerSummary) -> ContainerSummary:
    is_running, failure = False, ""
    for status in reversed(items(pod, "status", "containerStatuses")):
        seen = _counted(seen, status)
        if at(status, "state", "waiting", "reason"):
            seen = seen._replace(reason=str(at(status, "state", "waiting", "reason")))
        elif at(status, "state", "terminated") is not None:
            seen = seen._replace(reason=_end(status))
            failure = seen.reason if _exit_code(status) else failure
        elif status.get("ready") and at(status, "state", "running") is not None:
            is_running = True
            seen = seen._replace(ready=seen.ready + 1)
    if seen.reason != "Completed":
        return seen
    if is_running and is_true(pod, "Ready"):
        return seen._replace(reason="Running")
    return seen._replace(reason=failure or ("NotReady" if is_running else "Completed"))


def _ended(pod: Manifest, reason: str) -> str:
    if not pod["metadata"].get("deletionTimestamp"):
        return reason
    if at(pod, "status", "reason") == UNREACHABLE:
        return "Unknown"
    return reason if at(pod, "status", "phase") in OVER else "Terminating"


def _counted(seen: ContainerSummary, status: Manifest) -> ContainerSummary:
    finished = str(at(status, "lastState", "terminated", "finishedAt") or "")
    restarts = seen.restarts + int(status.get("restartCount") or 0)
    return seen._replace(restarts=restarts, last_restart=max(seen.last_restart, finished))


def _end(status: Manifest) -> str:
    ended = status["state"]["terminated"]
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _exit_code(status: Manifest) -> int:
    return int(at(status, "state", "terminated", "exitCode") or 0)


def _sidecars(pod: Manifest) -> set[str]:
    return {
        str(one.get("name")) for one in items(pod, "spec", "initContainers") if one.get("restartPolicy") == "Always"
    }


def _gates(pod: Manifest) -> str:
    gates = items(pod, "spec", "readinessGates")
    return f"{sum(is_true(pod, gate.get('conditionType')) for gate in gates)}/{len(gates)}" if gates else ""


POD: Final = Printer(
    columns("Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*"), cells, conditions=over
)
