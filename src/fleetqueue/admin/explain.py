"""What `fleetqueue explain` does: look at a hub, explain one thing of it, and write that for people or programs."""

import asyncio
import textwrap
from collections.abc import Collection
from typing import Final

from fleetqueue.admin import explanations
from fleetqueue.admin.causes import Cause
from fleetqueue.admin.explanations import Explanation
from fleetqueue.admin.hub_state import look
from fleetqueue.admin.inventory import is_called, job_name, listed
from fleetqueue.admin.table_text import lines, written
from fleetqueue.admin.unqueued_jobs import unqueued_jobs
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.queued_kinds import QUEUED_KINDS
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

WIDTH: Final = 100
CLUSTER_COLUMNS: Final = ("cluster", "rule", "rank", "score", "scores", "connected", "dispatcher")


async def job(hub: Client, name: str, namespace: str, output: str, *, kueue_namespace: str) -> str:
    """Explain a job, by its name or as `kind/name`."""
    everything = await listed(hub, kueue.Workload, namespace)
    workloads = [one for one in everything if is_called(job_name(one), name)]
    if not workloads:
        return _text(await _without_workload(hub, name, namespace, everything), output)
    newest = max(workloads, key=lambda one: (not one.is_finished, str(one.metadata.creation_timestamp)))
    state = await look(hub, namespace, kueue_namespace=kueue_namespace)
    return _text(explanations.of_workload(newest, state, f"{job_name(newest)} of namespace {namespace}"), output)


async def workload(hub: Client, name: str, namespace: str, output: str, *, kueue_namespace: str) -> str:
    """Explain a job by its Workload."""
    found = kueue.Workload.view(await hub.get(kueue.Workload.resource, name, namespace))
    state = await look(hub, namespace, kueue_namespace=kueue_namespace)
    return _text(explanations.of_workload(found, state, f"Workload {found.key}"), output)


async def queue(hub: Client, name: str, namespace: str, output: str, *, kueue_namespace: str) -> str:
    """Explain whether jobs of a LocalQueue get quota and a cluster."""
    state = await look(hub, namespace, kueue_namespace=kueue_namespace)
    return _text(explanations.of_queue(name, namespace, state), output)


async def planned_job(hub: Client, manifest: Manifest, namespace: str, output: str, *, kueue_namespace: str) -> str:
    """Explain what would become of a job that was not submitted yet; nothing is written."""
    metadata = manifest.get("metadata") or {}
    about = f"{manifest.get('kind')}/{metadata.get('name') or metadata.get('generateName') or ''}, not submitted"
    where, name = metadata.get("namespace") or namespace, (metadata.get("labels") or {}).get(kueue.QUEUE_LABEL, "")
    if not name:
        return _text(Explanation(about, _no_queue()), output)
    state = await look(hub, where, kueue_namespace=kueue_namespace)
    found = explanations.of_queue(name, where, state)
    return _text(Explanation(about, found.cause, found.chain, found.clusters), output)


async def placement(hub: Client, name: str, output: str, *, kueue_namespace: str) -> str:
    """Explain what a Placement chose."""
    found = cluster.Placement.view(await hub.get(cluster.Placement.resource, name, kueue_namespace))
    return _text(explanations.of_placement(found, await look(hub, kueue_namespace=kueue_namespace)), output)


async def managed_cluster(hub: Client, name: str, output: str, *, kueue_namespace: str) -> str:
    """Explain whether jobs are sent to a cluster."""
    found = cluster.ManagedCluster.view(await hub.get(cluster.ManagedCluster.resource, name))
    return _text(explanations.of_cluster(found, await look(hub, kueue_namespace=kueue_namespace)), output)


async def _without_workload(
    hub: Client, name: str, namespace: str, workloads: Collection[kueue.Workload]
) -> Explanation:
    """Explain a job of which Kueue knows nothing; raises NotFound where there is no job of this name."""
    rows = [row for row in await unqueued_jobs(hub, namespace, workloads) if is_called(row["job"], name)]
    if rows:
        cause = Cause(rows[0]["cause"], rows[0]["why"], rows[0]["step"])
        return Explanation(f"{rows[0]['job']} of namespace {namespace}", cause)
    kind, _, plain = name.rpartition("/")
    kinds = [one for one in QUEUED_KINDS.values() if not kind or one.kind.lower() == kind.lower()]
    found = [one for one in await asyncio.gather(*(_get(hub, one, plain, namespace) for one in kinds)) if one]
    if not found:
        raise errors.NotFound(f"there is no job {name} in namespace {namespace}, and no Workload of one")
    return Explanation(f"{found[0]['kind']}/{plain} of namespace {namespace}", _no_queue())


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


def _text(explanation: Explanation, output: str) -> str:
    if output != "table":
        return written([explanation.row()], (), output)
    cause = explanation.cause
    parts = [f"{explanation.about}: {cause.code}", _wrapped(f"{cause.sentence[:1].upper()}{cause.sentence[1:]}.")]
    if cause.step:
        parts.append(_wrapped(f"To do: {cause.step}"))
    if explanation.chain:
        parts += ["", *lines([link.row() for link in explanation.chain], ("state", "kind", "name", "says"))]
    if explanation.clusters:
        columns = [
            column
            for column in CLUSTER_COLUMNS
            if any(row[column] not in ("", None, []) for row in explanation.clusters)
        ]
        parts += ["", *lines(explanation.clusters, (*columns, "why"))]
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
