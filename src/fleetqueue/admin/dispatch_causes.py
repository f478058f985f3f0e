"""Why a job that has quota is not on a cluster yet: pure functions over what was seen of the hub.

What the workers' queues have left only the dispatcher knows. It says so of every cluster, as the message of our check
and in Events, in the words of `candidate_ranking.explain`.
"""

from collections.abc import Iterable
from typing import Final

from fleetqueue.admin.causes import Cause, joined
from fleetqueue.admin.check_causes import SEE_CONTROLLER, first_inactive, unanswered
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.placement_verdicts import why_not_chosen
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, placement_of
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.candidate_lookup import allowed_clusters
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS

RESET: Final = "Reset to Pending after eviction."
"""How Kueue's own message begins on every check of a Workload that it has evicted."""
SEE_CLUSTERS: Final = "`fleetqueue get clusters` shows every connection and why it is refused"
SAID_BY_DISPATCHER: Final = (
    ("there is no such cluster", "PinnedToNobody", f"correct the annotation {ALLOWED_CLUSTERS} of the job"),
    (
        messages.NOT_OFFERED,
        "PinnedToNobody",
        f"correct the annotation {ALLOWED_CLUSTERS} of the job, or let the Placement choose that cluster",
    ),
    ("answers Unauthorized", "CredentialRefused", SEE_CLUSTERS),
    (": not connected", "ClusterNotConnected", SEE_CLUSTERS),
    ("which is not connected", "ClusterNotConnected", SEE_CLUSTERS),
    ("has no LocalQueue", "WorkerQueueMissing", "create the namespace and the LocalQueue on the worker"),
    ("are namespace ", "WorkerQueueMissing", "create the namespace and the LocalQueue on the worker"),
    ("is stopped (spec.stopPolicy)", "WorkerQueueStopped", "set spec.stopPolicy of the worker's queue to None"),
    ("and the job needs", "WorkerQuotaTooSmall", "ask for less, or give the worker's ClusterQueue more quota"),
    (": draining", "ClusterDraining", "let the Placement choose further clusters, or `fleetqueue undrain`"),
    ("the nomination was refused", "NominationRefused", "kubectl get the Workload, and compare it with the message"),
    (
        "its job was not created there",
        "JobRefused",
        "`fleetqueue doctor` names rights that are missing there; else look at its webhooks, and at what the job needs",
    ),
    ("goes where the first Workload", "WaitsForItsGroup", "wait until that one has a cluster, or explain that one"),
    (f": not among {ALLOWED_CLUSTERS}", "PinnedToNobody", f"correct the annotation {ALLOWED_CLUSTERS} of the job"),
)
"""Parts of what the dispatcher says of clusters that cannot take a job, what can be mended first."""


def why_not_sent(workload: kueue.Workload, hub: HubState) -> Cause:
    """Say why a Workload with quota is not admitted yet, the first thing to mend; never nothing."""
    waiting = [check for check in workload.status.admission_checks if check.state != kueue.READY]
    if not waiting:
        return Cause("AboutToBeAdmitted", "all checks are Ready; Kueue is about to admit it", "wait a moment")
    said = _said(waiting)
    all_names = [check.name for check in workload.status.admission_checks]
    lost = waits_for_lost(said) or waits_for_lost(hub.notes.get(workload.uid, ""))
    broken = lost or first_inactive((check.name for check in waiting), hub) or unanswered(all_names, hub)
    if broken is not None:
        return broken
    if cause := _by_dispatcher(_once(said, hub.notes.get(workload.uid, ""))):
        return cause.with_details(_why_not_offered(cause, workload, hub), _lost(workload, hub))
    if said:
        state = next(check for check in waiting if own_message(check) == said)
        step = f"kubectl get admissioncheck {state.name} -o yaml shows who decides over it"
        return Cause("CheckWaits", f"{state.name} is {state.state}: {said}", step)
    return _on_its_way(workload, hub, waiting[0])


