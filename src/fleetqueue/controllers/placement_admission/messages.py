"""What users read in conditions and events: pairs of reason and message, equal to upstream's where upstream has one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from fleetqueue.api.conditions import timestamp
from fleetqueue.api.fence import FENCE, LEASE, LOST_WORKER, POLICIES, WAIT
from fleetqueue.api.meta import Object
from fleetqueue.api.running_kueue import RunningKueue, differences
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS, STRATEGY

Said = tuple[str, str]

RESTART_NEEDED: Final = "KueueRestartNeeded"
WAITS_FOR: Final = "waits for "
MAY_RUN: Final = "the job may run there"
NOT_OFFERED: Final = " does not offer"
NO_SUCH_CLUSTER: Final = "there is no such cluster"
NOT_CONNECTED: Final = "not connected"
DRAINING: Final = "draining"
UNAUTHORIZED: Final = "answers Unauthorized"
NO_LOCAL_QUEUE: Final = "has no LocalQueue"
ARE_THEY_THERE: Final = "are namespace "
STOPPED: Final = "is stopped (spec.stopPolicy)"
REFUSED: Final = "the nomination was refused"
NOT_CREATED: Final = "its job was not created there"
AFTER_THE_FIRST: Final = "goes where the first Workload"
DELETE_IT: Final = "delete it and create it again"
LEFT_OUT: Final = "; left out: "
NOT_LOOKED_AT: Final = "was not looked at yet"
NO_MULTIKUEUE_CHECK: Final = "its ClusterQueue has a placement check and no MultiKueue check"
UNTIL_EMPTY: Final = "still listed until empty: "
CANNOT_BE_ASKED: Final = "cannot be asked: "
JUST_DROPPED: Final = "just dropped"
PLACEMENT_PARAMETERS: Final = "apiGroup cluster.open-cluster-management.io, kind Placement, and its name"
"""Parts by which `explain` knows what was said, or which it says in the same words."""

MOST_NAMED: Final = 10
"""Of a thousand clusters that were left out a few are enough; a condition that is too long is refused as a whole."""
LONGEST_REASON: Final = 300
LONGEST_WHY: Final = 100
"""Of what an API or a connection said, where what to do comes after it."""


def generated(
    left_out: Mapping[str, str],
    unusable: Mapping[str, str] | None = None,
    *,
    refused: Mapping[str, str] | None = None,
    missing_kinds: Mapping[str, str] | None = None,
) -> Said:
    """`refused`: what Kueue says of members that it is not connected to; `missing_kinds`: what members lack."""
    message = "MultiKueueConfig and MultiKueueCluster generated"
    if left_out:
        message += f"{LEFT_OUT}{_each(left_out)}"
    if unusable:
        message += f"; listed but unusable now: {_each(unusable)}"
    if refused:
        message += f"; Kueue is not connected: {_each(refused)}"
    if missing_kinds:
        message += (
            f"; Kueue refuses a worker that lacks a kind of its configuration: {_each(missing_kinds)}; install the CRDs"
            " there, or take the kinds off Kueue's configuration and restart Kueue"
        )
    return "Active", message


def check_deleted(draining: Sequence[str]) -> Said:
    return "CheckDeleted", "the check is being deleted, and sends nothing any more" + _kept(draining)


def placement_not_found(placement: str, namespace: str, draining: Sequence[str]) -> Said:
    return "PlacementNotFound", no_placement(placement, namespace) + _kept(draining)


def no_placement(placement: str, namespace: str) -> str:
    return f"Placement {placement} not found in namespace {namespace}"


def no_clusters(placement: str, left_out: Mapping[str, str], draining: Sequence[str]) -> Said:
    message = f"No clusters available for placement {placement}"
    if left_out:
        message += f"{LEFT_OUT}{_each(left_out)}"
    return "NoClustersAvailable", message + _kept(draining)


def why_left_out(message: str, member: str) -> str:
    """Return what such a message says of a member that was left out; empty where it does not name it."""
    return _said_of(member, message.partition(LEFT_OUT)[2])


def _said_of(member: str, listing: str) -> str:
    """Return what stands in brackets behind a name; empty where the name is not there."""
    _, _, rest = f", {listing}".partition(f", {member} (")
    depth = 1
    for position, character in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return rest[:position]
    return rest


def bad_parameters() -> Said:
    return "InvalidParameters", f"spec.parameters must name a Placement: {PLACEMENT_PARAMETERS}"


def config_not_ours(name: str) -> Said:
    return "MultiKueueConfigNotOurs", (
        f"MultiKueueConfig {name} exists and was not made by fleetqueue; give the Placement another name, or delete the"
        " config when no job runs through it and no queue needs it: Kueue loses those that do"
    )


def taken_over() -> Said:
    return "TakenOver", "it was let go by `fleetqueue uninstall --purge`, and fleetqueue keeps it again"


def listed_by_mistake(member: str, why: str) -> Said:
    return (
        "ListedByMistake",
        f"{member}: {why}; Kueue deletes Workloads or running copies because of it: take it off",
    )


def copy_must_go(member: str) -> str:
    return f"its copy on {member} must be removed, or end, before it is started elsewhere"


def pods_are_stopping(members: Sequence[str]) -> str:
    return f"its pods on {', '.join(members)} may still be stopping"


def copy_is_left(member: str) -> str:
    return f"{member} still has its copy, which Kueue did not remove"


def selection_changed(serving: Sequence[str], before: Sequence[str]) -> Said:
    return "SelectionChanged", f"selected {_in_brackets(serving)}, before {_in_brackets(before)}"


def drain_started(member: str) -> Said:
    return "DrainStarted", f"{member} was dropped and stays listed until empty"


def drain_ended(member: str) -> Said:
    return "DrainEnded", f"{member} holds nothing any more and was unlisted"


def draining(held: Mapping[str, str]) -> Said:
    return "ClustersDraining", f"{UNTIL_EMPTY}{_each(held)}"


def what_drains(message: str, member: str) -> str:
    """Return what such a message says is still on a member; empty where it does not name it."""
    return _said_of(member, message.partition(UNTIL_EMPTY)[2])


def left_behind(cluster: str, workloads: Sequence[str]) -> str:
    """Say why a cluster that comes back is not listed yet."""
    return (
        f"it has old copies of jobs that are elsewhere now, such as Workload {workloads[0]} ({len(workloads)} in all):"
        f" delete these jobs on {cluster}, or wait until they have ended on the hub"
    )


def left_and_silent(why: str, seconds: float) -> str:
    return (
        f"{why[:LONGEST_WHY]}; its ManagedCluster is gone or another cluster's: join it again to let the drain go on,"
        f" or `fleetqueue unjoin --force` it; it is given up after {seconds:g} s of silence"
    )


def restart_needed(kueue: RunningKueue, config_map: str, deployment: str, ours: str) -> Said:
    """Say that Kueue does not run with what is written, what that means, and what to do."""
    if not kueue.is_known:
        what = "what it runs with is not known"
    else:
        what = f"{', '.join(differences(kueue.written, kueue.running))} is not in force yet"
    if not kueue.may_leave_nominations_to(ours):
        then = "fleetqueue does not dispatch before that"
    else:
        then = "fleetqueue goes on nominating until then"
    namespace = config_map.partition("/")[0]
    return RESTART_NEEDED, (
        f"ConfigMap {config_map} was changed after Kueue had started ({_some(kueue.outdated)}), and Kueue reads it only"
        f" then: {what}; {then}; restart Kueue (kubectl -n {namespace} rollout restart deployment {deployment}), or"
        " revert the change"
    )


def restart_not_seen(config_map: str) -> Said:
    """Say that nobody can tell whether Kueue still waits for us."""
    return RESTART_NEEDED, (
        f"ConfigMap {config_map} does not name fleetqueue any more, and no Deployment of Kueue is found, so nobody can"
        " see here whether Kueue was restarted since; fleetqueue goes on nominating in doubt; restart Kueue, and then"
        " fleetqueue's controller"
    )


def other_dispatcher(name: str, config_map: str) -> Said:
    return "OtherDispatcher", (
        f"Kueue dispatches by {name}: a draining cluster can win new jobs, so a drain may not end, and jobs are not"
        " sent to the best cluster first; set multiKueue.dispatcherName to fleetqueue.dev/dispatcher in the ConfigMap"
        f" {config_map}"
    )


def waits_for_silent(member: str, since: datetime, policy: str, *, is_ours: bool) -> str:
    """Say which silent cluster a job that must not run twice waits for, and how somebody can end that."""
    asked = f"{LOST_WORKER} is {policy!r}"
    if policy == FENCE:
        asked += ", but no agent has promised to stop it (no fresh Lease when it was sent, or that Lease is gone)"
    elif policy != WAIT:
        asked = unknown_policy(policy)
    end = "`fleetqueue unjoin --force` gives the cluster up"
    if not is_ours:
        end = "the MultiKueueCluster is deleted and taken off its config"
    return f"{_may_run_on(member, since)}; {asked}: until it answers, or {end}"


def waits_for_fence(member: str, since: datetime, until: datetime | None) -> str:
    """Say until when a job waits for the agent of a silent cluster; None where that agent renews its Lease."""
    if until is None:
        when = f"until it answers: its agent renews Lease {LEASE}, so the job may go on there"
    else:
        when = f"elsewhere at {timestamp(until)} unless its agent renews Lease {LEASE}"
    return f"{_may_run_on(member, since)}; {LOST_WORKER} is {FENCE!r}: {when}"


def is_wait_for_cluster(message: str) -> bool:
    """Tell whether a check's message says that a job waits for a cluster that may run it."""
    return message.startswith(check_waits(WAITS_FOR))


