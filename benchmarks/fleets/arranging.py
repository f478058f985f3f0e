"""What a measured fleet needs: queues, checks, a Placement of all its clusters, and jobs that run for an hour."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER
from fleetqueue.client import Client

NAME = "bench"
KUEUE = "kueue-system"
CHECKS = (f"{NAME}-mk", NAME)
"""MultiKueue's, and ours on the Placement of the same name."""
CPUS = 1000
"""Of each worker's queue: one for each job, so that all jobs fit on any worker."""


async def create_queues(client: Client, cpus: int, checks: Sequence[str] = ()) -> None:
    flavor = {"apiVersion": f"{kueue.GROUP}/{kueue.VERSION}", "kind": "ResourceFlavor", "metadata": {"name": NAME}}
    await client.post(f"/apis/{kueue.GROUP}/{kueue.VERSION}/resourceflavors", flavor)
    resources = [{"name": "cpu", "nominalQuota": cpus}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": NAME, "resources": resources}]}
    spec: dict[str, Any] = {"namespaceSelector": {}, "resourceGroups": [group]}
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
    await client.create(kueue.ClusterQueue.resource, kueue.ClusterQueue.manifest(NAME, spec=spec))
    queue = kueue.LocalQueue.manifest(NAME, "default", spec={"clusterQueue": NAME})
    await client.create(kueue.LocalQueue.resource, queue)


async def create_checks(hub: Client) -> None:
    for name, controller, group, kind in (
        (CHECKS[0], kueue.MULTIKUEUE_CONTROLLER, kueue.GROUP, "MultiKueueConfig"),
        (CHECKS[1], CHECK_CONTROLLER, cluster.GROUP, "Placement"),
    ):
        spec = {"controllerName": controller, "parameters": {"apiGroup": group, "kind": kind, "name": NAME}}
        await hub.create(kueue.AdmissionCheck.resource, kueue.AdmissionCheck.manifest(name, spec=spec))


async def create_placement(hub: Client, cluster_set: str, **more: Any) -> None:
    """Bind a set in Kueue's namespace, and choose all its clusters unless `more` of the spec says otherwise."""
    binding = cluster.ManagedClusterSetBinding.manifest(cluster_set, KUEUE, spec={"clusterSet": cluster_set})
    await hub.create(cluster.ManagedClusterSetBinding.resource, binding)
    spec = {"clusterSets": [cluster_set], "tolerations": [{"operator": "Exists"}], **more}
    await hub.create(cluster.Placement.resource, cluster.Placement.manifest(NAME, KUEUE, spec=spec))


async def make_room(worker: Client, name: str) -> None:
    """Let the one node of a worker take all jobs."""
    big = {"cpu": str(2 * CPUS), "pods": str(5 * CPUS)}
    status = {"status": {"capacity": big, "allocatable": big}}
    await worker.merge(Node.resource, f"{name}-control-plane", "", status, subresource="status")


def job(name: str, seconds: int = 3600) -> dict[str, Any]:
    container = {"name": "main", "image": "example.com/sleep", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"fleetqueue.dev/run-for": f"{seconds}s"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {kueue.QUEUE_LABEL: NAME}
    return Job.manifest(name, "default", labels=labels, spec={"suspend": True, "template": template})
