"""Why a job that has quota is not on a cluster yet: pure functions over what was seen of the hub.

What the workers' queues have left only the dispatcher knows. It says so of every cluster, as the message of our check
and in Events, in the words of `candidate_ranking.explain`.
"""

import re
from collections.abc import Iterable
from typing import Final

from fleetqueue.admin.causes import Cause, joined
from fleetqueue.admin.check_causes import first_inactive, unanswered
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.lost_connections import (
    SEE_CONTROLLER,
    meanwhile,
    repair_of,
    repair_of_refused,
    repair_of_unreachable,
)
from fleetqueue.admin.placement_verdicts import why_not_chosen
from fleetqueue.admin.step_commands import CONTEXT, GO_ON, kubectl, patched
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import placement_of
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.candidate_lookup import allowed_clusters
from fleetqueue.controllers.placement_admission.candidate_ranking import JOB_NEEDS, NO_ROOM
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS

RESET: Final = "Reset to Pending after eviction."
"""How Kueue's own message begins on every check of a Workload that it has evicted."""
DRAINS: Final = re.compile(rf"([^ ;]+): {messages.DRAINING}(?:;|$)")
NOT_CONNECTED: Final = re.compile(rf"([^ ;]+)(?:: |, which is ){messages.NOT_CONNECTED}")
REFUSED: Final = re.compile(rf"([^ ;]+): {messages.UNAUTHORIZED}")
STOPPED: Final = re.compile(rf"([^ ;]+): its (\w+) (\S+) {re.escape(messages.STOPPED)}")
MEND_CONNECTION: Final = (
    "look whether the cluster is up and reachable from the hub; `fleetqueue doctor` says more of it"
)
NO_ROOM_THERE: Final = "there was no room for it, and it waits until others end"
CREATE_QUEUE: Final = (
    "create the namespace and the LocalQueue on the worker; `fleetqueue doctor` prints the commands for each of them"
)
CORRECT_PIN: Final = (
    f"correct the annotation {ALLOWED_CLUSTERS} of its Workload; that of its pod template counts only when the job is"
    " created again"
)
SAID_BY_DISPATCHER: Final = (
    (messages.NO_SUCH_CLUSTER, "PinnedToNobody", CORRECT_PIN),
    (
        messages.NOT_OFFERED,
        "PinnedToNobody",
        f"let the Placement choose that cluster, or {CORRECT_PIN}",
    ),
    (
        messages.UNAUTHORIZED,
        "CredentialRefused",
        f"wait until it is replaced; where that does not help: {SEE_CONTROLLER}",
    ),
    (f": {messages.NOT_CONNECTED}", "ClusterNotConnected", MEND_CONNECTION),
    (f"which is {messages.NOT_CONNECTED}", "ClusterNotConnected", MEND_CONNECTION),
    (messages.NO_LOCAL_QUEUE, "WorkerQueueMissing", CREATE_QUEUE),
    (messages.ARE_THEY_THERE, "WorkerQueueMissing", CREATE_QUEUE),
    (messages.STOPPED, "WorkerQueueStopped", "set spec.stopPolicy of the worker's queue to None"),
    (JOB_NEEDS, "WorkerQuotaTooSmall", "ask for less, or give the worker's ClusterQueue more quota"),
    (f": {messages.DRAINING}", "ClusterDraining", "undrain a cluster, or let the Placement choose further ones"),
    (messages.REFUSED, "NominationRefused", "compare the Workload with the message"),
    (
        messages.NOT_CREATED,
        "JobRefused",
        "`fleetqueue doctor` names rights that are missing there; else look at its webhooks, and at what the job needs",
    ),
    (messages.AFTER_THE_FIRST, "WaitsForItsGroup", "wait until that one has a cluster, or explain that one"),
    (f": {messages.not_among()}", "PinnedToNobody", CORRECT_PIN),
)
"""Parts of what the dispatcher says of clusters that cannot take a job, what can be mended first."""


def why_not_sent(workload: kueue.Workload, hub: HubState) -> Cause:
    """Say why a Workload with quota is not admitted yet, the first thing to mend; never nothing."""
    waiting = [check for check in workload.status.admission_checks if check.state != kueue.READY]
    if not waiting:
        return _about_to_be_admitted(workload, hub)
    said = _said(waiting)
    all_names = [check.name for check in workload.status.admission_checks]
    lost = waits_for_lost(said, hub) or waits_for_lost(hub.notes.get(workload.uid, ""), hub)
    broken = lost or first_inactive((check.name for check in waiting), hub) or unanswered(all_names, hub)
    if broken is not None:
        return broken
    if cause := _by_dispatcher(_once(said, hub.notes.get(workload.uid, "")), workload, hub):
        return cause.with_details(_why_not_offered(cause, workload, hub), _lost(workload, hub))
    if said:
        state = next(check for check in waiting if own_message(check) == said)
        step = f"`kubectl get admissioncheck {state.name} -o yaml` shows who decides over it"
        also = _once(said, hub.notes.get(workload.uid, ""))
        return Cause("CheckWaits", f"{state.name} is {state.state}: {also}", step)
    return _on_its_way(workload, hub, waiting[0])


