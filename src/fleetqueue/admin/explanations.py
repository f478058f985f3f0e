"""What `explain` tells: the cause, the chain of objects that leads to it, and what is known of each cluster.

Pure functions over what was seen of the hub.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.admin.causes import Cause, joined
from fleetqueue.admin.chains import (
    ChainLink,
    check_links,
    cluster_links,
    placement_link,
    pod_links,
    queue_links,
    set_links,
    worker_links,
)
from fleetqueue.admin.check_causes import MEND_LEFT_OUT
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.inventory import checks_of, left_out, verdict_row
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.admin.job_names import job_name
from fleetqueue.admin.lost_connections import SEE_CONTROLLER, Way, given_up, look_at_agent, repair_of
from fleetqueue.admin.placement_verdicts import ClusterVerdict, ScorePart, verdicts, why_none
from fleetqueue.admin.step_commands import patched
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL, DRAIN_TAINT, placement_of
from fleetqueue.api.meta import key_of
from fleetqueue.api.usage_scores import FRESH
from fleetqueue.controllers.placement_admission.candidate_ranking import facts_of
from fleetqueue.controllers.placement_admission.hub_objects import marks_of

OPEN: Final = "Open"
"""The code of a queue that nothing on the hub keeps from admitting jobs."""
NOTHING_STANDS_AGAINST: Final = (
    "nothing that the hub shows keeps it from admitting jobs; whether Kueue answers, `fleetqueue doctor` asks"
)
LISTED: Final = "Listed"
"""The rule of a cluster that a config lists by hand."""


@dataclass(frozen=True, slots=True)
class Explanation:
    about: str
    cause: Cause
    chain: Sequence[ChainLink] = ()
    clusters: Sequence[dict[str, Any]] = ()
    now: datetime = field(default_factory=clock.now, compare=False)
    job: str = ""
    """`Kind/name`, where it is about one that has a Workload."""
    namespace: str = ""

    def row(self) -> dict[str, Any]:
        """Return it as programs get it."""
        return {
            "about": self.about,
            "cause": self.cause.code,
            "sentence": self.cause.sentence,
            "step": self.cause.step,
            "chain": [link.row() for link in self.chain],
            "clusters": list(self.clusters),
        }


def of_workload(workload: kueue.Workload, hub: HubState, about: str) -> Explanation:
    """Explain a job by its Workload."""
    queue = hub.queue_of(workload)
    checks = [check.name for check in workload.status.admission_checks] or _checks(queue)
    links = [
        *queue_links(workload, hub),
        *check_links(checks, workload, hub),
        *worker_links(workload, hub, {member: said.text for member, said in _said_of_members(workload, hub).items()}),
        *pod_links(workload, hub),
    ]
    rows = cluster_rows(_placements(checks, hub), hub, workload) or member_rows(checks, hub, workload)
    return Explanation(
        about, cause_of(workload, hub), links, rows, job=job_name(workload), namespace=workload.namespace
    )


def of_pods(workloads: Sequence[kueue.Workload], hub: HubState, about: str) -> Explanation:
    """Explain a job of which each pod is queued for itself, by the pod that has come least far."""
    last = min(workloads, key=lambda one: (one.is_finished, one.is_true(kueue.ADMITTED), one.has_quota, one.name))
    admitted = sum(one.is_true(kueue.ADMITTED) for one in workloads)
    found = of_workload(last, hub, about)
    sentence = f"{admitted} of its {len(workloads)} queued pods are admitted; {job_name(last)}: {found.cause.sentence}"
    return replace(found, cause=Cause(found.cause.code, sentence, found.cause.step))


def of_placement(placement: cluster.Placement, hub: HubState) -> Explanation:
    """Explain what a Placement chose, and why not the others."""
    chosen = sorted(hub.fleet.chosen(placement))
    none = why_none(placement.name, placement.namespace, hub.fleet, hub.now)
    sentence = f"it has chosen {', '.join(chosen)}" if chosen else "nobody can tell what it chose"
    cause = none or Cause("Decided", sentence)
    links = [placement_link(placement.name, placement.namespace, hub), *set_links(placement, hub)]
    return Explanation(f"Placement {placement.key}", cause, links, cluster_rows([placement], hub))


def of_queue(name: str, namespace: str, hub: HubState) -> Explanation:
    """Explain whether a job of this LocalQueue would get quota and a cluster."""
    nobody = kueue.Workload.view(kueue.Workload.manifest("", namespace, spec={"queueName": name}))
    found = of_workload(nobody, hub, f"LocalQueue {key_of(namespace, name)}")
    if found.cause.code not in ("Queued", "NotLookedAt"):
        return found
    return Explanation(found.about, Cause(OPEN, NOTHING_STANDS_AGAINST), found.chain, found.clusters)


def of_cluster(one: cluster.ManagedCluster, hub: HubState) -> Explanation:
    """Explain whether jobs are sent to a cluster, and if not, why."""
    rows = [
        row
        for placement in hub.fleet.placements or ()
        for row in cluster_rows([placement], hub)
        if row["cluster"] == one.name and placement.namespace == hub.kueue_namespace
    ]
    links = list(cluster_links(one, hub))
    return Explanation(f"ManagedCluster {one.name}", _cluster_cause(one, rows, hub), links, rows)


def cluster_rows(
    placements: Iterable[cluster.Placement], hub: HubState, workload: kueue.Workload | None = None
) -> list[dict[str, Any]]:
    """Tell of each cluster what each Placement makes of it, and what is known of the way there."""
    said = _said_of_members(workload, hub)
    return [
        _cluster_row(verdict, placement, hub, said, workload)
        for placement in placements
        for verdict in verdicts(placement, hub.fleet, hub.now)
    ]


def member_rows(checks: Iterable[str], hub: HubState, workload: kueue.Workload) -> list[dict[str, Any]]:
    """Tell of the clusters that configs of these checks list without a Placement, as somebody wrote them by hand."""
    named = [check.config_name for name in checks if (check := (hub.checks or {}).get(name)) is not None]
    configs = [config for name in named if name and (config := (hub.configs or {}).get(name)) is not None]
    said = _said_of_members(workload, hub)
    return [
        {
            "placement": "",
            "cluster": member,
            "rule": LISTED,
            "rank": None,
            "score": None,
            "scores": [],
            "why": f"MultiKueueConfig {config.name} lists it",
            **_connection((hub.members or {}).get(member)),
            "draining": False,
            **_told(said.get(member)),
            **_worker(member, workload),
            "score_parts": [],
        }
        for config in configs
        for member in config.spec.clusters
    ]


def _cluster_row(
    verdict: ClusterVerdict,
    placement: cluster.Placement,
    hub: HubState,
    said: "dict[str, Said]",
    workload: kueue.Workload | None,
) -> dict[str, Any]:
    member = _member_of(verdict.cluster, placement.name, hub)
    config = (hub.configs or {}).get(placement.name)
    return {
        "placement": placement.name,
        **verdict_row(verdict, checks_of(placement, (hub.checks or {}).values(), hub.kueue_namespace)),
        **_connection(member),
        "draining": member is not None and member.name in marks_of(config),
        **_told(said.get(member.name) if member is not None else None),
        **_worker(member.name if member is not None else "", workload),
        "score_parts": [_part_row(part, verdict.cluster, hub) for part in verdict.parts],
    }


def _part_row(part: ScorePart, name: str, hub: HubState) -> dict[str, Any]:
    """Tell one score with its weight, until when it counts, and since when it is measured, or is not."""
    score = hub.fleet.score(name, part.resource)
    fresh = conditions.find(score.status.conditions, FRESH) if score is not None else None
    return {
        "name": part.name,
        "value": part.value,
        "weight": part.weight,
        "valid_until": part.valid_until,
        "fresh": fresh.status if fresh is not None else conditions.UNKNOWN,
        "fresh_since": fresh.last_transition_time if fresh is not None else None,
    }


def _worker(member: str, workload: kueue.Workload | None) -> dict[str, Any]:
    """Tell what the queue of a worker has said of a job, as the hub's Kueue wrote it down, and when."""
    if workload is None or not member or member not in workload.clusters:
        return {"worker": "", "worker_said_at": None}
    if workload.status.cluster_name == member:
        quoted = f'"{member}"'
        told = next((check for check in workload.status.admission_checks if quoted in check.message), None)
        since = told.last_transition_time if told is not None else None
        return {"worker": told.message if told is not None else "has admitted it", "worker_said_at": since}
    return {"worker": "nominated, and has not admitted it yet", "worker_said_at": None}


