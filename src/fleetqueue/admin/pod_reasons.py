"""Why pods are not ready: what the scheduler and the kubelet say of them. Pure functions."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.core_v1 import FAILED, POD_SCHEDULED, READY, SUCCEEDED
from fleetqueue.api.scheme import Manifest

MOST: Final = 3
"""How many reasons are told of the pods of one job; they mostly have the same."""


def why_not_ready(pods: Iterable[Manifest]) -> str:
    """Say why pods are not ready, what holds most of them first; empty where all are ready or have succeeded."""
    names: dict[str, list[str]] = {}
    for pod in pods:
        if reason := reason_of(pod):
            names.setdefault(reason, []).append(pod["metadata"]["name"])
    in_order = sorted(names.items(), key=lambda item: -len(item[1]))
    return "; ".join(f"{_called(pods)}: {reason}" for reason, pods in in_order[:MOST])


def reason_of(pod: Manifest) -> str:
    """Say why a pod is not ready; empty where it is, or has succeeded."""
    status = pod.get("status") or {}
    phase, conditions = status.get("phase"), status.get("conditions") or ()
    if phase == SUCCEEDED or any(one["type"] == READY and one["status"] == "True" for one in conditions):
        return ""
    if pod["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    if not pod["spec"].get("nodeName"):
        return without_node(pod)
    every = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    if told := next((text for one in every if (text := _said_of(one))), ""):
        return told
    if phase == FAILED:
        why = status.get("message") or status.get("reason")
        return f"has failed: {why}" if why else "has failed"
    return f"is on node {pod['spec']['nodeName']}, and not ready yet"


def without_node(pod: Manifest) -> str:
    """Say that a pod is on no node yet, and what the scheduler says about it."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    told = next((one.get("message") or one.get("reason") for one in conditions if one["type"] == POD_SCHEDULED), "")
    return f"has no node yet: {told}" if told else "has no node yet"


def _said_of(container: Manifest) -> str:
    """Say what a container waits for, or how it has failed; empty where it runs or has succeeded."""
    state, name = container.get("state") or {}, container["name"]
    if waiting := state.get("waiting"):
        return f"container {name} waits: {_joined(waiting)}" if _joined(waiting) else f"container {name} waits"
    ended = state.get("terminated") or {}
    return f"container {name} has ended with code {ended['exitCode']}" if ended.get("exitCode") else ""


def _joined(waiting: Manifest) -> str:
    return ": ".join(part for part in (waiting.get("reason"), waiting.get("message")) if part)


def _called(names: list[str]) -> str:
    return f"pod {names[0]}" if len(names) == 1 else f"{len(names)} pods, such as {names[0]}"
