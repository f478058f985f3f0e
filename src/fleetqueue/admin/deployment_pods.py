"""What a Deployment comes to: Kueue queues each of its pods for itself.

Reads: the Deployments of a name, and the pods in their namespaces, as far as they may be listed
"""

from collections.abc import Collection, Iterable

from fleetqueue.admin.hub_state import seen
from fleetqueue.admin.job_names import is_called
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment, ReplicaSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.client import Client


async def workloads_of_deployments(
    hub: Client, name: str, namespace: str, workloads: Collection[kueue.Workload]
) -> list[kueue.Workload]:
    """Return the Workloads of the pods of Deployments that are meant by a name, with its kind or without."""
    found = await seen(hub, Deployment, namespace) or ()
    meant = [one for one in found if is_called(f"{one.resource.kind}/{one.name}", name)]
    pods = [pod for one in meant for pod in await pods_of(hub, one)]
    return of_pods(pods, workloads)


async def pods_of(hub: Client, deployment: Deployment) -> list[Pod]:
    """Return the pods that a Deployment selects and that a ReplicaSet has made."""
    found = await seen(hub, Pod, deployment.namespace) or ()
    return [
        pod
        for pod in found
        if pod.is_active
        and pod.controller is not None
        and pod.controller.kind == ReplicaSet.resource.kind
        and deployment.spec.selector.matches(pod.metadata.labels)
    ]


def of_pods(pods: Iterable[Pod], workloads: Iterable[kueue.Workload]) -> list[kueue.Workload]:
    """Return the Workloads that pods have of their own."""
    uids = {pod.uid for pod in pods}
    return [one for one in workloads if uids & {owner.uid for owner in one.metadata.owner_references}]
