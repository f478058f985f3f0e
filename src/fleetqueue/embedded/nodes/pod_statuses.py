"""The status of a pod as a kubelet writes it, in each of its states."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Container, Pod
from fleetqueue.api.scheme import Manifest

KILLED: Final = 137
"""The exit code of a process that was killed."""
OWN_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def creating(pod: Pod, live: Manifest, host: str, now: datetime) -> Manifest:
    """Say that a kubelet has taken the pod up and pulls its images."""
    waiting = {"state": {"waiting": {"reason": "ContainerCreating"}}, "ready": False, "started": False}
    unready = ("ContainersNotReady", f"containers with unready status: [{' '.join(_names(pod))}]")
    condition_values = {
        "PodReadyToStartContainers": ("False", "", ""),
        "Initialized": ("True", "", ""),
        "Ready": ("False", *unready),
        "ContainersReady": ("False", *unready),
    }
    return {
        "phase": "Pending",
        "startTime": timestamp(now),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "conditions": conditions(live, condition_values, now),
        "containerStatuses": [_container(one, waiting) for one in pod.spec.containers],
    }


def running(pod: Pod, live: Manifest, host: str, address: str, now: datetime) -> Manifest:
    since = {"state": {"running": {"startedAt": timestamp(now)}}, "ready": True, "started": True}
    status = {
        "phase": "Running",
        "startTime": live.get("startTime") or timestamp(now),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": all_true(live, now),
        "containerStatuses": [_container(one, since) for one in pod.spec.containers],
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [init_status(one, now) for one in pod.spec.init_containers]
    return status


def all_true(live: Manifest, now: datetime) -> list[Manifest]:
    """Return the conditions of a pod that runs and is ready."""
    return conditions(live, dict.fromkeys(OWN_CONDITIONS, ("True", "", "")), now)


def ended(pod: Pod, live: Manifest, code: int, now: datetime) -> Manifest:
    """Say that all containers have exited, with this code."""
    is_success = code == 0
    reason = "PodCompleted" if is_success else "PodFailed"
    condition_values = {
        "PodReadyToStartContainers": ("False", "", ""),
        "Initialized": ("True", reason if is_success else "", ""),
        "Ready": ("False", reason, ""),
        "ContainersReady": ("False", reason, ""),
    }
    end = _end(code, live.get("startTime") or timestamp(now), now)
    state = {"state": {"terminated": end}, "ready": False, "started": False}
    return {
        "phase": "Succeeded" if is_success else "Failed",
        "conditions": conditions(live, condition_values, now),
        "containerStatuses": [
            {**_container(one, state), "restartCount": _restarts(live, one)} for one in pod.spec.containers
        ],
    }


def restarted(pod: Pod, live: Manifest, code: int, now: datetime) -> Manifest:
    """Say that all containers have exited, with this code, and run again."""
    started = {status["name"]: status["state"]["running"]["startedAt"] for status in live["containerStatuses"]}
    state = {"state": {"running": {"startedAt": timestamp(now)}}, "ready": True, "started": True}
    return {
        "containerStatuses": [
            {
                **_container(one, state),
                "restartCount": _restarts(live, one) + 1,
                "lastState": {"terminated": _end(code, started[one.name], now)},
            }
            for one in pod.spec.containers
        ],
    }


def _end(code: int, started: str, now: datetime) -> Manifest:
    outcome = {"exitCode": code, "reason": "Error" if code else "Completed"}
    return {**outcome, "startedAt": started, "finishedAt": timestamp(now)}


def conditions(live: Manifest, condition_values: dict[str, tuple[str, str, str]], now: datetime) -> list[Manifest]:
    """Return a kubelet's own conditions as said, and those of others as they are."""
    before = {one["type"]: one for one in live.get("conditions") or ()}
    own = [_condition(kind, before.get(kind), *words, now) for kind, words in condition_values.items()]
    return [*own, *(one for kind, one in before.items() if kind not in condition_values)]


def _condition(
    kind: str, before: Manifest | None, status: str, reason: str, message: str, now: datetime
) -> dict[str, Any]:
    is_same = before is not None and before["status"] == status
    since = before["lastTransitionTime"] if before is not None and is_same else timestamp(now)
    words = {"reason": reason, "message": message}
    details = {key: value for key, value in words.items() if value}
    return {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since, **details}


def _container(container: Container, state: Manifest) -> Manifest:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "restartCount": 0,
        "lastState": {},
        **state,
    }


def init_status(container: Container, now: datetime) -> Manifest:
    moment = timestamp(now)
    if container.restart_policy == "Always":
        return _container(container, {"state": {"running": {"startedAt": moment}}, "ready": True, "started": True})
    end = {"exitCode": 0, "reason": "Completed", "startedAt": moment, "finishedAt": moment}
    return _container(container, {"state": {"terminated": end}, "ready": True, "started": False})


def _restarts(live: Manifest, container: Container) -> int:
    """Return how often a container was started again, which its end does not change."""
    statuses = live.get("containerStatuses") or ()
    return next((status["restartCount"] for status in statuses if status["name"] == container.name), 0)


def _names(pod: Pod) -> Iterable[str]:
    return (container.name for container in pod.spec.containers)
