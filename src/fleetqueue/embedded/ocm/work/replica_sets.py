"""Keep one ManifestWork on each cluster that the Placements of a ManifestWorkReplicaSet choose.

Reads:   ManifestWorkReplicaSet, Placement, PlacementDecision, ManifestWork
Writes:  ManifestWorks in the clusters' namespaces; ManifestWorkReplicaSet: status and finalizer
Mirrors: OCM work/hub/controllers/manifestworkreplicasetcontroller

A ManifestWork has the name of its replica set; a cluster that two Placements choose has one work, of whoever was last.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors, rollouts
from fleetqueue.api import work_v1 as work
from fleetqueue.api.meta import key_of, replacement, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.work import replica_set_status
from fleetqueue.embedded.ocm.work.replica_set_status import Ref, ReplicaSetProgress, is_up_to_date
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import write_status

BY_OWNER: Final = "replica set"
BY_PLACEMENT: Final = "placement"
"""Indexes: of works by their replica set, of replica sets and of decisions by their Placement."""

log = Log("work")


class ManifestWorkReplicaSetController(Controller):
    name = "manifest-work-replica-set"
    concurrency = 5

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(work.ManifestWorkReplicaSet, by_key),
            Watch(work.ManifestWork, _replica_set_of),
            Watch(cluster.Placement, lambda obj: self._users_of(obj.key)),
            Watch(cluster.PlacementDecision, lambda obj: self._users_of(obj.placement_key)),
        )

    def subscribe(self) -> None:
        self.hub.informer(work.ManifestWork).store.add_index(BY_OWNER, _owner_label)
        self.hub.informer(work.ManifestWorkReplicaSet).store.add_index(BY_PLACEMENT, _placements_of)
        self.hub.informer(cluster.PlacementDecision).store.add_index(
            BY_PLACEMENT, lambda decision: (decision.placement_key,)
        )
        super().subscribe()

    def _users_of(self, placement: str) -> list[str]:
        return [
            replica_set.key for replica_set in self.hub.by_index(work.ManifestWorkReplicaSet, BY_PLACEMENT, placement)
        ]

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        this = self.hub.get(work.ManifestWorkReplicaSet, name, namespace)
        if this is None:
            return
        if this.is_deleting:
            await self._finalize(this)
        elif not await self.hub.add_finalizer(this, work.REPLICA_SET_FINALIZER):
            await self._roll_out(this)

    async def _finalize(self, this: work.ManifestWorkReplicaSet) -> None:
        if work.REPLICA_SET_FINALIZER not in this.metadata.finalizers:
            return
        works = self._works_of(this)
        for manifest_work in works:
            await self._delete(manifest_work)
        if not works or this.spec.cascade_deletion_policy != work.FOREGROUND:
            await self.hub.remove_finalizer(this, work.REPLICA_SET_FINALIZER)

    async def _roll_out(self, this: work.ManifestWorkReplicaSet) -> None:
        """Bring the works of each Placement to what its strategy allows now, then tell of all."""
        wanted = {ref.name for ref in this.spec.placement_refs}
        for manifest_work in self._works_of(this):
            if manifest_work.metadata.labels.get(work.PLACEMENT_NAME_LABEL) not in wanted:
                await self._delete(manifest_work)
        status = ReplicaSetProgress()
        for ref in this.spec.placement_refs:
            placement = self.hub.get(cluster.Placement, ref.name, this.namespace)
            if placement is None:
                status.is_placement_missing = True
                break
            try:
                await self._roll_out_one(this, ref, placement, status)
            except ValueError as error:  # a strategy or decision that cannot be read; only a change helps
                log.warning("cannot be rolled out", replica_set=this.key, placement=ref.name, error=error)
                status.is_broken = True
        await self._write_status(this, status)
        if status.recheck_after is not None:
            raise errors.RetryLater(status.recheck_after, "a rollout waits for time to pass")

    async def _roll_out_one(
        self,
        this: work.ManifestWorkReplicaSet,
        ref: work.PlacementRef,
        placement: cluster.Placement,
        status: ReplicaSetProgress,
    ) -> None:
        works = self._works_of(this, ref.name)
        current = {item.namespace: item for item in works if is_up_to_date(this, self._spec_of(item))}
        known = [replica_set_status.rollout_status(item) for item in current.values()]
        decisions = self.hub.by_index(cluster.PlacementDecision, BY_PLACEMENT, placement.key)
        groups = rollouts.decision_groups(decisions)
        rollout = rollouts.plan(ref.rollout_strategy, groups, known, clock.now())
        existing = dict.fromkeys(current)
        for item in rollout.clusters:
            if item.status == rollouts.TO_APPLY:
                await self._ensure(this, item.cluster, ref.name)
                existing[item.cluster] = None
        for item in rollout.removed:
            await self._delete(current[item.cluster])
            existing.pop(item.cluster)
        await self._delete_outdated(works, current, groups)
        succeeded = sum(item.status == rollouts.SUCCEEDED for item in known)
        status.note(Ref(ref.name, placement, len(groups), len(existing), succeeded), rollout.recheck_after)

    async def _delete_outdated(
        self, works: Sequence[work.ManifestWork], current: dict[str, work.ManifestWork], groups: rollouts.Groups
    ) -> None:
        """Delete works of an older template on clusters that are no longer chosen: no rollout would reach them."""
        chosen = {name for names in groups.values() for name in names}
        for manifest_work in works:
            if manifest_work.namespace not in current and manifest_work.namespace not in chosen:
                await self._delete(manifest_work)

    async def _ensure(self, this: work.ManifestWorkReplicaSet, namespace: str, placement: str) -> None:
        labels = {
            **this.metadata.labels,
            work.REPLICA_SET_LABEL: f"{this.namespace}.{this.name}",
            work.PLACEMENT_NAME_LABEL: placement,
        }
        spec = replica_set_status.work_spec(this)
        live = self.hub.get(work.ManifestWork, this.name, namespace)
        if live is None:
            manifest = work.ManifestWork.manifest(this.name, namespace, labels=labels, spec=spec)
            await self.hub.client.create(work.ManifestWork.resource, manifest)
            log.info("work created", replica_set=this.key, cluster=namespace)
            return
        metadata = replacement({"labels": live.metadata.labels}, {"labels": labels})
        patch = {"metadata": metadata, "spec": replacement(self._spec_of(live), spec)}
        if patch["metadata"] or patch["spec"]:
            patch["metadata"] |= live.precondition
            await self.hub.client.merge(live.resource, live.name, live.namespace, patch)
            log.info("work changed", replica_set=this.key, cluster=namespace)

    async def _delete(self, manifest_work: work.ManifestWork) -> None:
        if not manifest_work.is_deleting and await self.hub.client.delete_seen(manifest_work):
            log.info("work deleted", work=manifest_work.key)

    async def _write_status(self, this: work.ManifestWorkReplicaSet, status: ReplicaSetProgress) -> None:
        live = self._raw(work.ManifestWorkReplicaSet, this.key).get("status") or {}
        works = {ref.name: self._up_to_date(this, ref.name) for ref in status.refs}
        await write_status(self.hub, this, live, replica_set_status.wanted(live, status, works, clock.now()))

    def _up_to_date(self, this: work.ManifestWorkReplicaSet, placement: str) -> list[work.ManifestWork]:
        works = self._works_of(this, placement)
        return [
            manifest_work
            for manifest_work in works
            if not manifest_work.is_deleting and is_up_to_date(this, self._spec_of(manifest_work))
        ]

    def _works_of(self, this: work.ManifestWorkReplicaSet, placement: str = "") -> list[work.ManifestWork]:
        works = self.hub.by_index(work.ManifestWork, BY_OWNER, f"{this.namespace}.{this.name}")
        return [
            manifest_work
            for manifest_work in works
            if not placement or manifest_work.metadata.labels.get(work.PLACEMENT_NAME_LABEL) == placement
        ]

    def _spec_of(self, manifest_work: work.ManifestWork) -> Manifest:
        return self._raw(work.ManifestWork, manifest_work.key).get("spec") or {}

    def _raw(self, kind: type[Any], key: str) -> Manifest:
        return self.hub.informer(kind).store.raw(key) or {}


def _owner_label(manifest_work: work.ManifestWork) -> Iterable[str]:
    label = manifest_work.metadata.labels.get(work.REPLICA_SET_LABEL)
    return (label,) if label else ()


def _replica_set_of(manifest_work: work.ManifestWork) -> Iterable[str]:
    """Read the key out of the label; a name with a dot cannot be told from its namespace, as upstream has it."""
    parts = manifest_work.metadata.labels.get(work.REPLICA_SET_LABEL, "").split(".")
    return (key_of(parts[0], parts[1]),) if len(parts) == 2 else ()


def _placements_of(replica_set: work.ManifestWorkReplicaSet) -> Iterable[str]:
    return [key_of(replica_set.namespace, ref.name) for ref in replica_set.spec.placement_refs]
