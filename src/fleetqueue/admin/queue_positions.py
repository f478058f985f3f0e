"""How many wait before a job: what Kueue's visibility API says of the queues; nothing where it is not served.

Reads: pendingworkloads of LocalQueues, which the users of a queue may read
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

GROUP: Final = "visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
"""Kueue serves the older one since 0.9, the newer one since 0.15."""
PENDING_WORKLOADS: Final = "pendingworkloads"


class QueuePosition(NamedTuple):
    """Which one a job is of those that wait; 1 is the next."""

    in_cluster_queue: int
    in_local_queue: int


async def queue_positions(hub: Client, workloads: Iterable[kueue.Workload]) -> Mapping[str, QueuePosition]:
    """Return the positions of those of these Workloads that wait, by their keys."""
    queues = sorted({(one.namespace, one.spec.queue_name) for one in workloads if waits(one) and one.spec.queue_name})
    resource = await _served(hub) if queues else None
    if resource is None:
        return {}
    answers = await asyncio.gather(*(_pending(hub, resource, *queue) for queue in queues))
    return dict(position for items in answers for position in positions_of(items))


def waits(workload: kueue.Workload) -> bool:
    return workload.is_live and workload.spec.active and not workload.is_true(kueue.QUOTA_RESERVED)


def positions_of(items: Iterable[Manifest]) -> Iterable[tuple[str, QueuePosition]]:
    """Read what is told of one queue; Go leaves a 0 out."""
    for item in items:
        metadata = item.get("metadata") or {}
        places = item.get("positionInClusterQueue") or 0, item.get("positionInLocalQueue") or 0
        yield key_of(metadata.get("namespace", ""), metadata.get("name", "")), QueuePosition(*(n + 1 for n in places))


async def _served(hub: Client) -> Resource | None:
    for version in VERSIONS:
        resource = Resource(GROUP, version, "PendingWorkloadsSummary", "localqueues")
        try:
            if f"{resource.plural}/{PENDING_WORKLOADS}" in await hub.served(resource.api_version):
                return resource
        except errors.ApiError:
            return None  # the server of this API is away
    return None


async def _pending(hub: Client, resource: Resource, namespace: str, queue: str) -> list[Manifest]:
    """List who waits in a queue; nobody where that may not be read, or where the queue is stopped."""
    try:
        return list((await hub.get(resource, queue, namespace, PENDING_WORKLOADS)).get("items") or ())
    except errors.ApiError:
        return []
