"""What `get` shows: rows about the fleet, made from objects of the hub."""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.admin.hub_state import HubState, look, seen
from fleetqueue.admin.job_reasons import why
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.meta import O
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.issued import read as read_credential

Row = dict[str, Any]


async def listed(hub: Client, kind: type[O], namespace: str = "") -> list[O]:
    """List a kind, as views in the order of their names."""
    page = await hub.list(kind.resource, namespace)
    return sorted((kind.view(raw) for raw in page.items), key=lambda obj: obj.key)


async def clusters(hub: Client, kueue_namespace: str = KUEUE_NAMESPACE) -> list[Row]:
    """Tell of each cluster where it is, which set it is in, and whether Kueue reaches it, and until when it can."""
    secrets = {secret.name: secret for secret in await listed(hub, Secret, kueue_namespace)}
    connections = sorted(await seen(hub, kueue.MultiKueueCluster) or (), key=lambda connection: connection.name)
    return [
        cluster_row(member, secrets.get(credentials_secret(member.name)), connections)
        for member in await listed(hub, cluster.ManagedCluster)
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
        "set": member.metadata.labels.get(cluster.CLUSTER_SET_LABEL, ""),
        "urls": [config.url for config in member.spec.managed_cluster_client_configs],
        "credentials_until": conditions.timestamp(credential.expires) if credential else "",
        "connections": [connection_row(found) for found in connections if _leads_to(found, member.name)],
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
    return [set_row(found, members, bindings) for found in await listed(hub, cluster.ManagedClusterSet)]


def set_row(
    found: cluster.ManagedClusterSet,
    members: Iterable[cluster.ManagedCluster],
    bindings: Iterable[cluster.ManagedClusterSetBinding],
) -> Row:
    names = [member.name for member in members if found.has(member)]
    return {
        "name": found.name,
        "bound_namespaces": [binding.namespace for binding in bindings if binding.name == found.name],
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
        for found in decisions
        if found.namespace == placement.namespace
        and found.metadata.labels.get(cluster.PLACEMENT_LABEL) == placement.name
        for decision in found.status.decisions
    )


async def scores(hub: Client, resource: str = SCORE_RESOURCE) -> list[Row]:
    """Tell each cluster's scores, and whether somebody measures them."""
    found = await listed(hub, cluster.AddOnPlacementScore)
    return [score_row(score) for score in found if score.name == resource]


def score_row(score: cluster.AddOnPlacementScore) -> Row:
    return {
        "cluster": score.namespace,
        "fresh": status(score.status.conditions, FRESH),
        "valid_until": conditions.timestamp(score.status.valid_until) if score.status.valid_until else "",
        "scores": {item.name: item.value for item in score.status.scores},
    }


async def jobs(hub: Client, namespace: str = "") -> list[Row]:
    """Tell of each job of a namespace, or of all, how far it has come, where, and why."""
    workloads = await listed(hub, kueue.Workload, namespace)
    hub_state = await look(hub, namespace)
    return [job_row(workload, hub_state) for workload in workloads]


def job_row(workload: kueue.Workload, hub_state: HubState) -> Row:
    owners = [owner for owner in workload.metadata.owner_references if owner.controller]
    return {
        "namespace": workload.namespace,
        "job": f"{owners[0].kind}/{owners[0].name}" if owners else f"Workload/{workload.name}",
        "queue": workload.spec.queue_name,
        "state": job_state(workload),
        "clusters": list(workload.clusters),
        "why": why(workload, hub_state),
        "created": workload.metadata.creation_timestamp,
    }


def job_state(workload: kueue.Workload) -> str:
    """Name how far a job has come: the last of Kueue's conditions that is true."""
    reached = (kueue.FINISHED, kueue.ADMITTED, kueue.QUOTA_RESERVED)
    return next((state for state in reached if workload.is_true(state)), "Pending")


def status(found: Iterable[conditions.Condition], kind: str) -> str:
    condition = conditions.find(found, kind)
    return condition.status if condition else conditions.UNKNOWN
