"""The visibility API: who waits in a ClusterQueue or a LocalQueue, in the order in which they will be tried. No I/O.

Mirrors: Kueue pkg/visibility
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from fleetqueue.api import errors
from fleetqueue.api.aggregated_apis import AggregatedApi, AggregatedRequest, AggregatedResource
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.meta import ObjectMeta
from fleetqueue.api.requests import number
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling.queue_manager import QueueManager
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo

GATE: Final = "VisibilityOnDemand"
GROUP: Final = "visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
KIND: Final = "PendingWorkloadsSummary"
PENDING: Final = {"pendingworkloads": ("get",)}
CLUSTER_QUEUES: Final = AggregatedResource(
    "clusterqueues", "clusterqueue", KIND, namespaced=False, subresources=PENDING
)
LOCAL_QUEUES: Final = AggregatedResource("localqueues", "localqueue", KIND, namespaced=True, subresources=PENDING)
DEFAULT_LIMIT: Final = 1000
MOST: Final = 100_000


class Position(NamedTuple):
    work: WorkloadInfo
    in_cluster_queue: int
    in_local_queue: int


def visibility_api(queue_manager: QueueManager) -> AggregatedApi:
    """Return the API that tells of a manager's queues."""

    def answer(request: AggregatedRequest) -> Manifest:
        page = page_of(request.query)
        found = _of_cluster_queue if request.resource == CLUSTER_QUEUES.plural else _of_local_queue
        items = [_item(position) for position in found(queue_manager, request)[page]]
        return {"kind": KIND, "apiVersion": f"{GROUP}/{request.version}", "metadata": {}, "items": items}

    return AggregatedApi(GROUP, VERSIONS, (CLUSTER_QUEUES, LOCAL_QUEUES), answer)


def page_of(query: Mapping[str, str]) -> slice:
    """Read which part of a list is wanted; raises BadRequest."""
    offset, limit = number(query, "offset") or 0, number(query, "limit") or DEFAULT_LIMIT
    first = max(offset, 0)
    return slice(first, first + min(max(limit, 0), MOST))


def positions(everybody: Iterable[WorkloadInfo]) -> list[Position]:
    """Number those who wait for a ClusterQueue, the next one first; also among those of the same LocalQueue."""
    before: Counter[str] = Counter()
    numbered = []
    for place, work in enumerate(everybody):
        numbered.append(Position(work, place, before[work.local_queue]))
        before[work.local_queue] += 1
    return numbered


def _of_cluster_queue(queue_manager: QueueManager, request: AggregatedRequest) -> Sequence[Position]:
    queue = queue_manager.queues.get(request.name)
    if queue is None:
        raise _not_found(CLUSTER_QUEUES, request.name)
    return positions(queue.all())


def _of_local_queue(queue_manager: QueueManager, request: AggregatedRequest) -> Sequence[Position]:
    """Return who waits in a LocalQueue; one that is stopped is not known, and one that leads nowhere is empty."""
    key = f"{request.namespace}/{request.name}"
    target = queue_manager.target(key)
    if not target:
        raise _not_found(LOCAL_QUEUES, request.name)
    queue = queue_manager.queues.get(target)
    everybody = queue.all() if queue is not None else ()
    return [position for position in positions(everybody) if position.work.local_queue == key]


def _item(position: Position) -> Manifest:
    view = position.work.view
    return {
        "metadata": _metadata(view.metadata),
        "priority": view.spec.priority,
        "localQueueName": view.spec.queue_name,
        "positionInClusterQueue": position.in_cluster_queue,
        "positionInLocalQueue": position.in_local_queue,
    }


def _metadata(metadata: ObjectMeta) -> Manifest:
    shown: Manifest = {"name": metadata.name, "namespace": metadata.namespace}
    if metadata.creation_timestamp is not None:
        shown["creationTimestamp"] = timestamp(metadata.creation_timestamp)
    owners = [
        {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
        for owner in metadata.owner_references
    ]
    return {**shown, "ownerReferences": owners} if owners else shown


def _not_found(resource: AggregatedResource, name: str) -> errors.NotFound:
    details = {"name": name, "group": GROUP, "kind": resource.singular}
    return errors.NotFound(f'{resource.singular}.{GROUP} "{name}" not found', reason="NotFound", details=details)
