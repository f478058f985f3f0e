"""What `get` shows: rows about the fleet, made from objects of the hub."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.admin.causes import joined
from fleetqueue.admin.deployment_pods import workloads_of_deployments
from fleetqueue.admin.hub_state import HubState, fleet_objects, look
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.admin.job_details import JobSurroundings, job_details, look_up
from fleetqueue.admin.job_names import is_called, job_name
from fleetqueue.admin.placement_verdicts import ClusterVerdict, part_text, verdicts
from fleetqueue.admin.unqueued_jobs import unqueued_jobs
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import (
    CLUSTER_LABEL,
    DRAIN_TAINT,
    KUEUE_NAMESPACE,
    REFUSED,
    credentials_secret,
    placement_of,
)
from fleetqueue.api.meta import O, key_of
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.secret_content import read as read_credential
from fleetqueue.controllers.placement_admission.messages import why_left_out

Row = dict[str, Any]
PENDING: Final = "Pending"
"""The state of a job that has no quota."""
NOTHING_AROUND: Final = JobSurroundings()


async def listed(hub: Client, kind: type[O], namespace: str = "") -> list[O]:
    """List a kind, as views in the order of their names."""
    page = await hub.list(kind.resource, namespace)
    return sorted((kind.view(raw) for raw in page.items), key=lambda obj: obj.key)


async def readable(hub: Client, kind: type[O], namespace: str = "") -> tuple[list[O], str]:
    """List a kind; where that is not allowed, or it is not served, nothing, and why."""
    try:
        return await listed(hub, kind, namespace), ""
    except (errors.Forbidden, errors.NotFound) as error:
        return [], str(error)


async def clusters(hub: Client, kueue_namespace: str = KUEUE_NAMESPACE) -> list[Row]:
    """Tell of each cluster where it is, which set it is in, and whether Kueue reaches it, and until when it can."""
    members = await listed(hub, cluster.ManagedCluster)
    found, why_no_secrets = await readable(hub, Secret, kueue_namespace)
    connections, why_no_connections = await readable(hub, kueue.MultiKueueCluster)
    checks, _ = await readable(hub, kueue.AdmissionCheck)
    secrets = {secret.name: secret for secret in found}
    unread = {"credentials_until": why_no_secrets, "connected": why_no_connections}
    return [
        {
            **cluster_row(member, secrets.get(credentials_secret(member.name)), connections),
            "left_out": left_out(member.name, checks),
            "unread": {column: why for column, why in unread.items() if why},
        }
        for member in members
    ]


def cluster_row(
    member: cluster.ManagedCluster, secret: Secret | None, connections: Iterable[kueue.MultiKueueCluster]
) -> Row:
    credential = read_credential(secret)
    return {
        "name": member.name,
        "accepted": member.spec.hub_accepts_client,
        "joined": status(member.status.conditions, cluster.JOINED),
        "available": status(member.status.conditions, cluster.AVAILABLE),
        "draining": any(taint.key == DRAIN_TAINT for taint in member.spec.taints),
        "set": member.metadata.labels.get(cluster.CLUSTER_SET_LABEL, ""),
        "urls": [config.url for config in member.spec.managed_cluster_client_configs],
        "credentials_until": conditions.timestamp(credential.expires) if credential else "",
        "credentials_refused": secret.metadata.annotations.get(REFUSED, "") if secret else "",
        "connections": [connection_row(connection) for connection in connections if _leads_to(connection, member.name)],
        "created": member.metadata.creation_timestamp,
    }


def connection_row(connection: kueue.MultiKueueCluster) -> Row:
    """Tell whether Kueue is connected, as it says itself."""
    active = conditions.find(connection.status.conditions, kueue.ACTIVE)
    return {
        "name": connection.name,
        "connected": active.status if active else conditions.UNKNOWN,
        "reason": active.reason if active else "",
        "message": active.message if active else "",
    }


def left_out(name: str, checks: Iterable[kueue.AdmissionCheck]) -> list[Row]:
    """Tell which checks of ours leave a cluster out that their Placement selects, and why."""
    found = []
    for check in checks:
        placement, active = placement_of(check), conditions.find(check.status.conditions, kueue.ACTIVE)
        if not placement or active is None:
            continue
        reasons = [why_left_out(active.message, member) for member in (f"{placement}-{name}", name)]
        found += [{"check": check.name, "reason": reason} for reason in reasons if reason]
    return found


def _leads_to(connection: kueue.MultiKueueCluster, name: str) -> bool:
    """Tell whether a connection is to a managed cluster; one that was made by hand is known by the secret it uses."""
    source = connection.spec.cluster_source
    if source.cluster_profile_ref is not None:
        by_source = source.cluster_profile_ref.name == name
    else:
        by_source = source.kube_config is not None and source.kube_config.location == credentials_secret(name)
    return connection.metadata.labels.get(CLUSTER_LABEL, "") == name or by_source


async def cluster_sets(hub: Client) -> list[Row]:
    """Tell of each set which namespaces may choose from it, and who is in it."""
    members = await listed(hub, cluster.ManagedCluster)
    bindings = await listed(hub, cluster.ManagedClusterSetBinding)
    return [set_row(cluster_set, members, bindings) for cluster_set in await listed(hub, cluster.ManagedClusterSet)]


def set_row(
    cluster_set: cluster.ManagedClusterSet,
    members: Iterable[cluster.ManagedCluster],
    bindings: Iterable[cluster.ManagedClusterSetBinding],
) -> Row:
    names = [member.name for member in members if cluster_set.has(member)]
    return {
        "name": cluster_set.name,
        "bound_namespaces": [binding.namespace for binding in bindings if binding.name == cluster_set.name],
        "status": f"{len(names)} ManagedClusters selected" if names else "No ManagedCluster selected",
        "clusters": names,
    }


def set_tree(rows: Sequence[Row]) -> str:
    """Draw sets as `clusteradm get clustersets` does, with the branches that its library draws."""
    lines = ["<ManagedClusterSet> "]
    for row in rows:
        branch = "    └──" if row is rows[-1] else "│   ├──"
        lines += [
            f"└── <{row['name']}> ",
            f"{branch} <BoundNamespace> {','.join(row['bound_namespaces'])}",
            f"{branch} <Status> {row['status']}",
            f"{branch} <Clusters> [{' '.join(row['clusters'])}]",
        ]
    return "\n".join(lines)


async def placements(hub: Client) -> list[Row]:
    """Tell of each Placement what it chose."""
    decisions = await listed(hub, cluster.PlacementDecision)
    return [placement_row(placement, decisions) for placement in await listed(hub, cluster.Placement)]


def placement_row(placement: cluster.Placement, decisions: Iterable[cluster.PlacementDecision]) -> Row:
    satisfied = conditions.find(placement.status.conditions, "PlacementSatisfied")
    return {
        "namespace": placement.namespace,
        "name": placement.name,
        "succeeded": satisfied.status if satisfied else "",
        "reason": satisfied.reason if satisfied else "",
        "selected": placement.status.number_of_selected_clusters,
        "clusters": chosen(placement, decisions),
    }


def chosen(placement: cluster.Placement, decisions: Iterable[cluster.PlacementDecision]) -> list[str]:
    """Return the clusters that a Placement chose, in name order."""
    return sorted(
        decision.cluster_name
        for placement_decision in decisions
        if placement_decision.namespace == placement.namespace
        and placement_decision.metadata.labels.get(cluster.PLACEMENT_LABEL) == placement.name
        for decision in placement_decision.status.decisions
    )


async def placement_verdicts(hub: Client, kueue_namespace: str = KUEUE_NAMESPACE) -> list[Row]:
    """Tell of each Placement and each cluster which rule dropped it, or how it was scored, and who leaves it out."""
    fleet, now = await fleet_objects(hub), clock.now()
    checks, _ = await readable(hub, kueue.AdmissionCheck)
    return [
        {
            "namespace": placement.namespace,
            "name": placement.name,
            **verdict_row(verdict, checks_of(placement, checks, kueue_namespace)),
        }
        for placement in sorted(fleet.placements or (), key=lambda placement: placement.key)
        for verdict in verdicts(placement, fleet, now)
    ]


def checks_of(
    placement: cluster.Placement, checks: Iterable[kueue.AdmissionCheck], kueue_namespace: str
) -> list[kueue.AdmissionCheck]:
    """Return the checks that name a Placement; they look for it in Kueue's namespace only."""
    return [check for check in checks if placement.key == key_of(kueue_namespace, placement_of(check))]


