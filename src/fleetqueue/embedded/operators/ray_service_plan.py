"""What a RayService needs next: a RayCluster, and Services that find it when it serves. No I/O.

Nothing is served: each pod of a cluster that is ready counts as one that serves.

Mirrors: kuberay ray-operator/controllers/ray/rayservice_controller.go

Left out: upgrades by a second cluster, so that a change of the spec reaches the cluster that is there; the states of
the applications; and the finalizer, since the garbage collector takes the cluster away.
"""

from typing import Final

from fleetqueue.api import conditions
from fleetqueue.api.condition_lists import is_true, with_conditions
from fleetqueue.api.conditions import Condition, timestamp
from fleetqueue.api.job_kinds import RayCluster, RayService
from fleetqueue.api.meta import replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.children import Service, owned
from fleetqueue.embedded.operators.plan import OperatorPlan, Patch, Seen
from fleetqueue.embedded.operators.ray_names import (
    CLUSTER,
    HEAD,
    NODE_TYPE,
    SERVE,
    head_service_name,
    node_labels,
    origin,
    serve_service_name,
)
from fleetqueue.embedded.operators.ray_objects import head_ports

READY: Final = "Ready"
UPGRADING: Final = "UpgradeInProgress"
INITIALIZING: Final = ("Initializing", "RayService is initializing")
SCALED: Final = ("replicas", "scaleStrategy")
"""What Ray changes of a group when it scales its cluster."""
ACTIVE, PENDING = "activeServiceStatus", "pendingServiceStatus"


def plan(seen: Seen) -> OperatorPlan:
    """Return the next step of a RayService."""
    result = OperatorPlan(dict(seen.status))
    place = ACTIVE if _named(seen, ACTIVE) else PENDING
    name = _named(seen, place) or f"{seen.name}-{seen.draw()}"
    cluster = seen.child("RayCluster", name)
    if _named(seen, place):
        _keep(seen, result, name, cluster)
    serves = cluster is not None and is_true(cluster, "HeadPodReady")
    if serves and cluster is not None:
        _publish(seen, result, cluster)
        place = ACTIVE
    said: Manifest = {"rayClusterName": name}
    if cluster is not None and cluster.get("status"):
        said["rayClusterStatus"] = cluster["status"]
    result.status[ACTIVE], result.status[PENDING] = (said, {}) if place == ACTIVE else ({}, said)
    _judge(seen, result, _endpoints(seen, cluster) if serves else 0)
    return result


def _named(seen: Seen, place: str) -> str:
    return str((seen.status.get(place) or {}).get("rayClusterName", ""))


def _keep(seen: Seen, result: OperatorPlan, name: str, cluster: Manifest | None) -> None:
    """Make the cluster, or give it what the service says now, such as that it is suspended."""
    wanted = seen.job["spec"]["rayClusterConfig"]
    if cluster is None:
        metadata = seen.job["metadata"]
        made = RayCluster.manifest(
            name,
            seen.namespace,
            labels={**(metadata.get("labels") or {}), **origin(seen.name, "RayService")},
            annotations=metadata.get("annotations"),
            spec=wanted,
        )
        result.create.append(owned(seen.job, RayService, made))
        result.say("CreatedRayCluster", f"Created the RayCluster {seen.namespace}/{name}")
    elif patch := replacement(cluster["spec"], _as_scaled(wanted, cluster["spec"])):
        result.change.append((cluster, [Patch({"spec": patch})]))
        result.say("UpdatedRayCluster", f"Updated the active RayCluster {seen.namespace}/{name}")


def _as_scaled(wanted: Manifest, there: Manifest) -> Manifest:
    """Return what a service says of its cluster, with the sizes that the cluster has where Ray itself scales it."""
    if not wanted.get("enableInTreeAutoscaling"):
        return wanted
    sizes = {
        group["groupName"]: {field: group[field] for field in SCALED if field in group}
        for group in there.get("workerGroupSpecs") or ()
    }
    groups = [{**group, **sizes.get(group["groupName"], {})} for group in wanted.get("workerGroupSpecs") or ()]
    return {**wanted, "workerGroupSpecs": groups}


def _publish(seen: Seen, result: OperatorPlan, cluster: Manifest) -> None:
    """Make the Services under which the head, and all that serves, are found."""
    name, ports = cluster["metadata"]["name"], head_ports(cluster["spec"])
    labels = origin(seen.name, "RayService")
    of_head = {**labels, NODE_TYPE: HEAD, "ray.io/identifier": f"{seen.name}-{HEAD}"}
    for service, own, selector, served in (
        (head_service_name(seen.name), of_head, node_labels(name, HEAD), ports),
        (
            serve_service_name(seen.name),
            {**labels, SERVE: f"{seen.name}-serve"},
            {CLUSTER: name, SERVE: "true"},
            [(port, number) for port, number in ports if port.split("-")[0] == "serve"],
        ),
    ):
        if served and seen.child("Service", service) is None:
            spec = {"selector": selector, "ports": [{"name": port, "port": number} for port, number in sorted(served)]}
            made = Service.manifest(service, seen.namespace, labels=own, spec=spec)
            result.create.append(owned(seen.job, RayService, made))
            result.say("CreatedService", f"Created the service {seen.namespace}/{service}")


def _endpoints(seen: Seen, cluster: Manifest | None) -> int:
    """Count the pods that serve."""
    workers = ((cluster or {}).get("status") or {}).get("readyWorkerReplicas", 0)
    return int(workers) + (not seen.job["spec"].get("excludeHeadPodFromServeSvc"))


def _judge(seen: Seen, result: OperatorPlan, endpoints: int) -> None:
    status, generation = result.status, seen.job["metadata"].get("generation", 0)
    told = [Condition.false(READY, *INITIALIZING), Condition.false(UPGRADING, *INITIALIZING)]
    if status.get("conditions"):
        told = []
    if endpoints:
        told = [
            *told[1:],
            Condition.true(READY, "NonZeroServeEndpoints", "Number of serve endpoints is greater than 0"),
        ]
    elif is_true(seen.job, READY):
        told.append(Condition.false(READY, "ZeroServeEndpoints", "Number of serve endpoints dropped to 0"))
    if status[ACTIVE]:
        message = "Active Ray cluster exists and no pending Ray cluster"
        told.append(Condition.false(UPGRADING, "NoPendingCluster", message))
    live = status.get("conditions") or []
    status["conditions"] = with_conditions(live, told, seen.now)
    is_ready = any(one["type"] == READY and one["status"] == conditions.TRUE for one in status["conditions"])
    status["serviceStatus"] = "Running" if is_ready else ""
    status["numServeEndpoints"] = endpoints
    for name in ("serviceStatus", "numServeEndpoints"):
        if not status[name]:
            del status[name]
    status["observedGeneration"] = generation
    if {**status, "lastUpdateTime": ""} != {**seen.status, "lastUpdateTime": ""}:
        status["lastUpdateTime"] = timestamp(seen.now)