def _connection(member: kueue.MultiKueueCluster | None) -> dict[str, Any]:
    """Say whether Kueue is connected to a cluster, and since when it is, or is not."""
    if member is None:
        return {"connected": "", "connected_since": None}
    active = conditions.find(member.status.conditions, kueue.ACTIVE)
    if active is None:
        return {"connected": "not tried yet", "connected_since": None}
    connected = "yes" if active.is_true else f"no: {member.refusal}"
    return {"connected": connected, "connected_since": active.last_transition_time}


def _told(said: "Said | None") -> dict[str, Any]:
    return {
        "dispatcher": said.text if said is not None else "",
        "dispatcher_said_at": said.at if said is not None else None,
        **facts_of(said.text if said is not None else ""),
    }


def _member_of(name: str, placement: str, hub: HubState) -> kueue.MultiKueueCluster | None:
    """Return the MultiKueueCluster by which a Placement's jobs reach a cluster."""
    listed = set(config.spec.clusters) if (config := (hub.configs or {}).get(placement)) is not None else set()
    found = (
        member
        for member in (hub.members or {}).values()
        if member.metadata.labels.get(CLUSTER_LABEL) == name and member.name in listed
    )
    return next(found, None)


@dataclass(frozen=True, slots=True)
class Said:
    """What the dispatcher said of a cluster, and when."""

    text: str
    at: datetime | None


