"""Judge a fleet by all checkups, and say what could not be looked at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from fleetqueue.admin.checkups import clusters, credentials, installation, monitoring, placements, queues, scores
from fleetqueue.admin.checkups.findings import HUB, Finding, Severity
from fleetqueue.admin.checkups.survey import FleetSurvey, Kind, SeenObjects
from fleetqueue.admin.checkups.system_parts import (
    AgentLease,
    ControllerLease,
    MetricsService,
    OwnPart,
    PrometheusRule,
    ServiceMonitor,
)
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret


class Checkup(NamedTuple):
    find: Callable[[FleetSurvey], Iterator[Finding]]
    needs: tuple[Kind, ...] = ()
    """What of the hub must have been seen: with less it could find what is not so."""


OF_SELECTION: Final[tuple[Kind, ...]] = (
    kueue.AdmissionCheck,
    cluster.Placement,
    cluster.PlacementDecision,
    cluster.ManagedClusterSet,
    cluster.ManagedClusterSetBinding,
)
CHECKUPS: Final = (
    Checkup(installation.missing_kinds),
    Checkup(installation.versions),
    Checkup(installation.kueue_down),
    Checkup(installation.kueue_silent),
    Checkup(installation.controller_silent, (ControllerLease, kueue.AdmissionCheck)),
    Checkup(installation.dispatcher),
    Checkup(placements.named_placements, (kueue.AdmissionCheck, cluster.Placement)),
    Checkup(placements.paired_checks, (kueue.AdmissionCheck, kueue.ClusterQueue)),
    Checkup(placements.inactive_checks, (kueue.ClusterQueue, *OF_SELECTION)),
    Checkup(placements.bound_sets, OF_SELECTION),
    Checkup(placements.selections, OF_SELECTION),
    Checkup(placements.taints, (kueue.AdmissionCheck, cluster.Placement, cluster.ManagedCluster)),
    Checkup(queues.states, (kueue.AdmissionCheck, kueue.ClusterQueue, kueue.LocalQueue)),
    Checkup(
        queues.missing_on_workers,
        (
            kueue.AdmissionCheck,
            kueue.ClusterQueue,
            kueue.LocalQueue,
            kueue.MultiKueueConfig,
            kueue.MultiKueueCluster,
        ),
    ),
    Checkup(clusters.registrations, (cluster.ManagedCluster,)),
    Checkup(clusters.identities, (cluster.ManagedCluster, Secret)),
    Checkup(clusters.left_out, (cluster.ManagedCluster, Secret, kueue.AdmissionCheck)),
    Checkup(clusters.clocks),
    Checkup(
        credentials.missing_credentials,
        (
            kueue.MultiKueueCluster,
            kueue.MultiKueueConfig,
            Secret,
            cluster.ManagedCluster,
            cluster.Placement,
            cluster.PlacementDecision,
            kueue.AdmissionCheck,
        ),
    ),
    Checkup(credentials.lifetimes, (Secret,)),
    Checkup(credentials.refusals, (Secret,)),
    Checkup(credentials.rights, (Secret,)),
    Checkup(credentials.connections, (kueue.MultiKueueCluster, kueue.MultiKueueConfig)),
    Checkup(credentials.members, (kueue.MultiKueueConfig, kueue.MultiKueueCluster)),
    Checkup(credentials.drains, (kueue.MultiKueueConfig, kueue.MultiKueueCluster)),
    Checkup(scores.silent_agents, (cluster.ManagedCluster, cluster.AddOnPlacementScore)),
    Checkup(scores.fences, (cluster.ManagedCluster, AgentLease)),
    Checkup(monitoring.scraping, (PrometheusRule, ServiceMonitor, MetricsService, OwnPart)),
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    findings: tuple[Finding, ...]
    """Errors first, then by cluster, code and object."""
    unseen: tuple[str, ...]
    """What was not looked at, and why."""
    clusters: tuple[str, ...] = ()
    """What was: the hub, and workers by the user's own contexts."""

    def has(self, severity: Severity) -> bool:
        return any(finding.severity is severity for finding in self.findings)


def examine(fleet: FleetSurvey) -> Diagnosis:
    """Judge a fleet."""
    # Of what is looked for in the wrong place, everything else that is said would mislead.
    wanted = [Checkup(installation.kueue_elsewhere)] if any(installation.kueue_elsewhere(fleet)) else CHECKUPS
    able = [checkup for checkup in wanted if fleet.objects.sees(*checkup.needs)]
    findings = [finding for checkup in able for finding in checkup.find(fleet)]
    looked_at = [HUB, *(worker.name for worker in fleet.workers if not worker.unasked)]
    return Diagnosis(tuple(sorted(findings, key=_order)), tuple(dict.fromkeys(unseen(fleet))), tuple(looked_at))


def unseen(fleet: FleetSurvey) -> Iterator[str]:
    """Say what was not looked at."""
    yield from _unseen_kinds(fleet.objects, "the hub")
    if fleet.kueue is None:
        where = f"Kueue's configuration in namespace {fleet.kueue_namespace}, and so what credentials must allow"
        yield f"{where}: it is not there, or may not be read"
    for worker in fleet.workers:
        if worker.unasked:
            yield f"the queues, Kueue and the clock of {worker.name}: {worker.unasked}"
        yield from _unseen_kinds(worker.objects, worker.name)
    for name, answer in fleet.answers.items():
        if answer.unasked:
            yield f"whether Kueue of {_where(name)} answers: {answer.unasked}"
    for proof in fleet.proofs.values():
        if proof.unasked:
            yield f"what the credential of secret {proof.secret} may do: {proof.unasked}"


def _where(name: str) -> str:
    return "the hub" if name == HUB else name


def _unseen_kinds(objects: SeenObjects, where: str) -> Iterator[str]:
    """Say it once for all kinds with the same cause."""
    for why in dict.fromkeys(objects.unseen.values()):
        kinds = dict.fromkeys(str(kind.resource) for kind, cause in objects.unseen.items() if cause == why)
        yield f"{', '.join(kinds)} of {where}: {why}"


def _order(finding: Finding) -> tuple[str, ...]:
    is_worker = "1" if finding.cluster != HUB else "0"
    return finding.severity, is_worker, finding.cluster, finding.code, finding.kind, finding.namespace, finding.name
