"""Do to the pods of a StatefulSet, and to their claims, what was decided; and say so."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes.pod_control import PodControl, PodEventNotes
from fleetqueue.embedded.kubernetes.stateful_set_claims import (
    Claims,
    PersistentVolumeClaim,
    has_other_controller,
    missing_claims,
    wrong_owners,
)
from fleetqueue.embedded.kubernetes.stateful_set_objects import (
    StatefulSet,
    claim_manifests,
    identity,
    pod_manifest,
)
from fleetqueue.embedded.kubernetes.stateful_set_plan import Act, PodStep
from fleetqueue.embedded.kubernetes.stateful_set_status import SetRevisions
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.own_writes import OwnWrites

NOTES: Final = PodEventNotes(
    created="Create Pod {pod} in StatefulSet {owner} successful",
    create_failed="Create Pod {pod} in StatefulSet {owner} failed error: {error}",
    deleted="Delete Pod {pod} in StatefulSet {owner} successful",
    delete_failed="Delete Pod {pod} in StatefulSet {owner} failed error: {error}",
)
SOON: Final = 5.0
"""Seconds. The end of a claim wakes us; this only guards against a watch that broke."""


class StatefulPodControl:
    def __init__(self, cluster: Cluster, events: Recorder) -> None:
        self.cluster = cluster
        self.events = events
        self.pods = PodControl(cluster, events, NOTES)
        self.claim_writes = OwnWrites(cluster.informer(PersistentVolumeClaim).store)

    def subscribe(self) -> None:
        self.cluster.informer(Pod).subscribe(self.pods.writes.seen)
        self.cluster.informer(PersistentVolumeClaim).subscribe(self.claim_writes.seen)

    def are_unseen(self, key: str) -> bool:
        return self.pods.writes.are_unseen(key) or self.claim_writes.are_unseen(key)

    def claims(self, stateful_set: StatefulSet, pods: Iterable[Pod]) -> Claims:
        """Return the claims that are there of all ordinals that a set has, or had."""
        had = (stateful_set.ordinal_of(pod) for pod in pods)
        ordinals = {*stateful_set.ordinals, *(ordinal for ordinal in had if ordinal is not None)}
        wanted = (one["metadata"]["name"] for ordinal in ordinals for one in claim_manifests(stateful_set, ordinal))
        found = (self.cluster.get(PersistentVolumeClaim, name, stateful_set.namespace) for name in wanted)
        return {claim.name: claim for claim in found if claim is not None}

    async def take(self, stateful_set: StatefulSet, revisions: SetRevisions, claims: Claims, step: PodStep) -> None:
        """Take one step; one about a pod that is there already names it."""
        pod = step.pod
        if pod is None:
            await self._create(stateful_set, revisions, claims, step.ordinal)
            return
        if step.act is Act.DELETE:
            await self.pods.delete(stateful_set, pod)
            return
        if step.act is Act.COMPLETE_CLAIMS:
            await self._create_claims(stateful_set, claims, step.ordinal)
        try:
            await self._give_claims(stateful_set, pod, step.ordinal, claims)
            if step.act is Act.REPAIR:
                await self._identify(stateful_set, pod, step.ordinal)
        except errors.ApiError as error:
            note = f"Update Pod {pod.name} in StatefulSet {stateful_set.name} failed error: {error}"
            await self.events.warning(stateful_set, "FailedUpdate", note)
            raise

    async def _create(self, stateful_set: StatefulSet, revisions: SetRevisions, claims: Claims, ordinal: int) -> None:
        try:
            await self._create_claims(stateful_set, claims, ordinal)
        except (errors.ApiError, errors.RetryLater) as error:
            note = NOTES.create_failed.format(pod=stateful_set.pod_name(ordinal), owner=stateful_set.name, error=error)
            await self.events.warning(stateful_set, "FailedCreate", note)
            raise
        revision = revisions.current if stateful_set.keeps_revision(ordinal) else revisions.update
        await self.pods.create(stateful_set, pod_manifest(stateful_set, revision.template, revision.name, ordinal))

    async def _create_claims(self, stateful_set: StatefulSet, claims: Claims, ordinal: int) -> None:
        for manifest in missing_claims(stateful_set, ordinal, claims):
            await self._create_claim(stateful_set, manifest, stateful_set.pod_name(ordinal))
        for manifest in claim_manifests(stateful_set, ordinal):
            claim = claims.get(manifest["metadata"]["name"])
            if claim is not None and claim.is_deleting:
                raise errors.RetryLater(SOON, f"pvc {claim.name} is being deleted")

    async def _create_claim(self, stateful_set: StatefulSet, manifest: Manifest, pod: str) -> None:
        name = manifest["metadata"]["name"]
        self.claim_writes.creating(stateful_set.key, name, stateful_set.namespace)
        try:
            await self.cluster.client.create(PersistentVolumeClaim.resource, manifest)
        except errors.AlreadyExists:
            self.claim_writes.forget(name, stateful_set.namespace)
            raise
        except errors.ApiError as error:
            self.claim_writes.forget(name, stateful_set.namespace)
            note = f"Create Claim {name} for Pod {pod} in StatefulSet {stateful_set.name} failed error: {error}"
            await self.events.warning(stateful_set, "FailedCreate", note)
            raise
        note = f"Create Claim {name} Pod {pod} in StatefulSet {stateful_set.name} success"
        await self.events.normal(stateful_set, "SuccessfulCreate", note)

    async def _give_claims(self, stateful_set: StatefulSet, pod: Pod, ordinal: int, claims: Claims) -> None:
        """Give the claims of a pod the owners that the policy wants."""
        for change in wrong_owners(stateful_set, pod, ordinal, claims):
            claim = change.claim
            if has_other_controller(claim, stateful_set, pod):
                await self.events.warning(stateful_set, "ConflictingController", CONFLICT.format(claim=claim.name))
            patch = {"metadata": {**claim.precondition, "ownerReferences": list(change.owners)}}
            answer = await self.cluster.client.merge(claim.resource, claim.name, claim.namespace, patch)
            self.claim_writes.wrote(stateful_set.key, answer)

    async def _identify(self, stateful_set: StatefulSet, pod: Pod, ordinal: int) -> None:
        labels = identity(pod.name, ordinal)
        if not labels.items() <= pod.metadata.labels.items():
            patch = {"metadata": {**pod.precondition, "labels": labels}}
            answer = await self.cluster.client.merge(pod.resource, pod.name, pod.namespace, patch)
            self.pods.writes.wrote(stateful_set.key, answer)
        note = f"Update Pod {pod.name} in StatefulSet {stateful_set.name} successful"
        await self.events.normal(stateful_set, "SuccessfulUpdate", note)


CONFLICT: Final = (
    "PersistentVolumeClaim {claim} has a conflicting OwnerReference that acts as a manging controller,"
    " the retention policy is ignored for this claim"
)