def _said_of_members(workload: kueue.Workload | None, hub: HubState) -> dict[str, Said]:
    """Return what the dispatcher said of each member when it last looked at a job."""
    if workload is None:
        return {}
    at = hub.said_at.get(workload.uid)
    texts = [
        (hub.nominations.get(workload.uid, ""), at),
        *((check.message, check.last_transition_time) for check in workload.status.admission_checks),
        (hub.notes.get(workload.uid, ""), at),
    ]
    lines = [(line.removeprefix("waiting: "), at) for text, at in texts for line in text.split("; ")]
    parts = ((*line.partition(": "), at) for line, at in lines)
    return {member: Said(rest, at) for member, found, rest, at in parts if found and member in (hub.members or {})}


def _checks(queue: kueue.ClusterQueue | None) -> tuple[str, ...]:
    return () if queue is None else queue.checks


def _placements(checks: Iterable[str], hub: HubState) -> list[cluster.Placement]:
    named = [placement_of(check) for name in checks if (check := (hub.checks or {}).get(name)) is not None]
    found = (hub.fleet.placement(name, hub.kueue_namespace) for name in dict.fromkeys(named) if name)
    return [placement for placement in found if placement is not None]


def _cluster_cause(one: cluster.ManagedCluster, rows: Sequence[dict[str, Any]], hub: HubState) -> Cause:
    if not one.spec.hub_accepts_client:
        accept = patched(f"managedcluster {one.name}", {"spec": {"hubAcceptsClient": True}})
        step = f"{accept}; or `clusteradm accept --clusters {one.name}`, which approves its certificates, too"
        return Cause("NotAccepted", "the hub has not accepted it", step)
    available = conditions.find(one.status.conditions, cluster.AVAILABLE)
    if available is None or not available.is_true:
        said = available.message or available.reason if available is not None else "nothing was heard of it yet"
        step = joined(look_at_agent(one.name), given_up(Way(one.name)))
        return Cause("ClusterUnavailable", f"it is not available: {said}", step)
    chosen = [row for row in rows if row["rule"] == "Chosen"]
    if not chosen:
        return _not_chosen(one, rows, hub)
    if lost := [row for row in chosen if row["connected"] != "yes"]:
        return _not_reached(one, lost[0], hub)
    return Cause("Serving", f"jobs of {', '.join(str(row['placement']) for row in chosen)} are sent to it")


def _not_reached(one: cluster.ManagedCluster, row: dict[str, Any], hub: HubState) -> Cause:
    """Say why Kueue does not reach a cluster that a Placement chooses."""
    checks = [check for check in (hub.checks or {}).values() if placement_of(check) == row["placement"]]
    if not row["connected"] and (out := left_out(one.name, checks)):
        sentence = f"Placement {row['placement']} chooses it, and AdmissionCheck {out[0]['check']} leaves it out"
        return Cause("LeftOut", f"{sentence}: {out[0]['reason']}", MEND_LEFT_OUT)
    if row["connected"]:
        member = _member_of(one.name, row["placement"], hub)
        repair = repair_of(member.name if member is not None else "", hub)
        return Cause(repair.code, f"Kueue does not reach it: {row['connected'].removeprefix('no: ')}", repair.step())
    if checks:
        why = f"MultiKueueConfig {row['placement']} does not list it yet"
        step = f"wait a moment; where that does not help: {SEE_CONTROLLER}"
    else:
        why = "no AdmissionCheck uses the Placement"
        step = f"let an AdmissionCheck of {CHECK_CONTROLLER} name Placement {row['placement']}, and a ClusterQueue that"
    return Cause("ClusterNotConnected", f"Kueue does not reach it: {why}", step)


def _not_chosen(one: cluster.ManagedCluster, rows: Sequence[dict[str, Any]], hub: HubState) -> Cause:
    """Say which rule of a Placement drops a cluster, and what can be changed about that."""
    sentence = f"no Placement of {hub.kueue_namespace} chooses it"
    if not rows:
        return Cause("NotChosen", sentence, f"create a Placement in namespace {hub.kueue_namespace}")
    step = (
        "change the cluster or the Placement in that; `fleetqueue get placements --why` tells what drops each cluster"
    )
    if DRAIN_TAINT in rows[0]["why"]:
        step = f"fleetqueue undrain {one.name}"
    return Cause("NotChosen", f"{sentence}: {rows[0]['placement']}: {rows[0]['why']}", step)
