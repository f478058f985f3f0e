"""Why a job is where it is: the one cause that comes first, over what was seen of the hub. Pure functions."""

import re
from typing import Final

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.dispatch_causes import step_for_lost, waits_for_lost, why_not_sent
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.job_names import job_name
from fleetqueue.admin.lost_connections import repair_of_unreachable
from fleetqueue.admin.queue_causes import why_no_quota
from fleetqueue.admin.step_commands import CONTEXT, kubectl, patched
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import JOB_NAME, Job
from fleetqueue.api.conditions import message_of
from fleetqueue.api.fleetqueue import placement_of
from fleetqueue.api.kueue_pods import OWNER_NAME
from fleetqueue.api.meta import key_of
from fleetqueue.controllers.placement_admission import messages

CANNOT_BE_ASKED: Final = re.compile(r"([^ ;]+) cannot be asked \(")
"""As the dispatcher says of a cluster from which a job is to be taken away."""


def cause_of(workload: kueue.Workload, hub: HubState) -> Cause:
    """Say why a job is where it is; never nothing."""
    if workload.is_finished:
        return _how_it_ended(workload)
    if workload.is_deleting:
        return Cause("Deleting", "it is being deleted", "wait until its finalizers are taken off")
    if workload.is_leaving:
        return _why_it_leaves(workload, hub)
    if workload.is_true(kueue.ADMITTED):
        return _how_it_runs(workload, hub)
    return why_not_sent(workload, hub) if workload.has_quota else why_no_quota(workload, hub)


def _how_it_ended(workload: kueue.Workload) -> Cause:
    """Tell a failure from a success; Kueue's message need not, and a failed Pod has none."""
    finished = conditions.find(workload.status.conditions, kueue.FINISHED)
    reason, message = (finished.reason, finished.message) if finished is not None else ("", "")
    if reason == kueue.FAILED:
        return Cause("Failed", f"it has failed: {message}" if message else "it has failed", _see_its_logs(workload))
    if reason == kueue.SUCCEEDED:
        return Cause("Succeeded", message or "it has succeeded")
    return Cause("Finished", message or "it has finished")


def _see_its_logs(workload: kueue.Workload) -> str:
    """Say where the logs of a job that has ended are: MultiKueue removes the pods that it sent."""
    command = f"fleetqueue logs {job_name(workload)} -n {workload.namespace}"
    if not workload.clusters:
        return command
    where = f"where {workload.status.cluster_name} keeps old ones, since its pods there are gone"
    return f"read its logs {where}; or create it again, and read them while it runs: {command} -f"


def _why_it_leaves(workload: kueue.Workload, hub: HubState) -> Cause:
    why = message_of(workload.status.conditions, kueue.EVICTED) or "Kueue does not say why"
    note = hub.notes.get(workload.uid, "")
    lost = waits_for_lost(note, hub)
    if lost is not None:
        return Cause(lost.code, f"it is being evicted: {why}", lost.step).with_details(note)
    return Cause("Evicted", f"it is being evicted: {why}", _until_it_has_left(workload, note, hub)).with_details(note)


def _until_it_has_left(workload: kueue.Workload, note: str, hub: HubState) -> str:
    """Say what is missing before a job has left its cluster: an answer, somebody who deletes it, or only time."""
    if messages.DELETE_IT in note:
        return messages.DELETE_IT
    if _lost(workload, hub):
        return step_for_lost(workload, hub)
    unasked = CANNOT_BE_ASKED.search(note)
    if messages.MAY_RUN in note and unasked:
        return repair_of_unreachable(unasked[1], hub).step()
    return "wait until its pods have stopped"


def _how_it_runs(workload: kueue.Workload, hub: HubState) -> Cause:
    message = message_of(workload.status.conditions, kueue.ADMITTED) or "it is admitted"
    problem = (
        _unchecked(workload, hub)
        or _lost(workload, hub)
        or _on_hub(workload, hub)
        or _changed(workload, hub)
        or _not_ready(workload, hub)
    )
    if problem is None:
        return Cause("Admitted", message)
    return Cause(problem.code, f"{message}; {problem.sentence}", problem.step)


