"""What a fleet needs for jobs of all kinds: queues in three namespaces, priority classes, a Placement, and room."""

from collections.abc import Mapping

from fleetqueue.admin import cluster_sets
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Node
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, KUEUE_NAMESPACE
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.fleets.real_environment import CLUSTER_SET
from fleetqueue.fleets.systems.parts import create_all
from fleetqueue.lab.cluster_names import HUB
from tests import job_kinds

NAME = "kinds"
HERE = "here"
"""A queue of each cluster's own: what is in it stays where it is."""
LABEL = "kinds"
"""The label by which the Placement chooses clusters."""
LONG, SHORT, FAILING = "long", "short", "failing"
"""Namespaces: in each there is one job of every kind, by the same name."""
LOW, HIGH = "low", "high"
CHECKS = {
    f"{NAME}-mk": (kueue.MULTIKUEUE_CONTROLLER, kueue.GROUP, "MultiKueueConfig"),
    NAME: (CHECK_CONTROLLER, cluster.GROUP, "Placement"),
}
ROOM = {"cpu": "900", "memory": "900Gi", "nvidia.com/gpu": "900", "pods": "9000"}


async def arrange(clients: Mapping[str, Client]) -> None:
    for name, client in clients.items():
        await create_all(client, queues(HUB if name == HUB else ""))
        # Also on the hub: what runs there and must not is seen by that it runs.
        room = {"status": {"capacity": ROOM, "allocatable": ROOM}}
        await client.merge(Node.resource, f"{name}-control-plane", "", room, subresource="status")
    hub = clients[HUB]
    await cluster_sets.bind(hub, CLUSTER_SET, KUEUE_NAMESPACE)
    await create_all(hub, placement_and_checks())


def queues(where: str) -> list[Manifest]:
    resources = [{"name": name, "nominalQuota": ROOM[name]} for name in ("cpu", "memory", "nvidia.com/gpu")]
    names = [one["name"] for one in resources]
    groups = [{"coveredResources": names, "flavors": [{"name": NAME, "resources": resources}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups}
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": check} for check in CHECKS]}}
    made = [
        kueue.ResourceFlavor.manifest(NAME, spec={}),
        kueue.ClusterQueue.manifest(NAME, spec={**spec, **(strategy if where == HUB else {})}),
        kueue.ClusterQueue.manifest(HERE, spec=spec),
        *(WorkloadPriorityClass.manifest(name, value=value) for name, value in ((LOW, 10), (HIGH, 1000))),
    ]
    for namespace in (LONG, SHORT, FAILING):
        runtime = job_kinds.training_runtime(namespace)
        short = job_kinds.with_ending_pods(runtime, fails=namespace == FAILING)
        made += [
            Namespace.manifest(namespace),
            kueue.LocalQueue.manifest("queue", namespace, spec={"clusterQueue": NAME}),
            kueue.LocalQueue.manifest(HERE, namespace, spec={"clusterQueue": HERE}),
            runtime if namespace == LONG else short,
        ]
    return made


def placement_and_checks() -> list[Manifest]:
    chosen = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {LABEL: "yes"}}}}
    spec = {"clusterSets": [CLUSTER_SET], "predicates": [chosen]}
    checks = [
        kueue.AdmissionCheck.manifest(
            name, spec={"controllerName": controller, "parameters": {"apiGroup": group, "kind": kind, "name": NAME}}
        )
        for name, (controller, group, kind) in CHECKS.items()
    ]
    return [cluster.Placement.manifest(NAME, KUEUE_NAMESPACE, spec=spec), *checks]


async def choose(hub: Client, *names: str) -> None:
    """Let the Placement choose exactly these clusters."""
    for raw in (await hub.list(cluster.ManagedCluster.resource)).items:
        name = raw["metadata"]["name"]
        labels = {LABEL: "yes" if name in names else None}
        await hub.merge(cluster.ManagedCluster.resource, name, "", {"metadata": {"labels": labels}})
