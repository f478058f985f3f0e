"""What a RayCluster needs next, and what it says of itself. No I/O.

Mirrors: kuberay ray-operator/controllers/ray/raycluster_controller.go

Left out: autoscaling by Ray, upgrades that make all pods anew, and the cleanup of fault-tolerant clusters in Redis.
"""

from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.api import conditions, quantity
from fleetqueue.api.condition_lists import condition_status, is_true, with_conditions
from fleetqueue.api.conditions import Condition, timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.plan import OperatorPlan, Seen, label, phase
from fleetqueue.embedded.operators.ray_names import GROUP, HEAD, NODE_TYPE, head_service_name
from fleetqueue.embedded.operators.ray_objects import (
    desired_resources,
    desired_workers,
    gpus,
    head_pod,
    head_ports,
    head_service,
    hosts,
    worker_pod,
)

HEAD_READY: Final = "HeadPodReady"
PROVISIONED: Final = "RayClusterProvisioned"
SUSPENDING: Final = "RayClusterSuspending"
SUSPENDED: Final = "RayClusterSuspended"
READY_STATE, SUSPENDED_STATE = "ready", "suspended"
UNBOUNDED: Final = 2**31 - 1


def plan(seen: Seen) -> OperatorPlan:
    """Return what is to be done about a RayCluster."""
    result = OperatorPlan(dict(seen.status))
    if seen.child("Service", head_service_name(seen.name)) is None:
        result.create.append(head_service(seen.job))
    _keep_pods(seen, result)
    _count(seen, result.status)
    _judge(seen, result)
    return result


def _keep_pods(seen: Seen, result: OperatorPlan) -> None:
    """Make and delete pods; a suspension that has begun is carried through before anything else is."""
    pods = seen.children["Pod"]
    if condition_status(seen.status, SUSPENDING) == conditions.TRUE:
        if [pod for pod in pods if result.remove(pod)]:
            result.say("DeletedPod", f"Deleted Pods for RayCluster {seen.key} due to suspension")
        return
    if condition_status(seen.status, SUSPENDED) == conditions.TRUE or seen.job["spec"].get("suspend"):
        return
    heads = _of_type(pods, HEAD)
    if _remove_ended(result, heads, "DeletedHeadPod", "head"):
        return
    if not heads:
        result.create.append(head_pod(seen))
        name = result.create[-1]["metadata"]["name"]
        result.say("CreatedHeadPod", f"Created head Pod {seen.namespace}/{name}")
    for group in seen.job["spec"].get("workerGroupSpecs") or ():
        _keep_group(seen, result, group)


def _keep_group(seen: Seen, result: OperatorPlan, group: Manifest) -> None:
    pods = [pod for pod in seen.children["Pod"] if label(pod, GROUP) == group["groupName"]]
    if _remove_ended(result, pods, "DeletedWorkerPod", "worker"):
        return
    named = (group.get("scaleStrategy") or {}).get("workersToDelete") or ()
    kept = [pod for pod in pods if pod["metadata"]["name"] not in named]
    wanted = desired_workers(group)
    doomed = [*(pod for pod in pods if pod not in kept), *kept[: max(len(kept) - wanted, 0)]]
    for pod in doomed:
        if result.remove(pod):
            result.say("DeletedWorkerPod", f"Deleted Pod {seen.namespace}/{pod['metadata']['name']}")
    for _ in range(wanted - len(kept)):
        result.create.append(worker_pod(seen, group))
        name = result.create[-1]["metadata"]["name"]
        result.say("CreatedWorkerPod", f"Created worker Pod {seen.namespace}/{name}")


def _remove_ended(result: OperatorPlan, pods: Sequence[Manifest], reason: str, node_type: str) -> bool:
    """Delete pods that will not run again; others take their place when they have gone."""
    ended = [pod for pod in pods if phase(pod) in ("Succeeded", "Failed")]
    for pod in ended:
        if result.remove(pod):
            where, policy = _key(pod), pod["spec"].get("restartPolicy", "")
            note = f"Deleted {node_type} Pod {where}; Pod status: {phase(pod)}; Pod restart policy: {policy}"
            result.say(reason, note)
    return bool(ended)


