"""Whether jobs get through the queues: those of the hub, and those of the same names on each worker."""

from collections.abc import Iterable, Iterator

from fleetqueue.admin.checkups.findings import HUB, Finding, applied, by_hand, found, kubectl, merged
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects, WorkerSurvey
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.fleetqueue import CLUSTER_LABEL
from fleetqueue.controllers.credentials.who_needs_one import clusters_of_member


def sending_queues(fleet: FleetSurvey) -> list[kueue.LocalQueue]:
    """Return the LocalQueues of the hub whose jobs MultiKueue sends to workers."""
    checks = {check.name for check in fleet.all(kueue.AdmissionCheck) if check.is_multikueue}
    queues = {queue.name for queue in fleet.all(kueue.ClusterQueue) if not checks.isdisjoint(queue.checks)}
    return [queue for queue in fleet.all(kueue.LocalQueue) if queue.spec.cluster_queue in queues]


def missing_on_workers(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look for namespaces and LocalQueues that jobs need on each worker to which they can be sent."""
    queues = sending_queues(fleet)
    for worker in fleet.workers:
        reachable = [queue for queue in queues if worker.name in _targets(fleet, queue)]
        if worker.objects.sees(kueue.LocalQueue):
            yield from _missing(worker, reachable)


def _targets(fleet: FleetSurvey, queue: kueue.LocalQueue) -> set[str]:
    """Return the clusters to which jobs of a queue can be sent: those whose MultiKueueClusters its configs list."""
    checks = {check.name: check for check in fleet.all(kueue.AdmissionCheck)}
    cluster_queue = {one.name: one for one in fleet.all(kueue.ClusterQueue)}[queue.spec.cluster_queue]
    references = cluster_queue.spec.admission_checks_strategy.admission_checks
    names = {checks[one.name].config_name for one in references if one.name in checks}
    members = {m for config in fleet.all(kueue.MultiKueueConfig) if config.name in names for m in config.spec.clusters}
    return {name for m in fleet.all(kueue.MultiKueueCluster) if m.name in members for name in clusters_of(m)}


def clusters_of(member: kueue.MultiKueueCluster) -> set[str]:
    """Return the cluster that a MultiKueueCluster leads to, by its label or its secret."""
    labelled = member.metadata.labels.get(CLUSTER_LABEL)
    return {labelled} if labelled else set(clusters_of_member(member))


def _missing(worker: WorkerSurvey, queues: Iterable[kueue.LocalQueue]) -> Iterator[Finding]:
    there = worker.objects.by_key(kueue.LocalQueue)
    lacking = [queue for queue in queues if queue.key not in there]
    namespaces = worker.objects.by_key(Namespace)
    for queue in lacking:
        make = applied(_copy(queue), cluster=worker.name)
        if worker.objects.sees(Namespace) and queue.namespace not in namespaces:
            wrong = f"{worker.name} has no namespace {queue.namespace}, in which the hub has LocalQueue {queue.name}"
            create = kubectl("create", "namespace", queue.namespace, cluster=worker.name)
            yield Finding("NamespaceMissing", wrong, (create, make), worker.name, "Namespace", "", queue.namespace)
        else:
            wrong = f"{worker.name} has no LocalQueue {queue.name} in namespace {queue.namespace}, as the hub has it"
            yield found("LocalQueueMissing", queue, wrong, make, cluster=worker.name)


def _copy(queue: kueue.LocalQueue) -> dict[str, object]:
    return kueue.LocalQueue.manifest(queue.name, queue.namespace, spec={"clusterQueue": queue.spec.cluster_queue})


def states(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look at the queues through which jobs are sent, and at all ClusterQueues of the hub."""
    keys = {queue.key for queue in sending_queues(fleet)}
    for name, objects in fleet.clusters:
        local = [queue for queue in objects.all(kueue.LocalQueue) if queue.key in keys]
        wanted = {queue.spec.cluster_queue for queue in local}
        yield from _of_local_queues(name, objects, local)
        for queue in objects.all(kueue.ClusterQueue):
            if name == HUB or queue.name in wanted:
                yield from _of_cluster_queue(name, objects, queue)
    yield from _without_cluster_queue(HUB, fleet.objects, fleet.all(kueue.LocalQueue))


def _of_local_queues(name: str, objects: SeenObjects, queues: Iterable[kueue.LocalQueue]) -> Iterator[Finding]:
    for queue in queues:
        if queue.is_stopped:
            yield _stopped(name, queue, queue.spec.stop_policy)
    if name != HUB:
        yield from _without_cluster_queue(name, objects, queues)


def _without_cluster_queue(name: str, objects: SeenObjects, queues: Iterable[kueue.LocalQueue]) -> Iterator[Finding]:
    there = {queue.name for queue in objects.all(kueue.ClusterQueue)}
    for queue in queues if objects.sees(kueue.ClusterQueue) else ():
        if queue.spec.cluster_queue not in there:
            wrong = f"there is no ClusterQueue {queue.spec.cluster_queue} on {name}"
            step = by_hand(f"create ClusterQueue {queue.spec.cluster_queue} on {name} with the quota that {name} has")
            yield found("ClusterQueueMissing", queue, wrong, step, cluster=name)


def _of_cluster_queue(name: str, objects: SeenObjects, queue: kueue.ClusterQueue) -> Iterator[Finding]:
    if queue.is_stopped:
        yield _stopped(name, queue, queue.spec.stop_policy)
    flavors = {flavor.name for flavor in objects.all(kueue.ResourceFlavor)}
    wanted = {flavor.name for group in queue.spec.resource_groups for flavor in group.flavors}
    missing = sorted(wanted - flavors) if objects.sees(kueue.ResourceFlavor) else []
    if missing:
        make = applied(*(kueue.ResourceFlavor.manifest(flavor) for flavor in missing), cluster=name)
        wrong = f"there is no ResourceFlavor {', '.join(missing)} on {name}"
        yield found("FlavorMissing", queue, wrong, make, cluster=name)
    active = conditions.find(queue.status.conditions, kueue.ACTIVE)
    if active is None or active.status != conditions.FALSE or missing or queue.is_stopped:
        return
    if name == HUB and active.reason.startswith("AdmissionCheck"):
        return  # told of the check
    wrong = active.sentence
    yield found("QueueInactive", queue, wrong, by_hand(f"do what Kueue on {name} says: {active.message}"), cluster=name)


def _stopped(name: str, queue: kueue.LocalQueue | kueue.ClusterQueue, policy: str) -> Finding:
    wrong = f"spec.stopPolicy is {policy} on {name}"
    return found(
        "QueueStopped", queue, wrong, merged(queue, {"spec": {"stopPolicy": "None"}}, cluster=name), cluster=name
    )
