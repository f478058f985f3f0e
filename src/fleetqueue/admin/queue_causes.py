"""Why a job has no quota: its queue, the checks of its queue, or what others hold of it. Pure functions."""

from typing import Final

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.check_causes import first_inactive
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.step_commands import GO_ON, created, labelled, patched, removal
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import message_of, timestamp
from fleetqueue.api.meta import key_of

DEACTIVATED: Final = "The workload is deactivated due to "
"""How Kueue's message begins where it has deactivated a Workload itself."""
ONE_OF_EQUALS: Final = "Kueue has not said why: of several equal jobs, it says so of the first alone"
JUST_CREATED: Final = "it was created just now, and Kueue has not looked at it yet"
JUST_NOW_SECONDS: Final = 5.0
"""Kueue looks at a new job within a second or two; if it has said nothing for longer, that has another reason."""
CREATE_AGAIN: Final = "a job for MultiKueue that was created meanwhile must be created again"
"""Kueue's webhook gives a job to MultiKueue when it is created, and only where its queue leads there by then."""
CREATE_TOPOLOGY: Final = (
    "create the Topology that spec.topologyName of the flavor names: `kubectl get resourceflavors -o yaml` shows it"
)
SAID_BY_KUEUE: Final = (
    ("doesn't match ClusterQueue selector", "NamespaceNotAllowed", "change namespaceSelector of the ClusterQueue"),
    ("Pending the preemption", "PreemptionPending", "wait until those have stopped"),
    ("insufficient unused quota", "QuotaShort", "wait until others end, or give the ClusterQueue more quota"),
    ("maximum capacity", "ExceedsQuota", "ask for less, or give the ClusterQueue more quota"),
    (
        "does not contain the requested level",
        "NoFlavorFits",
        "let the job ask for a level that spec.levels of the flavor's Topology has: `kubectl get topologies -o yaml`",
    ),
    (
        "does not support TopologyAwareScheduling",
        "NoFlavorFits",
        "give the ClusterQueue a flavor with spec.topologyName, or take the topology off the job",
    ),
    (
        "supports only TopologyAwareScheduling",
        "NoFlavorFits",
        "let the job ask for a topology, or give the ClusterQueue a flavor without spec.topologyName",
    ),
    ("information missing in TAS cache", "NoFlavorFits", CREATE_TOPOLOGY),
    ("there is no TAS cache information", "NoFlavorFits", CREATE_TOPOLOGY),
    (
        "allows to fit only",
        "NoFlavorFits",
        "wait until others make room on the nodes, or let the job ask for fewer pods or for a wider level",
    ),
    (
        "no topology domains at level",
        "NoFlavorFits",
        "give ready nodes of the flavor the labels of all levels of its Topology: `kubectl get nodes --show-labels`",
    ),
    ("couldn't assign flavors", "NoFlavorFits", "compare the job's node selector and tolerations with the flavors"),
    (
        "is gated by",
        "AdmissionGated",
        f"wait until nobody stands in the annotation {kueue.ADMISSION_GATED_BY} of the job",
    ),
)
"""Parts of Kueue's messages about a Workload without quota, the more telling ones first."""


def why_no_quota(workload: kueue.Workload, hub: HubState) -> Cause:
    """Say why a Workload has no quota, the first thing to mend; never nothing."""
    found = _rejected(workload) or _deactivated(workload) or _queue(workload, hub) or _inactive(workload, hub)
    return found or _waiting(workload, hub)


def _rejected(workload: kueue.Workload) -> Cause | None:
    """Say which check has rejected it: Kueue does not try again by itself."""
    check = next((one for one in workload.status.admission_checks if one.state == kueue.REJECTED), None)
    if check is None:
        return None
    sentence = f"AdmissionCheck {check.name} has rejected it{f': {check.message}' if check.message else ''}"
    return Cause("CheckRejected", sentence, "mend what the check says, then delete the job and create it again")


def _deactivated(workload: kueue.Workload) -> Cause | None:
    if workload.spec.active:
        return None
    _, _, why = message_of(workload.status.conditions, kueue.EVICTED).partition(DEACTIVATED)
    return Cause(
        "Deactivated",
        "it is deactivated (spec.active is false)" + (f": {why}" if why else ""),
        patched(f"workload {workload.name}", {"spec": {"active": True}}, workload.namespace),
    )