def _may_run_on(member: str, since: datetime) -> str:
    return f"{WAITS_FOR}{member}, which may run it and does not answer since {timestamp(since)}"


def cannot_be_asked(member: str, error: str, waits: str) -> str:
    return waits or f"{member} cannot be asked ({error}); {MAY_RUN}"


def stopped_there(member: str) -> str:
    return f"{member} is silent for so long that its agent has stopped the job; it may be started elsewhere"


def unknown_policy(policy: str) -> str:
    return f"{LOST_WORKER} is {policy!r}, which is none of {', '.join(POLICIES)}, and taken for {WAIT}"


def not_fenced(members: Sequence[str]) -> Said:
    """Say that a job was sent to a cluster whose agent did not promise to stop it."""
    return "NoFreshLease", (
        f"no agent keeps Lease {LEASE} of {_some(members)} fresh, so if the cluster is lost, the job waits for it to"
        " answer; install the score agent there, or look at why it does not renew"
    )


def fenced(members: Sequence[str]) -> Said:
    return "Promised", f"the agent of {_some(members)} stops the job before it is started elsewhere"


def other_dispatcher_waits() -> Said:
    return "OtherDispatcher", (
        "Kueue does not leave nominations to fleetqueue, so if its cluster is lost, the job waits for it to answer"
    )


