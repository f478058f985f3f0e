"""What `fleetqueue explain` does: look at a hub, and explain one thing of it."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from fleetqueue.admin import explanations
from fleetqueue.admin.causes import Cause
from fleetqueue.admin.deployment_pods import workloads_of_deployments
from fleetqueue.admin.explanations import OPEN, Explanation
from fleetqueue.admin.hub_state import HubState, look, seen
from fleetqueue.admin.inventory import Row, listed
from fleetqueue.admin.job_ancestors import Ancestors, of_part
from fleetqueue.admin.job_names import is_called, is_kind, job_name
from fleetqueue.admin.planned_jobs import why_it_would_wait
from fleetqueue.admin.planned_pods import planned_pods
from fleetqueue.admin.submitting import refusal
from fleetqueue.admin.unqueued_jobs import kueue_configuration, unqueued_jobs, why_not_queued
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.job_kinds import TRAIN_JOB
from fleetqueue.api.meta import key_of
from fleetqueue.api.queued_kinds import QUEUED_KINDS, framework_of
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.rules.train_jobs import runtime_kind, runtime_name

MOST_WAYS: Final = 5
"""How many more LocalQueues of a ClusterQueue are named."""


async def job(hub: Client, name: str, namespace: str, *, kueue_namespace: str) -> Explanation:
    """Explain a job, by its name or as `kind/name`."""
    everything = await listed(hub, kueue.Workload, namespace)
    if workloads := [one for one in everything if is_called(job_name(one), name)]:
        return await _of_newest(hub, workloads, namespace, kueue_namespace)
    if pods := await workloads_of_deployments(hub, name, namespace, everything):
        about = f"Deployment/{name.rpartition('/')[2]} of namespace {namespace}"
        return explanations.of_pods(pods, await look(hub, namespace, kueue_namespace=kueue_namespace), about)
    unqueued = await unqueued_jobs(hub, namespace, everything)
    if rows := [row for row in unqueued if is_called(row["job"], name)]:
        return _of_unqueued(rows[0])
    found = await _called(hub, name, namespace)
    return await _of_whole(hub, found, everything, unqueued, kueue_namespace) or await _without_workload(hub, found)


async def workload(hub: Client, name: str, namespace: str, *, kueue_namespace: str) -> Explanation:
    """Explain a job by its Workload."""
    found = kueue.Workload.view(await hub.get(kueue.Workload.resource, name, namespace))
    state = await look(hub, namespace, kueue_namespace=kueue_namespace)
    return explanations.of_workload(found, state, f"Workload {found.key}")


async def queue(hub: Client, name: str, namespace: str, *, kueue_namespace: str) -> Explanation:
    """Explain whether jobs of a LocalQueue get quota and a cluster; raises NotFound where there is none."""
    state = await look(hub, namespace, kueue_namespace=kueue_namespace)
    if state.local_queues is not None and key_of(namespace, name) not in state.local_queues:
        if name in (state.cluster_queues or {}):
            everywhere = await seen(hub, kueue.LocalQueue) or state.local_queues.values()
            raise errors.NotFound(ways_to(name, [one.key for one in everywhere if one.spec.cluster_queue == name]))
        kind = kueue.LocalQueue.resource.plural
        raise errors.NotFound(f'there is no LocalQueue "{name}" in namespace {namespace}', details={"kind": kind})
    return explanations.of_queue(name, namespace, state)


def ways_to(cluster_queue: str, local_queues: Collection[str]) -> str:
    """Say what to type instead of a ClusterQueue: one of the LocalQueues that lead to it, which are given by key."""
    if not local_queues:
        return (
            f'"{cluster_queue}" is a ClusterQueue, and no LocalQueue that can be seen leads to it; create one for jobs'
        )
    first, *others = sorted(local_queues)
    namespace, _, name = first.partition("/")
    command = f"`fleetqueue explain queue {name} -n {namespace}`"
    shown = ", ".join(others[:MOST_WAYS]) + (", ..." if len(others) > MOST_WAYS else "")
    also = f"; {shown} lead{'' if others[1:] else 's'} to it, too" if others else ""
    return f'"{cluster_queue}" is a ClusterQueue; a LocalQueue that leads to it is explained by {command}{also}'


async def planned_job(hub: Client, manifest: Manifest, namespace: str, *, kueue_namespace: str) -> Explanation:
    """Explain what would become of a job that was not submitted yet; nothing is written."""
    metadata = manifest.get("metadata") or {}
    about = f"{manifest.get('kind')}/{metadata.get('name') or metadata.get('generateName') or ''}, not submitted"
    where, name = metadata.get("namespace") or namespace, (metadata.get("labels") or {}).get(kueue.QUEUE_LABEL, "")
    if refused := refusal(manifest, await kueue_configuration(hub, kueue_namespace)):
        return Explanation(about, Cause("NoWorkload", refused, "submit a kind that Kueue manages, or configure Kueue"))
    if not name:
        return Explanation(about, _no_queue())
    state = await look(hub, where, kueue_namespace=kueue_namespace)
    found = explanations.of_queue(name, where, state)
    if found.cause.code == "LocalQueueMissing" and await _lacks_namespace(hub, where):
        sentence = f"there is no namespace {where}, and so no LocalQueue {name} in it"
        step = f"`kubectl create namespace {where}`, or name another one; then create the LocalQueue"
        found = replace(found, cause=Cause("LocalQueueMissing", sentence, step))
    target = state.queue_named(name, where)
    if target is None or found.cause.code != OPEN:
        return replace(found, about=about)
    pods = planned_pods(manifest, await _runtime(hub, manifest, where))
    own = why_it_would_wait(pods, target, state)
    unjudged = f"what it asks for itself was not judged: {pods.unjudged}" if pods.unjudged else ""
    topology = "the topology that it asks for was not judged" if pods.asks_for_topology else ""
    return replace(
        found, about=about, cause=own or found.cause.with_details(unjudged, topology, _workers(target, state))
    )


def _workers(queue: kueue.ClusterQueue, state: HubState) -> str:
    """Say what of the workers was not judged, of a queue whose jobs are sent there."""
    checks = [(state.checks or {}).get(name) for name in queue.checks]
    if not any(check is not None and check.is_multikueue for check in checks):
        return ""
    return "whether a worker has its namespace and LocalQueue, and quota enough, shows only when it is submitted"


async def _lacks_namespace(hub: Client, name: str) -> bool:
    """Tell whether there is surely no such namespace."""
    try:
        return await hub.find(Namespace.resource, name) is None
    except errors.Forbidden:
        return False


async def _runtime(hub: Client, manifest: Manifest, namespace: str) -> Manifest | None:
    """Return the runtime that a TrainJob names; None for other kinds, and where it is not seen."""
    group = str(manifest["apiVersion"]).rpartition("/")[0]
    kind = runtime_kind(manifest) if framework_of(group, manifest["kind"]) == TRAIN_JOB.framework else None
    if kind is None:
        return None
    return await _get(hub, kind.resource, runtime_name(manifest), namespace if kind.resource.namespaced else "")


async def placement(hub: Client, name: str, *, kueue_namespace: str) -> Explanation:
    """Explain what a Placement chose; raises NotFound, which names the namespaces in which there is one."""
    try:
        raw = await hub.get(cluster.Placement.resource, name, kueue_namespace)
    except errors.NotFound:
        elsewhere = [one.namespace for one in await seen(hub, cluster.Placement) or () if one.name == name]
        if not elsewhere:
            raise
        raise errors.NotFound(
            f'there is no Placement "{name}" in namespace {kueue_namespace}, where AdmissionChecks look for it; there'
            f" is one in {', '.join(sorted(elsewhere))}: `fleetqueue explain placement {name} --kueue-namespace"
            f" {min(elsewhere)}` explains that one"
        ) from None
    state = await look(hub, kueue_namespace=kueue_namespace)
    return explanations.of_placement(cluster.Placement.view(raw), state)


async def managed_cluster(hub: Client, name: str, *, kueue_namespace: str) -> Explanation:
    """Explain whether jobs are sent to a cluster."""
    found = cluster.ManagedCluster.view(await hub.get(cluster.ManagedCluster.resource, name))
    return explanations.of_cluster(found, await look(hub, kueue_namespace=kueue_namespace))


async def _of_newest(
    hub: Client, workloads: Iterable[kueue.Workload], namespace: str, kueue_namespace: str
) -> Explanation:
    newest = max(workloads, key=lambda one: (not one.is_finished, str(one.metadata.creation_timestamp)))
    state = await look(hub, namespace, kueue_namespace=kueue_namespace)
    return explanations.of_workload(newest, state, f"{job_name(newest)} of namespace {namespace}")


def _of_unqueued(row: Row) -> Explanation:
    return Explanation(f"{row['job']} of namespace {row['namespace']}", Cause(row["cause"], row["why"], row["step"]))


async def _called(hub: Client, name: str, namespace: str) -> list[Manifest]:
    """Return the objects that a name means, of kinds that can be queued; raises NotFound where there is none."""
    kind, _, plain = name.rpartition("/")
    kinds = [one for one in QUEUED_KINDS.values() if not kind or is_kind(kind, one.kind)]
    found = [one for one in await asyncio.gather(*(_get(hub, one, plain, namespace) for one in kinds)) if one]
    if not found:
        raise errors.NotFound(
            f'there is no job "{name}" in namespace {namespace}, and no Workload of one; '
            "`fleetqueue get jobs` shows those that are"
        )
    return found


async def _of_whole(
    hub: Client,
    found: Iterable[Manifest],
    workloads: Collection[kueue.Workload],
    unqueued: Iterable[Row],
    kueue_namespace: str,
) -> Explanation | None:
    """Explain the job that an object is a part of, such as a pod of a group or of a set; None where it is of none."""
    for part in found:
        namespace = part["metadata"]["namespace"]
        above = await Ancestors(hub, namespace).of(part["kind"], part)
        own = f"{part['kind']}/{part['metadata']['name']}"
        if wholes := of_part(part, above, workloads):
            whole = await _of_newest(hub, wholes, namespace, kueue_namespace)
        elif row := next((row for row in unqueued if row["job"] in above), None):
            whole = _of_unqueued(row)
        else:
            continue
        return replace(whole, about=f"{whole.about}, to which {own} belongs")
    return None


async def _without_workload(hub: Client, found: Sequence[Manifest]) -> Explanation:
    """Explain a job of which Kueue knows nothing."""
    told = next((one for one in found if one["kind"] == Deployment.resource.kind), found[0])
    metadata = told["metadata"]
    about = f"{told['kind']}/{metadata['name']} of namespace {metadata['namespace']}"
    if kueue.QUEUE_LABEL not in (metadata.get("labels") or {}):
        return Explanation(about, _no_queue())
    resource = next(one for one in QUEUED_KINDS.values() if one.kind == told["kind"])
    why = why_not_queued(resource, [told], await kueue_configuration(hub))
    if resource != Deployment.resource:
        return Explanation(about, why)
    sentence = f"Kueue queues each of its pods for itself, and none of them has a Workload; {why.sentence}"
    return Explanation(about, replace(why, sentence=sentence))


async def _get(hub: Client, resource: Resource, name: str, namespace: str) -> Manifest | None:
    try:
        return {"kind": resource.kind, **await hub.get(resource, name, namespace)}
    except (errors.NotFound, errors.Forbidden):
        return None


def _no_queue() -> Cause:
    return Cause(
        "NoQueue",
        f"it has no label {kueue.QUEUE_LABEL}, so Kueue leaves it alone",
        f"label it with {kueue.QUEUE_LABEL} and the name of a LocalQueue when you create it",
    )
