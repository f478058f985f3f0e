"""Roll Deployments out: a new ReplicaSet for every new template, old ones made smaller as the new one gets ready.

Reads:   Deployment, ReplicaSet
Writes:  ReplicaSet (create, scale, delete the oldest), Deployment status and revision, Events
Mirrors: kubernetes pkg/controller/deployment

Left out: rolling back by annotation, and sharing a change of size between several ReplicaSets that run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.meta import split_key
from fleetqueue.embedded.kubernetes import deployment_status
from fleetqueue.embedded.kubernetes.deployment_objects import (
    REVISION,
    Deployment,
    replica_set_manifest,
    scale_annotations,
    without_hash,
)
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid
from fleetqueue.embedded.kubernetes.replica_sets import ReplicaSet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.own_writes import OwnWrites
from fleetqueue.runtime.statuses import live_status, write_status

BY_DEPLOYMENT: Final = "deployment"
LAG_SECONDS: Final = 1.0

deployment_of: Final = keys_of_owner(Deployment.resource)
log = Log("deployments")


@dataclass(frozen=True, slots=True)
class ScaleChange:
    found: ReplicaSet
    replicas: int


class DeploymentController(Controller):
    name = "deployments"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = CountingRecorder(hub.client, "deployment-controller")
        sets = hub.informer(ReplicaSet)
        sets.store.add_index(BY_DEPLOYMENT, deployment_of)
        self.set_writes = OwnWrites(sets.store)

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(Deployment, by_key), Watch(ReplicaSet, deployment_of)

    def subscribe(self) -> None:
        self.hub.informer(ReplicaSet).subscribe(self.set_writes.seen)  # first, so that who is woken finds it settled
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        if self.set_writes.are_unseen(key):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        namespace, name = split_key(key)
        deployment = self.hub.get(Deployment, name, namespace)
        if deployment is None or deployment.is_deleting:
            return
        sets = [one for one in self.hub.by_index(ReplicaSet, BY_DEPLOYMENT, key) if owner_uid(one) == deployment.uid]
        new = newest(deployment, sets)
        if new is None and not deployment.spec.paused and not _must_wait(deployment, sets):
            await self._create(deployment, sets)
            return  # its appearance wakes us
        for scale in decide(deployment, sets, new):
            await self._scale(deployment, scale)
        await self._clean_up(deployment, sets, new)
        live = live_status(self.hub, deployment)
        wanted = deployment_status.wanted_status(deployment, live, sets, new, clock.now())
        revision = new.metadata.annotations.get(REVISION, "") if new is not None else ""
        notes = {REVISION: revision} if revision else {}
        await write_status(self.hub, deployment, live, wanted, annotations=notes)
        left = deployment_status.seconds_to_timeout(deployment, wanted, clock.now())
        if left is not None:
            raise errors.RetryLater(left, "the rollout is given up then")

    async def _create(self, deployment: Deployment, sets: Sequence[ReplicaSet]) -> None:
        revision = max((revision_of(one) for one in sets), default=0) + 1
        replicas = first_size(deployment, sets)
        manifest = replica_set_manifest(deployment, replicas, revision)
        name = manifest["metadata"]["name"]
        self.set_writes.creating(deployment.key, name, deployment.namespace)
        try:
            await self.hub.client.create(ReplicaSet.resource, manifest)
        except errors.ApiError:
            self.set_writes.forget(name, deployment.namespace)
            raise
        log.info("replica set made", deployment=deployment.key, replica_set=name, revision=revision)
        if replicas:
            note = f"Scaled up replica set {name} from 0 to {replicas}"
            await self.events.normal(deployment, "ScalingReplicaSet", note)

    async def _scale(self, deployment: Deployment, scale: ScaleChange) -> None:
        replica_set, before = scale.found, scale.found.spec.replicas
        metadata = {**replica_set.precondition, "annotations": scale_annotations(deployment)}
        patch = {"metadata": metadata, "spec": {"replicas": scale.replicas}}
        answer = await self.hub.client.merge(replica_set.resource, replica_set.name, replica_set.namespace, patch)
        self.set_writes.wrote(deployment.key, answer)
        which = "up" if scale.replicas > before else "down"
        note = f"Scaled {which} replica set {replica_set.name} from {before} to {scale.replicas}"
        await self.events.normal(deployment, "ScalingReplicaSet", note)

    async def _clean_up(self, deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> None:
        """Delete the oldest ReplicaSets beyond those that are kept to roll back to."""
        old = [one for one in sets if one is not new and not one.spec.replicas and not one.status.replicas]
        kept = deployment.spec.revision_history_limit
        for one in sorted(old, key=revision_of)[: max(len(old) - kept, 0)]:
            if not one.is_deleting:
                await self.hub.client.delete(one.resource, one.name, one.namespace, uid=one.uid)


def newest(deployment: Deployment, sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """Return the ReplicaSet of the present template."""
    wanted = without_hash(deployment.spec.template)
    matches = [one for one in sets if without_hash(one.spec.template) == wanted]
    return min(matches, key=lambda one: (one.metadata.creation_timestamp, one.name), default=None)


def first_size(deployment: Deployment, sets: Iterable[ReplicaSet]) -> int:
    """Return how many pods a new ReplicaSet may have at once, beside those that run."""
    room = deployment.spec.replicas + deployment.max_surge - sum(one.spec.replicas for one in sets)
    return max(0, min(deployment.spec.replicas, room))


def decide(deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> list[ScaleChange]:
    """Choose the next sizes. No I/O: every branch is one row of a test table."""
    old = [one for one in sets if one is not new]
    if deployment.spec.paused:
        return _grown(deployment, new, deployment.spec.replicas) if new is not None and not _run(old) else []
    if new is None:
        return _to_nothing(old) if deployment.recreates else []
    if deployment.recreates:
        return _to_nothing(old) or _grown(deployment, new, deployment.spec.replicas)
    if new.spec.replicas > deployment.spec.replicas:
        return [ScaleChange(new, deployment.spec.replicas)]
    grown = _grown(deployment, new, new.spec.replicas + first_size(deployment, sets))
    return grown or _shrunk(deployment, old, new)


def _grown(deployment: Deployment, new: ReplicaSet, size: int) -> list[ScaleChange]:
    size = min(size, deployment.spec.replicas)
    return [ScaleChange(new, size)] if size != new.spec.replicas else []


def _shrunk(deployment: Deployment, old: Sequence[ReplicaSet], new: ReplicaSet) -> list[ScaleChange]:
    """Make the old ones smaller: by what is not available in them anyway, then by what may be missing."""
    least = deployment.spec.replicas - deployment.max_unavailable
    unready = new.spec.replicas - new.status.available_replicas
    spare = sum(one.spec.replicas for one in (*old, new)) - least - unready
    scales: list[ScaleChange] = []
    for one in sorted(old, key=lambda one: (one.status.available_replicas, revision_of(one))):
        cut = min(one.spec.replicas, max(spare, 0))
        if cut:
            scales.append(ScaleChange(one, one.spec.replicas - cut))
            spare -= cut
    return scales


def _to_nothing(sets: Iterable[ReplicaSet]) -> list[ScaleChange]:
    return [ScaleChange(one, 0) for one in sets if one.spec.replicas]


def _must_wait(deployment: Deployment, old: Sequence[ReplicaSet]) -> bool:
    """Tell whether the old pods must have gone before a new one may be made."""
    return deployment.recreates and _run(old)


def _run(sets: Iterable[ReplicaSet]) -> bool:
    return any(one.spec.replicas or one.status.replicas for one in sets)


def revision_of(replica_set: ReplicaSet) -> int:
    text = replica_set.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0
