"""The objects on the way of a job, from its queue to its worker, and which of them is broken. Pure functions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.admin.hub_state import HubState
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import message_of
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, placement_of
from fleetqueue.api.meta import key_of

WELL: Final = "ok"
BROKEN: Final = "broken"
WAITING: Final = "waiting"
UNSEEN: Final = "not seen"


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One object on the way of a job."""

    kind: str
    name: str
    state: str
    """ok, waiting, broken, or not seen."""
    says: str = ""

    def row(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "state": self.state, "says": self.says}


def queue_links(workload: kueue.Workload, hub: HubState) -> Iterator[ChainLink]:
    name = workload.spec.queue_name
    if hub.local_queues is None:
        yield ChainLink("LocalQueue", name, UNSEEN)
        return
    local = hub.local_queues.get(key_of(workload.namespace, name))
    if local is None:
        yield ChainLink("LocalQueue", name, BROKEN, "does not exist")
        return
    yield ChainLink("LocalQueue", name, BROKEN if local.is_stopped else WELL, "is stopped" if local.is_stopped else "")
    target = local.spec.cluster_queue
    queue = (hub.cluster_queues or {}).get(target)
    if queue is None:
        state = UNSEEN if hub.cluster_queues is None else BROKEN
        yield ChainLink("ClusterQueue", target, state, "" if state == UNSEEN else "does not exist")
        return
    is_active = queue.is_active
    yield ChainLink(
        "ClusterQueue", target, WELL if is_active else BROKEN, message_of(queue.status.conditions, kueue.ACTIVE)
    )


def check_links(names: Iterable[str], workload: kueue.Workload, hub: HubState) -> Iterator[ChainLink]:
    states = {check.name: check for check in workload.status.admission_checks}
    for name in names:
        if hub.checks is None:
            yield ChainLink("AdmissionCheck", name, UNSEEN)
            continue
        check, state = hub.checks.get(name), states.get(name)
        if check is None:
            yield ChainLink("AdmissionCheck", name, BROKEN, "does not exist")
            continue
        if not check.is_active:
            said = message_of(check.status.conditions, kueue.ACTIVE)
            yield ChainLink("AdmissionCheck", name, BROKEN, said or "nobody has looked at it yet")
        elif state is not None and state.state != kueue.READY:
            yield ChainLink("AdmissionCheck", name, WAITING, state.message or state.state)
        else:
            yield ChainLink("AdmissionCheck", name, WELL, state.message if state is not None else "")
        if placement := placement_of(check):
            yield placement_link(placement, hub.kueue_namespace, hub)
            if (found := hub.fleet.placement(placement, hub.kueue_namespace)) is not None:
                yield from set_links(found, hub)
        if check.config_name:
            yield _config_link(check.config_name, hub)


def placement_link(name: str, namespace: str, hub: HubState) -> ChainLink:
    key = key_of(namespace, name)
    placement = hub.fleet.placement(name, namespace)
    if placement is None:
        is_unseen = hub.fleet.placements is None
        return ChainLink("Placement", key, UNSEEN if is_unseen else BROKEN, "" if is_unseen else "does not exist")
    chosen = sorted(hub.fleet.chosen(placement))
    said = message_of(placement.status.conditions, cluster.PLACEMENT_SATISFIED)
    return ChainLink("Placement", key, WELL if chosen else BROKEN, f"chose {', '.join(chosen)}" if chosen else said)


def set_links(placement: cluster.Placement, hub: HubState) -> Iterator[ChainLink]:
    if hub.fleet.bindings is None or hub.fleet.sets is None:
        return
    existing, bound = {one.name for one in hub.fleet.sets}, hub.fleet.bound(placement.namespace)
    for name in placement.spec.cluster_sets or bound:
        if name not in existing:
            yield ChainLink("ManagedClusterSet", name, BROKEN, "does not exist")
        elif name not in bound:
            yield ChainLink("ManagedClusterSet", name, BROKEN, f"is not bound to namespace {placement.namespace}")
        else:
            yield ChainLink("ManagedClusterSet", name, WELL)
    if not placement.spec.cluster_sets and not bound:
        yield ChainLink("ManagedClusterSetBinding", "", BROKEN, f"none in namespace {placement.namespace}")


def _config_link(name: str, hub: HubState) -> ChainLink:
    if hub.configs is None:
        return ChainLink("MultiKueueConfig", name, UNSEEN)
    config = hub.configs.get(name)
    if config is None:
        return ChainLink("MultiKueueConfig", name, BROKEN, "does not exist")
    return ChainLink("MultiKueueConfig", name, WELL, f"lists {', '.join(config.spec.clusters)}")


def worker_links(workload: kueue.Workload, hub: HubState, said: Mapping[str, str]) -> Iterator[ChainLink]:
    """Tell of the clusters that a job is on, or nominated for, and of its queue there.

    What the queue of a worker has left only the dispatcher knows; `said` is what it says of each cluster.
    """
    for name in workload.clusters:
        trouble = hub.trouble(name)
        if hub.members is None:
            yield ChainLink("MultiKueueCluster", name, UNSEEN)
            continue
        yield ChainLink("MultiKueueCluster", name, BROKEN if trouble else WELL, trouble or "connected")
        queue = f"{workload.spec.queue_name} on {name}"
        if trouble:
            yield ChainLink("LocalQueue", queue, UNSEEN)
        elif workload.status.cluster_name == name:
            yield ChainLink("LocalQueue", queue, WELL, "has admitted it")
        else:
            yield ChainLink("LocalQueue", queue, WAITING, said.get(name) or "has not admitted it yet")


def pod_links(workload: kueue.Workload, hub: HubState) -> Iterator[ChainLink]:
    """Tell of the pods of a Job that was admitted, as its status on the hub counts them."""
    job = hub.jobs.get(workload.owner.uid) if workload.owner is not None else None
    if job is None or job.has_ended or not workload.is_true(kueue.ADMITTED):
        return
    wanted = 1 if job.spec.parallelism is None else job.spec.parallelism
    ready = job.status.active if job.status.ready is None else job.status.ready
    ended = f", {job.status.succeeded} succeeded" if job.status.succeeded else ""
    state = WELL if ready or job.status.succeeded else WAITING
    yield ChainLink("Pods", f"of Job {job.name}", state, f"{ready} of {wanted} ready{ended}")


def cluster_links(one: cluster.ManagedCluster, hub: HubState) -> Iterator[ChainLink]:
    available = conditions.find(one.status.conditions, cluster.AVAILABLE)
    is_available = available is not None and available.is_true
    says = available.message if available is not None else "nothing was heard of it yet"
    yield ChainLink("ManagedCluster", one.name, WELL if is_available else BROKEN, says)
    for member in (hub.members or {}).values():
        if member.metadata.labels.get(CLUSTER_LABEL) == one.name:
            trouble = hub.trouble(member.name)
            yield ChainLink("MultiKueueCluster", member.name, BROKEN if trouble else WELL, trouble or "connected")
