"""What a RayCluster is made of: the head, its workers, and the Service that finds the head.

Mirrors: kuberay ray-operator/controllers/ray/common/{pod,service}.go

Left out: what only a process would read, which is the `ray start` commands, probes, the environment and the containers
that wait for the head.
"""

from decimal import Decimal
from typing import Any

from fleetqueue.api import quantity
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import RayCluster
from fleetqueue.api.quantity import Amounts
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.children import Service, owned
from fleetqueue.embedded.operators.plan import Seen, label
from fleetqueue.embedded.operators.ray_names import (
    CLIENT_PORT,
    CLUSTER,
    DASHBOARD_PORT,
    FROM_KIND,
    GCS_PORT,
    GROUP,
    HEAD,
    HEAD_GROUP,
    METRICS_PORT,
    NODE_TYPE,
    SERVE,
    SERVE_PORT,
    WORKER,
    head_service_name,
    node_labels,
    pod_prefix,
)

DEFAULT_PORTS = {"client": CLIENT_PORT, "gcs-server": GCS_PORT, "dashboard": DASHBOARD_PORT, "serve": SERVE_PORT}


def head_pod(seen: Seen) -> Manifest:
    group = seen.job["spec"]["headGroupSpec"]
    return _pod(seen, group, HEAD, HEAD_GROUP, pod_prefix(seen.name, HEAD))


def worker_pod(seen: Seen, group: Manifest) -> Manifest:
    return _pod(seen, group, WORKER, group["groupName"], pod_prefix(f"{seen.name}-{group['groupName']}", WORKER))


def head_service(cluster: Manifest) -> Manifest:
    name = cluster["metadata"]["name"]
    labels = node_labels(name, HEAD)
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": labels,
        "ports": [
            {"name": port, "port": number, "appProtocol": "tcp"} for port, number in sorted(head_ports(cluster["spec"]))
        ],
    }
    made = Service.manifest(head_service_name(name), cluster["metadata"]["namespace"], labels=labels, spec=spec)
    return owned(cluster, RayCluster, made)


def head_ports(spec: Manifest) -> list[tuple[str, int]]:
    """Return the ports of a cluster's head, by name and number."""
    written = spec["headGroupSpec"]["template"]["spec"]["containers"][0].get("ports") or ()
    named = {port.get("name") or f"{port['containerPort']}-port": port["containerPort"] for port in written}
    return [*{"metrics": METRICS_PORT, **(named or DEFAULT_PORTS)}.items()]


def desired_workers(group: Manifest) -> int:
    """Return how many pods a group shall have."""
    if group.get("suspend"):
        return 0
    least, most = group.get("minReplicas", 0), group.get("maxReplicas")
    replicas = max(group.get("replicas", least), least)
    return int((replicas if most is None else min(replicas, most)) * hosts(group))


def hosts(group: Manifest) -> int:
    return max(int(group.get("numOfHosts", 1)), 1)


def desired_resources(spec: Manifest) -> Amounts:
    """Return what all pods of a cluster ask for."""
    amounts = [_requests(spec["headGroupSpec"]["template"])]
    for group in spec.get("workerGroupSpecs") or ():
        amounts += [_requests(group["template"])] * desired_workers(group)
    return quantity.add(amounts)


def gpus(amounts: Amounts) -> Decimal:
    return sum((amount for name, amount in amounts.items() if name.endswith("gpu")), Decimal(0))


def _requests(template: Manifest) -> Amounts:
    given = [container.get("resources") or {} for container in template["spec"]["containers"]]
    return quantity.add(
        quantity.parse_all({**(each.get("limits") or {}), **(each.get("requests") or {})}) for each in given
    )


def _pod(seen: Seen, group: Manifest, node_type: str, group_name: str, prefix: str) -> Manifest:
    template = group["template"]
    given: dict[str, Any] = template.get("metadata") or {}
    fixed = {CLUSTER: seen.name, NODE_TYPE: node_type, GROUP: group_name}
    labels = {
        **node_labels(seen.name, node_type),
        "ray.io/is-ray-node": "yes",
        **(given.get("labels") or {}),
        **(group.get("labels") or {}),
        **fixed,
    }
    if label(seen.job, FROM_KIND) == "RayService":
        labels[SERVE] = "true"
    made = Pod.manifest(
        prefix + seen.draw(),
        seen.namespace,
        labels=labels,
        annotations=given.get("annotations"),
        spec=template["spec"],
    )
    return owned(seen.job, RayCluster, made)