def _queue(workload: kueue.Workload, hub: HubState) -> Cause | None:
    """Say what is wrong with the queues themselves."""
    name, namespace = workload.spec.queue_name, workload.namespace
    if not name:
        return Cause("NoQueue", "it names no queue", f"label the job with {kueue.QUEUE_LABEL}, and create it again")
    if hub.local_queues is None:
        return None
    local = hub.local_queues.get(key_of(namespace, name))
    if local is None:
        step = f"create it, or label the job with {kueue.QUEUE_LABEL} of another queue; then create the job again"
        return Cause("LocalQueueMissing", f"there is no LocalQueue {name} in namespace {namespace}", step)
    if local.is_stopped:
        step = f"{patched(f'localqueue {name}', GO_ON, namespace)}; {CREATE_AGAIN}"
        return Cause("LocalQueueStopped", f"LocalQueue {name} is stopped", step)
    if hub.cluster_queues is None:
        return None
    queue = hub.cluster_queues.get(local.spec.cluster_queue)
    if queue is None:
        sentence = f"LocalQueue {name} leads to ClusterQueue {local.spec.cluster_queue}, which does not exist"
        step = f"create it, or let the LocalQueue lead to another one; {CREATE_AGAIN}"
        return Cause("ClusterQueueMissing", sentence, step)
    if queue.is_stopped:
        step = patched(f"clusterqueue {queue.name}", GO_ON)
        return Cause("ClusterQueueStopped", f"ClusterQueue {queue.name} is stopped", step)
    return None


def _inactive(workload: kueue.Workload, hub: HubState) -> Cause | None:
    """Say why the ClusterQueue admits nobody."""
    queue = hub.queue_of(workload)
    if queue is None or queue.is_active:
        return None
    inactive = f"ClusterQueue {queue.name} is inactive"
    missing = sorted(set(queue.flavors) - set(hub.flavors)) if hub.flavors is not None else []
    if missing:
        sentence = f"{inactive}: there is no ResourceFlavor {', '.join(missing)}"
        flavor = kueue.ResourceFlavor.manifest(missing[0], spec={})
        return Cause("FlavorMissing", sentence, f"{created(flavor)}; or take it off the ClusterQueue")
    if cause := first_inactive(queue.checks, hub):
        step = _without_missing_check(queue, hub) if cause.code == "CheckMissing" else cause.step
        return Cause(cause.code, f"{inactive}: {cause.sentence}", step)
    why = message_of(queue.status.conditions, kueue.ACTIVE)
    step = f"kubectl get clusterqueue {queue.name} -o yaml"
    return Cause("ClusterQueueInactive", f"{inactive}: {why}" if why else inactive, step)


def _without_missing_check(queue: kueue.ClusterQueue, hub: HubState) -> str:
    """Say how the check that does not exist is taken off a queue; `first_inactive` names the first by name."""
    missing = min(name for name in queue.checks if name not in (hub.checks or {}))
    path = "/spec/admissionChecksStrategy/admissionChecks"
    command = patched(f"clusterqueue {queue.name}", removal(path, queue.checks.index(missing), "name", missing))
    return f"create it; or take it off the ClusterQueue: `{command}`"


def _labels_asked_for(queue: kueue.ClusterQueue | None) -> dict[str, str]:
    """Return the labels with which a namespace is one of a queue; nothing where labels alone do not decide."""
    selector = queue.spec.namespace_selector if queue is not None else None
    return {} if selector is None or selector.match_expressions else selector.match_labels


def _waiting(workload: kueue.Workload, hub: HubState) -> Cause:
    """Say what a Workload of a queue that admits waits for."""
    queue, until = hub.queue_of(workload), workload.status.requeue_state.requeue_at
    said, evicted = (message_of(workload.status.conditions, kind) for kind in (kueue.QUOTA_RESERVED, kueue.EVICTED))
    if until is not None and until > hub.now:
        sentence = f"it was evicted, and is queued again at {timestamp(until)}"
        return Cause("RequeuedLater", sentence, "wait until then").with_details(evicted)
    is_untouched = not said and not evicted
    if queue is not None and said == f"ClusterQueue {queue.name} is inactive":
        said = ""  # it was; Kueue says something else when it has looked again
    for part, code, step in SAID_BY_KUEUE:
        if part in said:
            labels = _labels_asked_for(queue) if code == "NamespaceNotAllowed" else {}
            command = labelled(f"namespace {workload.namespace}", labels)
            return Cause(code, said, f"{command}; or {step}" if labels else step)
    if said or evicted:
        step = f"kubectl -n {workload.namespace} describe workload {workload.name}"
        return Cause("Pending", said or evicted, step)
    if is_untouched and _is_new(workload, hub):
        return Cause("NotLookedAt", JUST_CREATED, "wait a moment; where that does not help, see whether Kueue runs")
    if queue is None:
        return Cause("NotLookedAt", "no queue has looked at it yet", "see whether Kueue runs")
    step = "wait; `fleetqueue get jobs` shows its position, where Kueue's API for that is on"
    return Cause("Queued", f"it waits in ClusterQueue {queue.name}; {ONE_OF_EQUALS}", step)


def _is_new(workload: kueue.Workload, hub: HubState) -> bool:
    created = workload.metadata.creation_timestamp
    return created is not None and (hub.now - created).total_seconds() < JUST_NOW_SECONDS
