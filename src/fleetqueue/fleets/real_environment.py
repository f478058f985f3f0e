"""The walkthroughs' environment on a fleet: workers joined, a cluster set, queues, GPUs, our parts at work.

What the walkthroughs' set-up script does in half an hour is done here in seconds, in the same order. Doing it again on
a fleet that has it changes nothing.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from fleetqueue.admin import cluster_sets, dispatcher, joining
from fleetqueue.admin.creation import ensure_namespace
from fleetqueue.admin.waiting import Observed
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node, Secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, NAMESPACE, credentials_secret
from fleetqueue.api.scheme import Resource
from fleetqueue.api.usage_scores import FRESH, GPU, SCORE_RESOURCE
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.fleets.product_processes import run_controller, run_score_agent
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.manifests import example, objects
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kubectl import Kubectl

CLUSTER_SET: Final = "spoke"
GPUS: Final = "3"
WITHOUT_GPUS: Final = frozenset({"cluster1"})
QUEUES: Final = "single-clusterqueue"
QUEUE_NAMES: Final = ("user-queue-demo1", "user-queue-demo2")
REPLICA_SETS: Final = Resource(
    "work.open-cluster-management.io", "v1alpha1", "ManifestWorkReplicaSet", "manifestworkreplicasets"
)
READY_SECONDS: Final = 90.0
"""All of it takes five seconds on two cores; a machine that builds something meanwhile may need many times that."""


async def set_up(fleet: RealFleet) -> None:
    """Make the environment and wait until it is whole."""
    async with opened(fleet.clusters[HUB]) as hub:
        await ensure_namespace(hub, NAMESPACE)
        if await dispatcher.set_ours(hub, KUEUE_NAMESPACE):
            await fleet.restart(f"{HUB}/kueue")
        fleet.report("Kueue on the hub leaves the choice of clusters to fleetqueue")
        await together(run_controller(fleet), prepare_workers(fleet, hub))
        await together(*(run_score_agent(fleet, worker) for worker in fleet.workers()))
        clients = {worker.name: connect(load(worker.kubeconfig)) for worker in fleet.workers()}
        try:
            await wait_until_whole(hub, clients)
        finally:
            for client in clients.values():
                await client.close()
    fleet.report("the workers are joined, reachable for Kueue, and scored")


async def prepare_workers(fleet: RealFleet, hub: Client) -> None:
    """Join the workers, put them into a set, and give them queues and GPUs."""
    await cluster_sets.create_set(hub, CLUSTER_SET)
    await cluster_sets.bind(hub, CLUSTER_SET, "default")
    await together(*(prepare(fleet, hub, worker) for worker in fleet.workers()))
    await Kubectl(fleet.clusters[HUB].kubeconfig).run("apply", "-f", str(example("placement-spoke.yaml")))
    if fleet.settings.ocm == "full":
        await hub.apply(REPLICA_SETS, queues_for_all())
    else:
        await together(*(apply_queues(worker) for worker in fleet.workers()))


async def prepare(fleet: RealFleet, hub: Client, worker: RealCluster) -> None:
    newcomer = joining.Newcomer(worker.name, load(worker.remote_kubeconfig), cluster_set=CLUSTER_SET)
    await joining.join(hub, newcomer, fleet.report)
    async with opened(worker) as client:
        await ensure_namespace(client, NAMESPACE)  # where its agent keeps what it has promised
        if worker.name not in WITHOUT_GPUS:
            await add_gpus(client, worker.name)


async def add_gpus(worker: Client, name: str) -> None:
    """Give the one node of a worker GPUs, as the walkthroughs do by editing its status."""
    amount = {GPU: GPUS}
    patch = {"status": {"capacity": amount, "allocatable": amount}}
    await worker.merge(Node.resource, f"{name}-control-plane", "", patch, subresource="status")


async def apply_queues(worker: RealCluster) -> None:
    await Kubectl(worker.kubeconfig).run("apply", "-f", str(example(f"{QUEUES}.yaml")))


def queues_for_all() -> dict[str, Any]:
    """Build the ManifestWorkReplicaSet with which OCM brings the queues to every worker of the set."""
    return {
        "apiVersion": REPLICA_SETS.api_version,
        "kind": REPLICA_SETS.kind,
        "metadata": {"name": QUEUES, "namespace": "default"},
        "spec": {
            "placementRefs": [{"name": "placement-spoke", "rolloutStrategy": {"type": "All"}}],
            "manifestWorkTemplate": {"workload": {"manifests": objects(f"{QUEUES}.yaml")}},
        },
    }


async def wait_until_whole(hub: Client, workers: Mapping[str, Client], *, are_scored: bool = True) -> None:
    """Wait for credentials and scores of every worker, if somebody scores them, and for its queues."""
    async with Observed({HUB: hub, **workers}) as seen:
        seen.follow(HUB, Secret, namespace=KUEUE_NAMESPACE)
        seen.follow(HUB, cluster.AddOnPlacementScore)
        for name in workers:
            seen.follow(name, kueue.LocalQueue, namespace="default")
        await seen.until(
            lambda: not missing(seen, list(workers), are_scored=are_scored),
            limit=READY_SECONDS,
            what="the environment of the stories",
            why_not=lambda: f"missing: {', '.join(missing(seen, list(workers), are_scored=are_scored))}",
        )


def missing(seen: Observed, workers: list[str], *, are_scored: bool) -> list[str]:
    """Say what is not there yet."""
    hub = seen[HUB]
    lacking = []
    for name in workers:
        if hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE) is None:
            lacking.append(f"credentials of {name}")
        score = hub.get(cluster.AddOnPlacementScore, SCORE_RESOURCE, name)
        if are_scored and (score is None or not conditions.is_true(score.status.conditions, FRESH)):
            lacking.append(f"scores of {name}")
        lacking += [
            f"queue {queue} on {name}"
            for queue in QUEUE_NAMES
            if seen[name].get(kueue.LocalQueue, queue, "default") is None
        ]
    return lacking


@asynccontextmanager
async def opened(cluster: RealCluster) -> AsyncIterator[Client]:
    """Open a cluster of the fleet as its administrator."""
    client = connect(load(cluster.kubeconfig))
    try:
        yield client
    finally:
        await client.close()