def held_for(error: str, workloads: Sequence[str]) -> str:
    return (
        f"{error[:LONGEST_WHY]}; {_some(workloads)} may be there and must not run twice; `fleetqueue unjoin --force`"
        " gives the cluster up"
    )


def check_ready(placement: str, clusters: int) -> str:
    return f"placement {placement} selects {clusters} cluster{'s' if clusters != 1 else ''}"


def check_not_looked_at() -> str:
    return f"the check {NOT_LOOKED_AT}"


def none_connected() -> str:
    return "none of the selected clusters is connected"


def check_waits(why: str) -> str:
    return f"waiting: {why}"


def taken_back(members: Sequence[str]) -> str:
    return f"taken back from {', '.join(members)}, which {'is' if len(members) == 1 else 'are'} being drained"


def taken_back_for(members: Sequence[str], better: str) -> str:
    return f"taken back from {', '.join(members)}, where it was not admitted; {better} is next"


def job_not_created(member: str, since: datetime | None) -> str:
    when = f" since {timestamp(since)}" if since is not None else ""
    return (
        f"admitted on {member}{when}, but {NOT_CREATED}: the log of Kueue on the hub says why; look at"
        f" the webhooks of {member}, and at what the job needs there"
    )


def taken_back_refused(member: str, better: str) -> str:
    return f"taken back from {member}, which has admitted it and where its job could not be created; {better} is next"


def nobody_else(note: str) -> str:
    return f"{note}; no other cluster could take it"


def cannot_be_taken_back(note: str) -> str:
    return f"{note}; its ClusterQueue has no placement check with which it could be taken back"