def _why_not_offered(cause: Cause, workload: kueue.Workload, hub: HubState) -> str:
    """Say which rule of its Placements dropped the clusters that a job names; empty where that is not its cause."""
    if messages.NOT_OFFERED not in cause.sentence:
        return ""
    checks = [(hub.checks or {}).get(check.name) for check in workload.status.admission_checks]
    found = [hub.fleet.placement(placement_of(check), hub.kueue_namespace) for check in checks if check is not None]
    placements = [placement for placement in found if placement is not None]
    return why_not_chosen(allowed_clusters(workload), placements, hub.fleet, hub.now)


def waits_for_lost(said: str) -> Cause | None:
    """Say that a job which must not run twice waits for a cluster that does not answer."""
    _, found, rest = said.partition(messages.WAITS_FOR)
    if not found or "does not answer since" not in rest:
        return None
    step = "bring the cluster back; or give it up: `fleetqueue unjoin --force`"
    code = "WaitsForFence" if "agent renews" in rest else "WaitsForLostWorker"
    return Cause(code, f"{messages.WAITS_FOR}{rest}", step)


def own_message(check: kueue.CheckState) -> str:
    """Return what a check's controller says; Kueue's own words after an eviction explain nothing."""
    return "" if check.message.startswith(RESET) else check.message


def _said(waiting: Iterable[kueue.CheckState]) -> str:
    """Return what the first check says that says anything: MultiKueue's has no message until a cluster took the job."""
    return next((message for check in waiting if (message := own_message(check))), "")


def _once(said: str, note: str) -> str:
    """Join what the check says with the Event about it; mostly both say the same."""
    return said if note in said else joined(said, note)


def _by_dispatcher(said: str) -> Cause | None:
    sentence = said.removeprefix(messages.check_waits(""))
    for part, code, step in SAID_BY_DISPATCHER:
        if part in said:
            return Cause(code, f"no cluster can take it: {sentence}", step)
    return None


def _on_its_way(workload: kueue.Workload, hub: HubState, check: kueue.CheckState) -> Cause:
    """Say how far dispatching has come where nothing is known to hold it up."""
    nominated, lost = workload.status.nominated_cluster_names, _lost(workload, hub)
    if workload.status.cluster_name:
        standing = f"it is on {workload.status.cluster_name}, which has not said so yet"
    elif nominated:
        standing = f"nominated for {', '.join(nominated)}, not recorded as admitted there yet"
    else:
        standing = "no cluster is nominated yet"
    sentence = f"{check.name} is {check.state}: {standing}"
    if lost:
        return Cause("WorkerLost", f"{sentence}; {lost}", SEE_CLUSTERS)
    if not workload.clusters:
        step = f"wait a moment; where that does not help: {SEE_CONTROLLER}"
        return Cause("NotNominated", joined(sentence, hub.notes.get(workload.uid, "")), step)
    lines = hub.nominations.get(workload.uid, "").split("; ")
    if any(line.startswith(f"{member}: ") and "no room now" in line for member in nominated for line in lines):
        step = f"wait until others end there, or give the worker's ClusterQueue more quota; {_ask_there(workload, hub)}"
        return Cause("WorkerQuotaShort", f"{sentence}: there was no room for it, and it waits until others end", step)
    step = f"wait a moment; where that does not help, see whether Kueue runs there; {_ask_there(workload, hub)}"
    return Cause("Nominated", sentence, step)


def _ask_there(workload: kueue.Workload, hub: HubState) -> str:
    """Name the command that shows what Kueue on a worker says: quota is not all that may keep a job off its nodes."""
    command = f"kubectl --context CONTEXT -n {workload.namespace} describe workload {workload.name}"
    found = {name: (hub.members or {}).get(name) for name in workload.clusters}
    labels = {name: member.metadata.labels if member is not None else {} for name, member in found.items()}
    names = " or ".join(labels[name].get(CLUSTER_LABEL, name) for name in labels)
    return f"what Kueue there says, also of topology, the hub cannot read: `{command}`, with your context of {names}"


def _lost(workload: kueue.Workload, hub: HubState) -> str:
    return "; ".join(f"{member} may be lost: {why}" for member in workload.clusters if (why := hub.trouble(member)))