def _unchecked(workload: kueue.Workload, hub: HubState) -> Cause | None:
    """Say that Kueue has asked no check, since a job without requests gets no flavor to which checks apply."""
    queue = hub.queue_of(workload)
    checks = [(hub.checks or {}).get(name) for name in (queue.checks if queue is not None else ())]
    if workload.status.admission_checks or not any(check is not None and check.is_multikueue for check in checks):
        return None
    return Cause(
        "NotChecked",
        "Kueue has asked no check about it, since it asks for nothing that its queue has a quota for: it is not sent",
        "give its containers requests, and create it again",
    )


def _lost(workload: kueue.Workload, hub: HubState) -> Cause | None:
    """Say which of a job's clusters cannot be reached."""
    troubles = [f"{member} may be lost: {why}" for member in workload.clusters if (why := hub.trouble(member))]
    return Cause("WorkerLost", "; ".join(troubles), step_for_lost(workload, hub)) if troubles else None


def _on_hub(workload: kueue.Workload, hub: HubState) -> Cause | None:
    """Say that a job runs on the hub though a Placement was to choose a cluster for it."""
    if workload.clusters or not hub.lacks_multikueue(check.name for check in workload.status.admission_checks):
        return None
    return Cause(
        "RunsOnHub",
        messages.runs_on_hub(),
        _with_multikueue_check(workload, hub),
    )


def _with_multikueue_check(workload: kueue.Workload, hub: HubState) -> str:
    """Say how its queue gets the MultiKueue check that it lacks; a command where there is one for its Placement."""
    checks, queue = hub.checks or {}, hub.queue_of(workload)
    named = {placement_of(checks[one.name]) for one in workload.status.admission_checks if one.name in checks}
    fitting = sorted(name for name, check in checks.items() if check.config_name and check.config_name in named)
    if queue is None or not fitting:
        return "add a MultiKueue check to the admissionChecksStrategy of the ClusterQueue, and create the job again"
    path = "/spec/admissionChecksStrategy/admissionChecks/-"
    addition = [{"op": "add", "path": path, "value": {"name": fitting[0]}}]
    return f"{patched(f'clusterqueue {queue.name}', addition)}; and create the job again"


def _changed(workload: kueue.Workload, hub: HubState) -> Cause | None:
    """Say that a set which was sent has another template on the hub: the copy has not, and Kueue may run both."""
    key = key_of(workload.namespace, workload.metadata.annotations.get(OWNER_NAME, ""))
    if not workload.clusters or key not in hub.rolling_out:
        return None
    kind, _, name = job_name(workload).partition("/")
    return Cause(
        "TemplateChanged",
        "its template was changed, which its copy does not follow, and Kueue may run the hub's older pods, too",
        f"{kubectl(workload.namespace)} scale {kind.lower()} {name} --replicas 0; and up again when its pods are gone",
    )


def _not_ready(workload: kueue.Workload, hub: HubState) -> Cause | None:
    """Say that no pod of an admitted job is ready, in Kueue's words where it watches for that.

    Not of a set that was sent: Kueue looks for its pods on the hub, where they wait at the gate.
    """
    step = _see_its_pods(workload, hub)
    ready = conditions.find(workload.status.conditions, kueue.PODS_READY)
    if ready is not None:
        is_noise = ready.is_true or (workload.clusters and OWNER_NAME in workload.metadata.annotations)
        return None if is_noise else Cause("PodsNotReady", ready.message or "not all of its pods are ready", step)
    owners = [owner.uid for owner in workload.metadata.owner_references if owner.controller]
    job = hub.jobs.get(owners[0]) if owners else None
    if job is None or job.has_ended or job.status.ready or (job.status.ready is None and job.status.active):
        return None
    return Cause("PodsNotReady", "its Job shows no ready pod", step)


def _see_its_pods(workload: kueue.Workload, hub: HubState) -> str:
    """Name the command that shows its pods where they are; of a Job it says why they do not start, too."""
    kind, _, name = job_name(workload).partition("/")
    words = f"describe pods -l {JOB_NAME}={name}" if kind == Job.resource.kind else "get pods -o wide"
    member = workload.status.cluster_name
    command = f"{kubectl(workload.namespace, CONTEXT if member else '')} {words}"
    return f"{command}, with your context of {hub.cluster_of(member)}" if member else command
