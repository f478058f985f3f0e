"""Keep as many pods of one template as a ReplicaSet wants.

Reads:   ReplicaSet, Pod
Writes:  Pod (create, delete), ReplicaSet status, Events
Mirrors: kubernetes pkg/controller/replicaset

Left out: adopting pods that somebody else made.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import Object, View, split_key
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid
from fleetqueue.embedded.kubernetes.pod_control import PodControl, at_once, slow_start
from fleetqueue.embedded.kubernetes.pods import (
    from_template,
    is_available,
    prefix_of,
    removal_cost,
    room_to_wait,
    seconds_to_available,
)
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status, write_status

BY_REPLICA_SET: Final = "replica-set"
LAG_SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 500
FAILURE: Final = "ReplicaFailure"


class ReplicaSetSpec(View):
    replicas: int = 1
    min_ready_seconds: int = 0
    template: dict[str, Any] = msgspec.field(default_factory=dict)


class ReplicaSetStatus(View):
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int = 0
    observed_generation: int = 0


class ReplicaSet(Object):
    resource: ClassVar = Resource("apps", "v1", "ReplicaSet", "replicasets")

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


replica_set_of: Final = keys_of_owner(ReplicaSet.resource)


class ReplicaSetController(Controller):
    name = "replica-sets"
    concurrency = 2

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.pods = PodControl(hub, CountingRecorder(hub.client, "replicaset-controller"))
        hub.informer(Pod).store.add_index(BY_REPLICA_SET, replica_set_of)

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(ReplicaSet, by_key), Watch(Pod, replica_set_of)

    def subscribe(self) -> None:
        self.hub.informer(Pod).subscribe(self.pods.writes.seen)  # first, so that who is woken finds it settled
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        if self.pods.writes.are_unseen(key):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        namespace, name = split_key(key)
        replica_set = self.hub.get(ReplicaSet, name, namespace)
        if replica_set is None:
            return
        mine = [pod for pod in self.hub.by_index(Pod, BY_REPLICA_SET, key) if owner_uid(pod) == replica_set.uid]
        active = [pod for pod in mine if pod.is_active]
        failure = None if replica_set.is_deleting else await self._scale(replica_set, active)
        live = live_status(self.hub, replica_set)
        await write_status(self.hub, replica_set, live, wanted_status(replica_set, live, mine, failure, clock.now()))
        if failure is not None:
            raise failure
        wait = seconds_to_available(active, replica_set.spec.min_ready_seconds, clock.now())
        if wait is not None:
            raise errors.RetryLater(wait, "a pod must be ready for a while to be available")

    async def _scale(self, replica_set: ReplicaSet, active: Sequence[Pod]) -> errors.ApiError | None:
        """Create what is missing, delete what is too much; return why a pod could not be made."""
        missing = replica_set.spec.replicas - len(active)
        surplus = sorted(active, key=removal_cost)[: max(-missing, 0)][:MOST_AT_ONCE]
        await at_once(surplus, partial(self.pods.delete, replica_set))
        count = min(missing, MOST_AT_ONCE, room_to_wait(active))
        _, failure = await slow_start(range(count), partial(self._create, replica_set))
        return failure

    async def _create(self, replica_set: ReplicaSet, number: int) -> None:
        prefix = prefix_of(replica_set.name)
        await self.pods.create(
            replica_set, from_template(replica_set, replica_set.spec.template, prefix + clock.suffix(), prefix)
        )


def wanted_status(
    replica_set: ReplicaSet, live: Manifest, pods: Sequence[Pod], failure: errors.ApiError | None, now: datetime
) -> Manifest:
    """Say how many pods there are, how many of them are ready, and for long enough."""
    active = [pod for pod in pods if pod.is_active]
    labels = ((replica_set.spec.template.get("metadata") or {}).get("labels") or {}).items()
    numbers = {
        "fullyLabeledReplicas": sum(labels <= pod.metadata.labels.items() for pod in active),
        "readyReplicas": sum(pod.is_ready for pod in active),
        "availableReplicas": sum(is_available(pod, replica_set.spec.min_ready_seconds, now) for pod in active),
    }
    status: Manifest = {
        "replicas": len(active),
        **{name: number for name, number in numbers.items() if number},
        "terminatingReplicas": sum(pod.is_terminating for pod in pods),
        "observedGeneration": replica_set.metadata.generation,
    }
    others = [condition for condition in live.get("conditions") or () if condition["type"] != FAILURE]
    previous = next((condition for condition in live.get("conditions") or () if condition["type"] == FAILURE), None)
    if failure is not None:
        new = {"type": FAILURE, "status": "True", "reason": "FailedCreate", "message": str(failure)}
        others.append(previous or {**new, "lastTransitionTime": timestamp(now)})
    return {**status, "conditions": others} if others else status
