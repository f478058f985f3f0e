"""Keep the pods of StatefulSets: each with a name and claims of its own, one after the other.

Reads:   StatefulSet, Pod, ControllerRevision, PersistentVolumeClaim
Writes:  Pod, PersistentVolumeClaim (create, owners), ControllerRevision, StatefulSet status, Events
Mirrors: kubernetes pkg/controller/statefulset

Left out: `maxUnavailable`, which Kubernetes 1.36 has switched off.

Simplified: a pod that is adopted keeps its own volumes; upstream tries to change them, which the API refuses.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import split_key
from fleetqueue.embedded.kubernetes.adoption import Adoption
from fleetqueue.embedded.kubernetes.controller_revisions import (
    ControllerRevision,
    data_hash,
    next_number,
    revision_manifest,
    revision_name,
    saved,
    surplus_revisions,
)
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid
from fleetqueue.embedded.kubernetes.pod_control import slow_start
from fleetqueue.embedded.kubernetes.pods import seconds_to_available
from fleetqueue.embedded.kubernetes.revision_control import RevisionControl
from fleetqueue.embedded.kubernetes.stateful_pod_control import StatefulPodControl
from fleetqueue.embedded.kubernetes.stateful_set_claims import Claims, PersistentVolumeClaim
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet, revision_of
from fleetqueue.embedded.kubernetes.stateful_set_plan import PodStep, decide
from fleetqueue.embedded.kubernetes.stateful_set_status import SetRevisions, wanted_status
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.own_writes import OwnWrites
from fleetqueue.runtime.statuses import live_status, write_status

BY_STATEFUL_SET: Final = "stateful-set"
REVISION_HASH: Final = "controller.kubernetes.io/hash"
LAG_SECONDS: Final = 1.0

stateful_set_of: Final = keys_of_owner(StatefulSet.resource)


class StatefulSetController(Controller):
    name = "stateful-sets"
    concurrency = 2

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.pods = StatefulPodControl(hub, CountingRecorder(hub.client, "statefulset-controller"))
        self.revisions = RevisionControl(hub, StatefulSet.resource)
        self.adoption = Adoption(hub, Pod, self.pods.pods.writes)
        self.own_writes = OwnWrites(hub.informer(StatefulSet).store)
        hub.informer(Pod).store.add_index(BY_STATEFUL_SET, stateful_set_of)

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(StatefulSet, by_key),
            Watch(Pod, self._sets_of_pod),
            Watch(PersistentVolumeClaim, self._sets_of_claim),
            Watch(ControllerRevision, stateful_set_of),
        )

    def _sets_of_pod(self, pod: Pod) -> Iterable[str]:
        """Wake the set that a pod belongs to, or those that may adopt it."""
        if pod.controller is not None:
            return stateful_set_of(pod)
        sets = self.hub.list(StatefulSet, pod.namespace)
        return [one.key for one in sets if one.spec.selector.matches(pod.metadata.labels)]

    def _sets_of_claim(self, claim: PersistentVolumeClaim) -> Iterable[str]:
        """Wake the sets that may have made a claim: a pod may wait for its end."""
        for stateful_set in self.hub.list(StatefulSet, claim.namespace):
            names = [one["metadata"]["name"] for one in stateful_set.spec.volume_claim_templates]
            if any(re.fullmatch(rf"{re.escape(f'{name}-{stateful_set.name}')}-\d+", claim.name) for name in names):
                yield stateful_set.key

    def subscribe(self) -> None:
        self.pods.subscribe()  # first, so that who is woken finds it settled
        self.revisions.subscribe()
        self.hub.informer(StatefulSet).subscribe(self.own_writes.seen)
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        if any(writes.are_unseen(key) for writes in (self.pods, self.revisions.writes, self.own_writes)):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        namespace, name = split_key(key)
        stateful_set = self.hub.get(StatefulSet, name, namespace)
        if stateful_set is None:
            return
        pods = [pod for pod in self.hub.by_index(Pod, BY_STATEFUL_SET, key) if owner_uid(pod) == stateful_set.uid]
        if await self._adopt(stateful_set, pods):
            return  # what was adopted or released wakes us
        known = self.revisions.of(stateful_set)
        if stateful_set.is_deleting and not known:
            return  # they go with it
        revisions = await self._revisions(stateful_set, known)
        await self._carry_out(stateful_set, pods, revisions)
        await self._clean_up(stateful_set, pods, known, revisions)
        wait = seconds_to_available(pods, stateful_set.spec.min_ready_seconds, clock.now())
        if wait is not None:
            raise errors.RetryLater(wait, "a pod must be ready for a while to be available")

    async def _adopt(self, stateful_set: StatefulSet, pods: Sequence[Pod]) -> bool:
        """Adopt pods and revisions that fit, release pods that do not; return whether anything was done."""
        selector = stateful_set.spec.selector
        by_name = partial(_has_ordinal, stateful_set)
        has_pods = await self.adoption.settle(stateful_set, selector, pods, by_name)
        return await self.revisions.adopt(stateful_set, selector) or has_pods

    async def _carry_out(self, stateful_set: StatefulSet, pods: Sequence[Pod], revisions: SetRevisions) -> None:
        """Do what is next, and say how far it is, also where something failed."""
        claims = self.pods.claims(stateful_set, pods)
        plan = decide(stateful_set, pods, claims, revisions.update.name, clock.now())
        replaced = 0
        try:
            await self._take(stateful_set, revisions, claims, plan.steps)
            await self._take(stateful_set, revisions, claims, plan.condemned_steps)
            if plan.outdated is not None:
                await self.pods.pods.delete(stateful_set, plan.outdated)
                replaced = 1
        finally:
            wanted = wanted_status(stateful_set, pods, revisions, clock.now(), replaced=replaced)
            answer = await write_status(self.hub, stateful_set, live_status(self.hub, stateful_set), wanted)
            if answer is not None:
                self.own_writes.wrote(stateful_set.key, answer)

    async def _take(
        self, stateful_set: StatefulSet, revisions: SetRevisions, claims: Claims, steps: Sequence[PodStep]
    ) -> None:
        take = partial(self.pods.take, stateful_set, revisions, claims)
        if stateful_set.is_ordered:
            for step in steps:
                await take(step)
            return
        _, failure = await slow_start(steps, take)
        if failure is not None:
            raise failure

    # Revisions

    async def _revisions(self, stateful_set: StatefulSet, known: Sequence[ControllerRevision]) -> SetRevisions:
        """Return the revisions that pods may have now; the one of a new template is made first."""
        data, collisions = saved(stateful_set.spec.template), stateful_set.status.collision_count
        equal = [one for one in known if one.data == data]
        if equal and equal[-1] is known[-1]:
            update = known[-1]
        elif equal:
            update = await self.revisions.renumber(stateful_set, equal[-1], next_number(known))
        else:
            update, collisions = await self._new_revision(stateful_set, known)
        before = stateful_set.status.current_revision
        current = next((one for one in known if one.name == before), update)
        return SetRevisions(current, update, collisions)

    async def _new_revision(
        self, stateful_set: StatefulSet, known: Sequence[ControllerRevision]
    ) -> tuple[ControllerRevision, int]:
        """Create the revision of the present template; under another name where its name is taken."""
        data, collisions = saved(stateful_set.spec.template), stateful_set.status.collision_count
        given = (stateful_set.spec.template.get("metadata") or {}).get("labels") or {}
        labels = {**given, REVISION_HASH: data_hash(data, collisions)}
        while True:
            name = revision_name(stateful_set.name, data_hash(data, collisions))
            manifest = revision_manifest(
                stateful_set,
                data,
                next_number(known),
                name=name,
                labels=labels,
                annotations=stateful_set.metadata.annotations,
            )
            made = await self.revisions.create(stateful_set, manifest)
            if made is not None:
                return made, collisions
            collisions += 1

    async def _clean_up(
        self,
        stateful_set: StatefulSet,
        pods: Iterable[Pod],
        known: Sequence[ControllerRevision],
        revisions: SetRevisions,
    ) -> None:
        """Delete the oldest revisions beyond those that are kept to roll back to."""
        live = {revisions.current.name, revisions.update.name, *map(revision_of, pods)}
        for one in surplus_revisions(known, live, stateful_set.spec.revision_history_limit):
            await self.revisions.delete(stateful_set, one)


def _has_ordinal(stateful_set: StatefulSet, pod: Pod) -> bool:
    return stateful_set.ordinal_of(pod) is not None
