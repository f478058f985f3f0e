"""The status of a pod whose containers are programs, as a kubelet writes it."""

from collections.abc import Sequence
from datetime import datetime

from fleetqueue.api import durations
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.nodes.pod_statuses import conditions, init_status
from fleetqueue.embedded.nodes.program_life import End, ProgramState


def wanted_status(
    pod: Pod, live: Manifest, states: Sequence[ProgramState], *, host: str, address: str, now: datetime
) -> Manifest:
    """Return what is to be said of a pod by what its containers do."""
    status: Manifest = {
        "phase": phase_of(states),
        "startTime": live.get("startTime") or timestamp(now),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": conditions(live, _said(states), now),
        "containerStatuses": [container_status(pod, state) for state in states],
    }
    if pod.spec.init_containers:
        begun = datetime.fromisoformat(status["startTime"])
        status["initContainerStatuses"] = [init_status(one, begun) for one in pod.spec.init_containers]
    return status


def phase_of(states: Sequence[ProgramState]) -> str:
    if all(state.has_ended for state in states):
        return "Failed" if any(state.last is not None and state.last.code for state in states) else "Succeeded"
    return "Running" if all(state.started or state.last for state in states) else "Pending"


def container_status(pod: Pod, state: ProgramState) -> Manifest:
    return {
        "name": state.name,
        "image": state.image,
        "imageID": "",
        "ready": state.is_ready,
        "started": state.started is not None,
        "restartCount": state.restarts,
        "state": _state(pod, state),
        "lastState": {} if state.last is None or state.has_ended else {"terminated": terminated(state.last)},
    }


def terminated(end: End) -> Manifest:
    outcome = {"exitCode": end.code, "reason": "Error" if end.code else "Completed"}
    times = {"startedAt": timestamp(end.started), "finishedAt": timestamp(end.finished)}
    return {**outcome, **({"message": end.message} if end.message else {}), **times}


def _state(pod: Pod, state: ProgramState) -> Manifest:
    if state.started is not None:
        return {"running": {"startedAt": timestamp(state.started)}}
    if state.has_ended and state.last is not None:
        return {"terminated": terminated(state.last)}
    if state.lacks:
        return {"waiting": {"reason": "CreateContainerConfigError", "message": state.lacks}}
    if not state.pause:
        return {"waiting": {"reason": "ContainerCreating"}}
    name = f"{pod.name}_{pod.namespace}({pod.uid})"
    message = f"back-off {durations.written(round(state.pause))} restarting failed container={state.name} pod={name}"
    return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}


def _said(states: Sequence[ProgramState]) -> dict[str, tuple[str, str, str]]:
    unready = [state.name for state in states if not state.is_ready]
    phase = phase_of(states)
    if phase in ("Succeeded", "Failed"):
        words = ("False", "PodCompleted" if phase == "Succeeded" else "PodFailed", "")
    elif unready:
        words = ("False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    else:
        words = ("True", "", "")
    return {
        "PodReadyToStartContainers": ("True", "", ""),
        "Initialized": ("True", "", ""),
        "Ready": words,
        "ContainersReady": words,
    }
