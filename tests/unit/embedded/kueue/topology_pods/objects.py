"""Builders that speak of Workloads that are placed by topology, and of their pods."""

from contextlib import asynccontextmanager

from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.versions_topology import sliced
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance
from tests.invariants.second_look import managed
from tests.unit.embedded.kueue.scheduling.objects import condition, pod_set, workload_manifest

HOST = "kubernetes.io/hostname"
GATE = {"name": "kueue.x-k8s.io/topology"}
INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
OFFSET = "kueue.x-k8s.io/pod-index-offset"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"


def assignment(*domains, levels=(HOST,)):
    """Pods by domain: `("n1", 2)`, or with more levels `("b1", "r1", 2)`."""
    listed = [{"values": [*values], "count": count} for *values, count in domains]
    return sliced({"levels": [*levels], "domains": listed})


def placed(*domains, name="main", levels=(HOST,), count=None):
    total = sum(domain[-1] for domain in domains) if count is None else count
    return {
        "name": name,
        "count": total,
        "flavors": {"cpu": "default"},
        "resourceUsage": {"cpu": str(total)},
        "topologyAssignment": assignment(*domains, levels=levels),
    }


def admitted_status(*parts, unhealthy=(), to="q"):
    told = [condition("QuotaReserved", "True"), condition("Admitted", "True")]
    nodes = {"unhealthyNodes": [{"name": name} for name in unhealthy]} if unhealthy else {}
    return {"conditions": told, "admission": {"clusterQueue": to, "podSetAssignments": [*parts]}, **nodes}


def asked_set(part, **request):
    made = pod_set(part["name"], count=part["count"], requests={"cpu": "1"})
    return {**made, "topologyRequest": request} if request else made


def admitted_manifest(*parts, unhealthy=(), request=None, **requests):
    """A Workload that was admitted with some assignments; requests are by pod set, or one for all."""
    sets = [asked_set(part, **(requests.get(part["name"]) or request or {})) for part in parts]
    made = workload_manifest("w", *sets)
    return {**made, "status": admitted_status(*parts, unhealthy=unhealthy)}


def pod(name, *, on=None, index=None, of="main", phase="Pending", labels=None, annotations=None):
    """A pod at the gate; `on` is the node that it may run on, once it has left the gate."""
    numbered = {} if index is None else {INDEX: str(index)}
    place = {"schedulingGates": [GATE]} if on is None else {"nodeSelector": {HOST: on}}
    metadata = {
        "name": name,
        "namespace": "team",
        "labels": {"kueue.x-k8s.io/podset": of, **numbered, **(labels or {})},
        "annotations": {"kueue.x-k8s.io/workload": "w", UNCONSTRAINED: "true", **(annotations or {})},
    }
    container = {"name": "c", "image": "i"}
    return {"metadata": metadata, "spec": {"containers": [container], **place}, "status": {"phase": phase}}


@asynccontextmanager
async def alone(world, make):
    """Let one controller of Kueue work, and nobody else: what Workloads say is not judged."""
    cluster, metrics = Cluster("hub", world.fleet.dial(parse(world.fleet.hub.kubeconfig))), Metrics()
    async with managed(Manager(cluster, [make(cluster, metrics, KueueMetrics(metrics.registry))])):
        await advance(2)
        yield
