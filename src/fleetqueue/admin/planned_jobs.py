"""Why a job that was not submitted yet would wait, by what it asks for itself. Pure functions.

What its queue, the checks and their Placements say is the same as for a job that is there. What others hold is left
out: that is another matter by the time it is submitted.
"""

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.hub_state import HubState, is_placement_check
from fleetqueue.admin.placement_verdicts import why_not_chosen
from fleetqueue.admin.planned_pods import PlannedPods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import placement_of
from fleetqueue.api.quantity import text
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS


def why_it_would_wait(planned: PlannedPods, queue: kueue.ClusterQueue, hub: HubState) -> Cause | None:
    """Say what of a job itself keeps it from a cluster; None where nothing does, or nobody can tell yet."""
    if planned.unjudged:
        return None
    return (
        _too_large(planned, queue)
        or _without_requests(planned, queue, hub)
        or _pinned(planned.annotations.get(ALLOWED_CLUSTERS, ""), queue, hub)
    )


def _too_large(planned: PlannedPods, queue: kueue.ClusterQueue) -> Cause | None:
    missing = [
        f"{planned.who} asks for {text(amount)} {name}, and ClusterQueue {queue.name} can never give more than"
        f" {text(queue.limits[name])}"
        for name, amount in sorted(planned.needed.items())
        if name in queue.limits and amount > queue.limits[name]
    ]
    step = "ask for less, or give the ClusterQueue more quota"
    return Cause("ExceedsQuota", "; ".join(missing), step) if missing else None


def _without_requests(planned: PlannedPods, queue: kueue.ClusterQueue, hub: HubState) -> Cause | None:
    """Say that Kueue would ask no check about it, since a job without requests gets no flavor to which checks apply."""
    if any(planned.needed.get(name) for name in queue.limits) or not any(
        check.is_multikueue for check in _checks(queue, hub)
    ):
        return None
    return Cause(
        "NotChecked",
        f"{planned.who} asks for nothing that ClusterQueue {queue.name} has a quota for, so Kueue would ask no check"
        " about it, and not send it",
        "give its containers requests",
    )


def _pinned(annotation: str, queue: kueue.ClusterQueue, hub: HubState) -> Cause | None:
    """Say that it allows only clusters that no Placement of its queue offers."""
    allowed = [name.strip() for name in annotation.split(",") if name.strip()]
    named = [placement_of(check) for check in _checks(queue, hub) if is_placement_check(check)]
    placements = [hub.fleet.placement(name, hub.kueue_namespace) for name in named if name]
    if not allowed or not placements or None in placements or hub.fleet.clusters_by_name is None:
        return None
    offered = {name for one in placements if one is not None for name in hub.fleet.chosen(one)}
    if offered & set(allowed):
        return None
    unknown = [name for name in allowed if name not in hub.fleet.clusters_by_name]
    said = [*map(messages.no_such_cluster, unknown)] or [messages.not_selected(allowed[0], named[0])]
    step = f"correct the annotation {ALLOWED_CLUSTERS} of its pod template, or let the Placement choose that cluster"
    offering = [one for one in placements if one is not None]
    cause = Cause("PinnedToNobody", f"no cluster can take it: {'; '.join(said)}", step)
    return cause.with_details(why_not_chosen(allowed, offering, hub.fleet, hub.now))


def _checks(queue: kueue.ClusterQueue, hub: HubState) -> list[kueue.AdmissionCheck]:
    found = ((hub.checks or {}).get(name) for name in queue.checks)
    return [check for check in found if check is not None]
