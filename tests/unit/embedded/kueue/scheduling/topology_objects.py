"""Clusters whose pods are placed by topology: nodes in racks, and Workloads that ask for a place."""

from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import HOSTNAME, Topology
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.settings import SchedulingSettings

from .objects import NAMESPACE, condition, flavor, group, local_queue, pod_set, queue, quota, workload

LABELS = {"pool": "tas"}
REQUIRED = {"required": "rack"}


def node(path, cpu="2", *, ready=True, **spec):
    rack, name = path.split("/")
    labels = {"rack": rack, HOSTNAME: name, **LABELS}
    status = {
        "allocatable": {"cpu": cpu, "pods": "10"},
        "conditions": [{"type": "Ready", "status": str(ready), "reason": "R", "message": ""}],
    }
    return Node.view(Node.manifest(name, labels=labels, spec=spec, status=status))


def topology(name="t"):
    levels = [{"nodeLabel": label} for label in ("rack", HOSTNAME)]
    return Topology.view(Topology.manifest(name, spec={"levels": levels}))


def tas_flavor(name="default"):
    return flavor(name, nodeLabels=LABELS, topologyName="t")


def asking(name, count=1, *, cpu="1", topology=REQUIRED, **fields):
    """A Workload that waits and asks for a topology."""
    one = {**pod_set(count=count, requests={"cpu": cpu})}
    if topology is not None:
        one["topologyRequest"] = topology
    return workload(name, one, **fields)


def running(name, *nodes, cpu="1", flavor="default", checks=(), failed=(), delayed="", updates=None, **fields):
    """A Workload that was admitted and has a pod on each of some nodes."""
    slices = [
        {"domainCount": 1, "valuesPerLevel": [{"universal": one}], "podCounts": {"universal": 1}} for one in nodes
    ]
    given = {"name": "main", "flavors": {"cpu": flavor}, "count": len(nodes), "resourceUsage": {"cpu": "1"}}
    if nodes:
        given["topologyAssignment"] = {"levels": [HOSTNAME], "slices": slices}
    if delayed:
        given |= {"delayedTopologyRequest": delayed, "count": 1}
    status = {
        "admission": {"clusterQueue": fields.get("to", "q"), "podSetAssignments": [given]},
        "admissionChecks": [
            {"name": one, "state": "Ready", "podSetUpdates": [{"name": "main", "nodeSelector": updates or {}}]}
            for one in checks
        ],
        "unhealthyNodes": [{"name": one} for one in failed],
    }
    told = [condition("QuotaReserved", "True")] + ([] if delayed else [condition("Admitted", "True")])
    return asking(name, max(1, len(nodes)), cpu=cpu, status=status, conditions=told, version=2, **fields)


def cluster(*nodes, queues=(), workloads=(), checks=(), topologies=("t",), flavors=None, fair=None):
    cache = Cache(SchedulingSettings(fair_sharing=fair))
    cache.set_namespace(NAMESPACE, {})
    for one in flavors or [tas_flavor()]:
        cache.set_flavor(one)
    for one in topologies:
        cache.set_topology(topology(one))
    for one in checks:
        cache.set_check(one)
    for one in nodes:
        cache.set_node(one)
    for one in queues or [queue("q", group(default=quota(100)))]:
        cache.set_cluster_queue(one)
        cache.set_local_queue(local_queue(one.name))
    for one in workloads:
        cache.set_workload(one)
    return cache


RACKS = (node("r1/a"), node("r1/b"), node("r2/c"))