def verdict_row(verdict: ClusterVerdict, checks: Iterable[kueue.AdmissionCheck] = ()) -> Row:
    """Tell what a Placement makes of a cluster, and which of its checks leave it out all the same."""
    leaving_out = [f"{out['check']} leaves it out: {out['reason']}" for out in left_out(verdict.cluster, checks)]
    return {
        "cluster": verdict.cluster,
        "rule": verdict.rule,
        "rank": verdict.rank,
        "score": verdict.score,
        "scores": [part_text(part) for part in verdict.parts],
        "why": joined(verdict.why, *(f"AdmissionCheck {text}" for text in leaving_out)),
    }


async def scores(hub: Client, resource: str = SCORE_RESOURCE) -> list[Row]:
    """Tell each cluster's scores, and whether somebody measures them."""
    placement_scores = await listed(hub, cluster.AddOnPlacementScore)
    return [score_row(score) for score in placement_scores if score.name == resource]


def score_row(score: cluster.AddOnPlacementScore) -> Row:
    return {
        "cluster": score.namespace,
        "fresh": status(score.status.conditions, FRESH),
        "valid_until": conditions.timestamp(score.status.valid_until) if score.status.valid_until else "",
        "scores": {item.name: item.value for item in score.status.scores},
    }


async def jobs(hub: Client, namespace: str = "", name: str = "") -> list[Row]:
    """Tell of each job of a namespace, or of all, how far it has come, where, and why; `name` chooses one."""
    workloads = await listed(hub, kueue.Workload, namespace)
    unqueued = await unqueued_jobs(hub, namespace, workloads)
    called = [workload for workload in workloads if is_called(job_name(workload), name)]
    workloads = called or await workloads_of_deployments(hub, name, namespace, workloads)
    hub_state, around = await look(hub, namespace), await look_up(hub, workloads)
    rows = [job_row(workload, hub_state, around) for workload in workloads]
    return [*rows, *(row for row in unqueued if is_called(row["job"], name))]


def job_row(workload: kueue.Workload, hub_state: HubState, around: JobSurroundings = NOTHING_AROUND) -> Row:
    state, cause = job_state(workload), cause_of(workload, hub_state)
    # A set of no pods has no quota any more, and its Workload still says where it was.
    members = workload.clusters if state != PENDING else ()
    return {
        "namespace": workload.namespace,
        "job": job_name(workload),
        "queue": workload.spec.queue_name,
        "state": state,
        **job_details(workload, members, around),
        "cause": cause.code,
        "why": cause.sentence,
        "step": cause.step,
        "created": workload.metadata.creation_timestamp,
    }


def job_state(workload: kueue.Workload) -> str:
    """Name how far a job has come: the last of Kueue's conditions that is true."""
    reached = (kueue.FINISHED, kueue.ADMITTED, kueue.QUOTA_RESERVED)
    return next((state for state in reached if workload.is_true(state)), PENDING)


def status(condition_list: Iterable[conditions.Condition], kind: str) -> str:
    condition = conditions.find(condition_list, kind)
    return condition.status if condition else conditions.UNKNOWN