def stays_nominated(members: Sequence[str]) -> str:
    return (
        f"it must not run twice, so it is nominated for one cluster at a time and stays on {', '.join(members)}: its"
        " ClusterQueue has no placement check with which it could be taken back"
    )


def drain_timed_out(member: str) -> str:
    return f"taken back from {member}: it was dropped, and the drain timeout has passed"


def drain_forced(member: str) -> str:
    return f"taken back from {member}: it was given up with `fleetqueue unjoin --force`"


def runs_on_hub() -> str:
    return f"{NO_MULTIKUEUE_CHECK}, so it runs on the hub"


def no_multikueue_check() -> str:
    return f"{runs_on_hub()}; add one to the queue"


def waits_for_first() -> str:
    return f"it {AFTER_THE_FIRST} of its job goes, which has no cluster yet"


def group_is_on(member: str) -> str:
    return f"the other Workloads of its job are on {member}"


def group_is_unreachable(member: str) -> str:
    return f"{group_is_on(member)}, which is {NOT_CONNECTED}"


def group_is_leaving(member: str) -> str:
    return f"the other Workloads of its job are being taken back from {member}"


def slice_is_on(member: str) -> str:
    return f"the slice whose place it takes is on {member}, which is {NOT_CONNECTED}"


def unknown_strategy(value: str) -> str:
    return f"{STRATEGY} is {value!r}, which is neither spread nor pack; jobs are spread"


def nomination_refused(message: str) -> str:
    return f"{REFUSED} again for the same cause: {message}"


def no_such_cluster(name: str) -> str:
    return f"{ALLOWED_CLUSTERS} names {name}, and {NO_SUCH_CLUSTER}"


def not_among() -> str:
    return f"not among {ALLOWED_CLUSTERS}"


def not_selected(name: str, placement: str) -> str:
    return f"{ALLOWED_CLUSTERS} names {name}, which placement {placement}{NOT_OFFERED}"


def not_brought(members: Sequence[str], namespace: str, queue: str) -> str:
    return (
        f"Kueue has not brought it to {_some(members)}, and nobody else can be nominated; {ARE_THEY_THERE}{namespace}"
        f" and LocalQueue {queue} there?"
    )


def credential_refused(secret: str) -> str:
    return f"{UNAUTHORIZED} to the credential of secret {secret}, which is replaced as soon as that can be done"


def no_local_queue(namespace: str, name: str) -> str:
    return f"{NO_LOCAL_QUEUE} {name} in namespace {namespace}"


def queue_stopped(queue: Object) -> str:
    return f"its {queue.resource.kind} {queue.name} {STOPPED}"


def eviction_finished(unasked: Sequence[str]) -> str:
    return (
        f"{_no_copy(unasked)}, but Kueue had not noticed; its Job now says that it has stopped, and Kueue can queue it"
        " again"
    )


def deletion_finished() -> str:
    return "no cluster has a copy any more, and its Job says so: Kueue can let it go, and queue the Job again"


def eviction_ended_early() -> str:
    return "its cluster does not answer; its Job says that it has stopped, so that it can go on there when it answers"


def eviction_stuck(job: str, unasked: Sequence[str]) -> str:
    return (
        f"it is evicted and {_no_copy(unasked)}, but Kueue still waits for {job} to stop and holds its quota;"
        f" {DELETE_IT}"
    )


def _no_copy(unasked: Sequence[str]) -> str:
    """Say that no copy is left, as far as clusters could be asked."""
    if not unasked:
        return "no cluster has a copy any more"
    return (
        f"no cluster that answers has a copy any more ({_some(unasked)}: given up unasked, the job may still run there)"
    )


def _each(parts: Mapping[str, str]) -> str:
    return _some([f"{name} ({why[:LONGEST_REASON]})" for name, why in sorted(parts.items())])


def _kept(draining: Sequence[str]) -> str:
    return f"; running work goes on in {_some(draining)}" if draining else ""


def _in_brackets(members: Sequence[str]) -> str:
    return f"[{' '.join(members)}]" if members else "none"


def _some(parts: Sequence[str]) -> str:
    more = len(parts) - MOST_NAMED
    return ", ".join(parts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