def _about_to_be_admitted(workload: kueue.Workload, hub: HubState) -> Cause:
    """Say what Kueue waits for when all checks are Ready: of a topology, which nodes the worker takes."""
    admission = workload.status.admission
    if admission is None or not any(part.waits_for_topology for part in admission.pod_set_assignments):
        return Cause("AboutToBeAdmitted", "all checks are Ready; Kueue is about to admit it", "wait a moment")
    sentence = "all checks are Ready; its worker has not placed its pods by topology yet, and says so to the hub then"
    step = "wait a moment; or give the flavor there a spec.topologyName, too, and create the job again"
    return Cause("AboutToBeAdmitted", sentence, f"{step}; {_ask_there(workload, hub)}")


def _why_not_offered(cause: Cause, workload: kueue.Workload, hub: HubState) -> str:
    """Say which rule of its Placements dropped the clusters that a job names; empty where that is not its cause."""
    if messages.NOT_OFFERED not in cause.sentence:
        return ""
    checks = [(hub.checks or {}).get(check.name) for check in workload.status.admission_checks]
    found = [hub.fleet.placement(placement_of(check), hub.kueue_namespace) for check in checks if check is not None]
    placements = [placement for placement in found if placement is not None]
    return why_not_chosen(allowed_clusters(workload), placements, hub.fleet, hub.now)


def waits_for_lost(said: str, hub: HubState) -> Cause | None:
    """Say that a job which must not run twice waits for a cluster that does not answer."""
    _, found, rest = said.partition(messages.WAITS_FOR)
    if not found or "does not answer since" not in rest:
        return None
    step = repair_of_unreachable(rest.partition(",")[0], hub).step()
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


def _by_dispatcher(said: str, workload: kueue.Workload, hub: HubState) -> Cause | None:
    sentence = said.removeprefix(messages.check_waits(""))
    for part, code, step in SAID_BY_DISPATCHER:
        if part in said:
            return Cause(code, f"no cluster can take it: {sentence}", _step_for(code, sentence, workload, hub) or step)
    return None


def _step_for(code: str, sentence: str, workload: kueue.Workload, hub: HubState) -> str:
    """Say how what is said of the first cluster is mended; empty where that is the same for every cluster."""
    if code == "CredentialRefused" and (found := REFUSED.search(sentence)):
        return repair_of_refused(found[1], hub).step()
    if code == "ClusterNotConnected" and (found := NOT_CONNECTED.search(sentence)):
        return repair_of(found[1], hub).step()
    if code == "ClusterDraining" and (found := DRAINS.search(sentence)):
        return f"fleetqueue undrain {hub.cluster_of(found[1])}; or let the Placement choose further clusters"
    if code != "WorkerQueueStopped" or not (found := STOPPED.search(sentence)):
        return ""
    _, kind, name = found.groups()
    namespace = workload.namespace if kind == kueue.LocalQueue.resource.kind else ""
    alike = [member for member, *queue in STOPPED.findall(sentence) if queue == [kind, name]]
    command = patched(f"{kind.lower()} {name}", GO_ON, namespace, CONTEXT)
    return f"{command}, with your context of {' or '.join(map(hub.cluster_of, alike))}"


def _on_its_way(workload: kueue.Workload, hub: HubState, check: kueue.CheckState) -> Cause:
    """Say how far dispatching has come where nothing is known to hold it up."""
    nominated, lost = workload.status.nominated_cluster_names, _lost(workload, hub)
    if workload.status.cluster_name:
        standing = f"it is on {workload.status.cluster_name}, which has not said so yet"
    elif nominated:
        standing = f"nominated for {', '.join(nominated)}, not recorded as admitted there yet"
    else:
        standing = "no cluster is nominated yet"
    sentence, note = f"{check.name} is {check.state}: {standing}", hub.notes.get(workload.uid, "")
    if lost:
        return Cause("WorkerLost", joined(sentence, note, lost), step_for_lost(workload, hub))
    if not workload.clusters:
        step = f"wait a moment; where that does not help: {SEE_CONTROLLER}"
        return Cause("NotNominated", joined(sentence, note), step)
    lines = hub.nominations.get(workload.uid, "").split("; ")
    if any(line.startswith(f"{member}: ") and NO_ROOM in line for member in nominated for line in lines):
        step = f"wait until others end there, or give the worker's ClusterQueue more quota; {_ask_there(workload, hub)}"
        return Cause("WorkerQuotaShort", f"{sentence}: {NO_ROOM_THERE}", step).with_details(note)
    step = f"wait a moment; where that does not help, see whether Kueue runs there; {_ask_there(workload, hub)}"
    return Cause("Nominated", joined(sentence, note), step)


def _ask_there(workload: kueue.Workload, hub: HubState) -> str:
    """Name the command that shows what Kueue on a worker says: quota is not all that may keep a job off its nodes."""
    command = f"{kubectl(workload.namespace, CONTEXT)} describe workload {workload.name}"
    names = " or ".join(map(hub.cluster_of, workload.clusters))
    return f"what Kueue there says, also of topology, the hub cannot read: `{command}`, with your context of {names}"


def step_for_lost(workload: kueue.Workload, hub: HubState) -> str:
    """Say what brings back the first cluster of a job that may be lost, and what becomes of the job until then."""
    first = next(member for member in workload.clusters if hub.trouble(member))
    return repair_of(first, hub).step(meanwhile(workload, hub))


def _lost(workload: kueue.Workload, hub: HubState) -> str:
    return "; ".join(f"{member} may be lost: {why}" for member in workload.clusters if (why := hub.trouble(member)))