def _count(seen: Seen, status: Manifest) -> None:
    spec, pods = seen.job["spec"], seen.children["Pod"]
    groups = [group for group in spec.get("workerGroupSpecs") or () if not group.get("suspend")]
    workers = [pod for pod in pods if label(pod, NODE_TYPE) == "worker"]
    running = [pod for pod in workers if phase(pod) == "Running"]
    amounts = desired_resources(spec)
    numbers = {
        "desiredWorkerReplicas": sum(map(desired_workers, groups)),
        "minWorkerReplicas": sum(group.get("minReplicas", 0) * hosts(group) for group in groups),
        "maxWorkerReplicas": min(
            sum(group.get("maxReplicas", UNBOUNDED) * hosts(group) for group in groups), UNBOUNDED
        ),
        "availableWorkerReplicas": len(running),
        "readyWorkerReplicas": sum(is_true(pod, "Ready") for pod in running),
        "observedGeneration": seen.job["metadata"].get("generation", 0),
    }
    asked = {"CPU": "cpu", "Memory": "memory", "TPU": "google.com/tpu"}
    for name, resource in asked.items():
        status[f"desired{name}"] = quantity.text(amounts.get(resource, quantity.parse(0)))
    status["desiredGPU"] = quantity.text(gpus(amounts))
    for name, number in numbers.items():
        _set(status, name, number)
    status["endpoints"] = {name: str(port) for name, port in sorted(head_ports(spec))}
    head = _head(pods)
    where = {
        "podIP": (head.get("status") or {}).get("podIP", "") if head else "",
        "podName": head["metadata"]["name"] if head else "",
        "serviceIP": (head.get("status") or {}).get("podIP", "") if head else "",
        "serviceName": head_service_name(seen.name),
    }
    status["head"] = {name: value for name, value in where.items() if value}


def _judge(seen: Seen, result: OperatorPlan) -> None:
    """Say whether all pods are there, and how far a suspension has come."""
    status, pods, suspends = result.status, seen.children["Pod"], bool(seen.job["spec"].get("suspend"))
    all_ready = bool(pods) and all(phase(pod) == "Running" and is_true(pod, "Ready") for pod in pods)
    state = status.get("state", "")
    if all_ready and not result.delete and len(pods) == status.get("desiredWorkerReplicas", 0) + 1:
        state = READY_STATE
    if suspends and not pods:
        state = SUSPENDED_STATE
    told = [_head_ready(_head(pods)), *_suspension(seen, all_ready=all_ready)]
    status["conditions"] = with_conditions(status.get("conditions") or [], told, seen.now)
    if state != status.get("state", ""):
        status["state"] = state
        status["stateTransitionTimes"] = {**(status.get("stateTransitionTimes") or {}), state: timestamp(seen.now)}
    if {**status, "lastUpdateTime": ""} != {**seen.status, "lastUpdateTime": ""}:
        status["lastUpdateTime"] = timestamp(seen.now)


def _suspension(seen: Seen, *, all_ready: bool) -> list[Condition]:
    live, suspends = seen.status, bool(seen.job["spec"].get("suspend"))
    is_suspending = condition_status(live, SUSPENDING) == conditions.TRUE
    is_suspended = condition_status(live, SUSPENDED) == conditions.TRUE
    told = []
    if condition_status(live, PROVISIONED) != conditions.TRUE and not is_suspended:
        told.append(
            _provisioned() if all_ready else _provisioning("RayCluster Pods are being provisioned for first time")
        )
    if is_suspending:
        if not seen.children["Pod"]:
            told += [_provisioning("RayCluster has been suspended"), _no(SUSPENDING), _yes(SUSPENDED)]
    elif is_suspended:
        told += [] if suspends else [_no(SUSPENDED)]
    else:
        told += [_no(SUSPENDED), _yes(SUSPENDING) if suspends else _no(SUSPENDING)]
    return told


def _head_ready(head: Manifest | None) -> Condition:
    if head is None:
        return Condition.false(HEAD_READY, "HeadPodNotFound", "Head Pod not found")
    ready = next((one for one in head.get("status", {}).get("conditions") or () if one["type"] == "Ready"), None)
    if ready is None:
        return Condition.false(HEAD_READY, "Unknown", "")
    default = "HeadPodRunningAndReady" if ready["status"] == conditions.TRUE else "Unknown"
    return Condition(
        type=HEAD_READY,
        status=ready["status"],
        reason=ready.get("reason") or default,
        message=ready.get("message", ""),
    )


def _provisioned() -> Condition:
    return Condition.true(PROVISIONED, "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time")


def _provisioning(message: str) -> Condition:
    return Condition.false(PROVISIONED, "RayClusterPodsProvisioning", message)


def _yes(kind: str) -> Condition:
    return Condition.true(kind, kind, "")


def _no(kind: str) -> Condition:
    return Condition.false(kind, kind, "")


def _of_type(pods: Sequence[Manifest], node_type: str) -> list[Manifest]:
    return [pod for pod in pods if label(pod, NODE_TYPE) == node_type]


def _head(pods: Sequence[Manifest]) -> Manifest | None:
    return next(iter(_of_type(pods, HEAD)), None)


def _key(pod: Manifest) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _set(status: dict[str, Any], name: str, number: int) -> None:
    """Write a number; none is written as none."""
    if number:
        status[name] = number
    else:
        status.pop(name, None)
