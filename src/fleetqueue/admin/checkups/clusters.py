"""Whether the clusters of a fleet are there, are who they should be, and know what time it is."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from fleetqueue.admin import inventory
from fleetqueue.admin.checkups.credentials import is_old, missing_credentials
from fleetqueue.admin.checkups.findings import HUB, Finding, RepairStep, by_hand, fleetqueue, found, merged, repaired
from fleetqueue.admin.checkups.survey import FleetSurvey, cluster_of
from fleetqueue.admin.checkups.system_parts import OcmPart, started
from fleetqueue.admin.lost_connections import Way
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CLUSTER_UID
from fleetqueue.runtime.cluster import is_ours

SKEW_SECONDS: Final = 5.0
"""As far as clocks may differ before a score agent corrects its own; an answer tells the time to the second."""


def registrations(fleet: FleetSurvey) -> Iterator[Finding]:
    for managed in fleet.all(cluster.ManagedCluster):
        if managed.is_deleting:
            continue
        if not managed.spec.hub_accepts_client:
            step = merged(managed, {"spec": {"hubAcceptsClient": True}})
            yield found("ClusterNotAccepted", managed, "spec.hubAcceptsClient is false", step, cluster=managed.name)
            continue
        available = conditions.find(managed.status.conditions, cluster.AVAILABLE)
        if available is not None and not available.is_true:
            wrong = available.sentence
            yield found("ClusterUnavailable", managed, wrong, _revive(fleet, managed.name), cluster=managed.name)


def _revive(fleet: FleetSurvey, name: str) -> RepairStep:
    worker = fleet.worker(name)
    down = [part for part in worker.objects.all(OcmPart) if part.is_down] if worker else []
    if down:
        return started(down[0], name)
    return repaired(
        Way(name),
        f"look whether {name} is up, whether the agent in its namespace open-cluster-management-agent runs and reaches"
        " the hub",
    )


def identities(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look who the clusters are, by the uid of their namespace kube-system."""
    managed = fleet.managed
    secrets = [
        s
        for s in fleet.all(Secret)
        if is_ours(s) and cluster_of(s) in managed and CLUSTER_UID in s.metadata.annotations
    ]
    known = sorted((s.metadata.annotations[CLUSTER_UID], cluster_of(s)) for s in secrets)
    for uid, group in groupby(known, key=lambda pair: pair[0]):
        names = [name for _, name in group]
        if uid == fleet.uid:
            for name in names:
                step = fleetqueue("unjoin", name)
                yield found("HubIsWorker", managed[name], "its API server is this hub's", step, cluster=name)
        elif len(names) > 1:
            first, *later = sorted(names, key=lambda name: (str(managed[name].metadata.creation_timestamp), name))
            for name in later:
                wrong = f"it is the same cluster as {first}: kube-system has uid {uid} in both"
                yield found("ClusterJoinedTwice", managed[name], wrong, fleetqueue("unjoin", name), cluster=name)


def left_out(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look for clusters that a check of ours leaves out, for what no other checkup explains."""
    explained = {finding.cluster for finding in (*identities(fleet), *missing_credentials(fleet))}
    for managed in fleet.all(cluster.ManagedCluster):
        if managed.name in explained or managed.is_deleting or not is_old(managed, fleet):
            continue
        for out in inventory.left_out(managed.name, fleet.all(kueue.AdmissionCheck)):
            wrong = f"AdmissionCheck {out['check']} leaves it out: {out['reason']}"
            step = by_hand(f"mend what it says of {managed.name}; the cluster is used at the next look")
            yield found("ClusterLeftOut", managed, wrong, step, cluster=managed.name)


def clocks(fleet: FleetSurvey) -> Iterator[Finding]:
    """Compare the clocks of this machine, of the hub and of the workers, as far as their answers told the time."""
    if fleet.ahead is not None and abs(fleet.ahead) > SKEW_SECONDS:
        yield _skewed(HUB, f"the clock of the hub is {_apart(fleet.ahead)} that of this machine", "the hub or here")
    for worker in fleet.workers:
        if worker.ahead is None or fleet.ahead is None:
            continue
        apart = worker.ahead - fleet.ahead
        if abs(apart) > SKEW_SECONDS:
            yield _skewed(worker.name, f"the clock of {worker.name} is {_apart(apart)} the hub's", f"{worker.name}")
    for managed in fleet.all(cluster.ManagedCluster):
        synced = conditions.find(managed.status.conditions, cluster.CLOCK_SYNCED)
        if synced is not None and synced.status == conditions.FALSE:
            yield _skewed(managed.name, f"its agent's clock differs from the hub's: {synced.message}", managed.name)


def _apart(seconds: float) -> str:
    return f"{abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'}"


def _skewed(cluster_name: str, wrong: str, where: str) -> Finding:
    step = by_hand(f"synchronise the clock of {where} by NTP, and look whether that runs on all of its machines")
    return Finding("ClockSkew", wrong, (step,), cluster_name, "Clock")
