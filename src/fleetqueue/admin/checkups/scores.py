"""Whether somebody measures the clusters, and whether agents can keep what they promise to jobs with `fence`."""

from collections.abc import Iterator

from fleetqueue.admin.checkups.findings import Finding, RepairStep, by_hand, found
from fleetqueue.admin.checkups.survey import FleetSurvey
from fleetqueue.admin.checkups.system_parts import AgentLease, OwnPart, started
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api.fence import FenceLease
from fleetqueue.api.kueue_v1beta2 import DEFAULT_GRACE
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.controllers.placement_admission.fences import silence_needed
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings

SCORE_AGENT = "score-agent"
COMPONENT = "app.kubernetes.io/component"


def silent_agents(fleet: FleetSurvey) -> Iterator[Finding]:
    managed = fleet.managed
    for score in fleet.all(cluster.AddOnPlacementScore):
        one = managed.get(score.namespace)
        if score.name != SCORE_RESOURCE or one is None or one.is_deleting:
            continue
        fresh = conditions.find(score.status.conditions, FRESH)
        if score.is_expired(fleet.now):
            until = conditions.timestamp(score.status.valid_until) if score.status.valid_until else ""
            yield found(
                "ScoreExpired", score, f"they were valid until {until}", _revive(fleet, one.name), cluster=one.name
            )
        elif fresh is not None and not fresh.is_true:
            yield found(
                "ScoreAgentSilent",
                score,
                fresh.sentence,
                _revive(fleet, one.name),
                cluster=one.name,
            )


def _revive(fleet: FleetSurvey, name: str) -> RepairStep:
    """Say how the agent of a worker comes to life."""
    worker = fleet.worker(name)
    agents = worker.objects.all(OwnPart) if worker else []
    down = [part for part in agents if part.is_down and SCORE_AGENT in part.name]
    if down:
        return started(down[0], name)
    return by_hand(
        f"look at the score agent on {name}: kubectl get deployments -A -l app.kubernetes.io/component={SCORE_AGENT};"
        " does its pod run, and does it reach the hub? Where there is none, install the add-on or the agent"
    )


def fences(fleet: FleetSurvey) -> Iterator[Finding]:
    """Compare the promises of the agents with what Kueue waits for, and look who has stopped to renew."""
    slack = PlacementAdmissionSettings().fence_slack
    for lease in fleet.all(AgentLease):
        managed = fleet.managed.get(lease.namespace)
        promise = FenceLease(lease, lease.written)
        if managed is None or managed.is_deleting or promise.renewal is None:
            continue
        needed = silence_needed(promise.duration, DEFAULT_GRACE, slack)
        if fleet.kueue is not None and needed > fleet.kueue.written.worker_lost_timeout:
            yield _too_long(lease, needed, fleet)
        is_available = conditions.is_true(managed.status.conditions, cluster.AVAILABLE)
        if is_available and lease.written is not None and not promise.is_fresh(fleet.now):
            wrong = f"it was renewed last at {conditions.timestamp(lease.written)}, for {promise.duration:g} s"
            yield found("FenceSilent", lease, wrong, _revive(fleet, managed.name), cluster=managed.name)


def _too_long(lease: AgentLease, needed: float, fleet: FleetSurvey) -> Finding:
    timeout = fleet.kueue.written.worker_lost_timeout if fleet.kueue else 0.0
    duration = lease.spec.lease_duration_seconds
    wrong = (
        f"after {duration} s of its Lease, and the time to stop pods, jobs count as stopped {needed:.0f} s after the"
        f" last renewal; workerLostTimeout is {timeout:.0f} s"
    )
    step = by_hand(
        f"set multiKueue.workerLostTimeout to {needed:.0f}s or more in ConfigMap {fleet.config_map} and restart Kueue,"
        f" or give the agent of {lease.namespace} a shorter fence.after"
    )
    return found("FenceTooLong", lease, wrong, step, cluster=lease.namespace)
