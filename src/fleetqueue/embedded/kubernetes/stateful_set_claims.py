"""With whom the claims of a StatefulSet's pods go: owner references, by its retention policy.

| when deleted | when scaled | owner of a claim |
|---|---|---|
| Retain | Retain | nobody |
| Delete | Retain | the set |
| Retain | Delete | its pod, once that is too many |
| Delete | Delete | the set; its pod instead, once that is too many |
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import Object, OwnerReference, controller_reference
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.kubernetes.stateful_set_objects import RETAIN, StatefulSet, claim_manifests


class PersistentVolumeClaim(Object):
    resource: ClassVar = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")


Claims = Mapping[str, PersistentVolumeClaim]
"""Those that are there, by name."""


@dataclass(frozen=True, slots=True)
class ClaimChange:
    claim: PersistentVolumeClaim
    owners: Sequence[Manifest]
    """All that it shall have, those of others too."""


def missing_claims(stateful_set: StatefulSet, ordinal: int, claims: Claims) -> list[Manifest]:
    return [one for one in claim_manifests(stateful_set, ordinal) if one["metadata"]["name"] not in claims]


def wrong_owners(stateful_set: StatefulSet, pod: Pod, ordinal: int, claims: Claims) -> list[ClaimChange]:
    """Return the claims of a pod that belong to somebody else than the policy says."""
    there = [claims.get(one["metadata"]["name"]) for one in claim_manifests(stateful_set, ordinal)]
    changes: list[ClaimChange] = []
    for claim in there:
        owners = wanted_owners(claim, stateful_set, pod, ordinal) if claim is not None else None
        if claim is not None and owners is not None:
            changes.append(ClaimChange(claim, owners))
    return changes


def wanted_owners(
    claim: PersistentVolumeClaim, stateful_set: StatefulSet, pod: Pod, ordinal: int
) -> list[Manifest] | None:
    """Return the owners that a claim shall have; None where it has them, or is not ours to change."""
    found = claim.metadata.owner_references
    ours = [one for one in found if is_of(one, stateful_set) or is_of(one, pod)]
    if any(one.uid not in (stateful_set.uid, pod.uid) for one in ours):
        return None  # of a set or a pod that was there before, with which it goes
    others = [_as_json(one) for one in found if one not in ours]
    if has_other_controller(claim, stateful_set, pod):
        return others if ours else None
    wanted = _owners_by_policy(stateful_set, pod, ordinal)
    if {(one.uid, one.controller) for one in ours} == {(one.uid, True) for one in wanted}:
        return None
    return others + [controller_reference(one.resource, one.name, one.uid) for one in wanted]


def has_other_controller(claim: PersistentVolumeClaim, stateful_set: StatefulSet, pod: Pod) -> bool:
    """Tell whether somebody else answers for a claim that the policy would give to the set or the pod."""
    if stateful_set.retention.keeps_all:
        return False
    owners = claim.metadata.owner_references
    return any(one.controller and not is_of(one, stateful_set) and not is_of(one, pod) for one in owners)


def is_stale(stateful_set: StatefulSet, ordinal: int, claims: Claims) -> bool:
    """Tell whether a new pod has to wait for the end of a claim that goes with a pod of its name."""
    if stateful_set.retention.when_scaled == RETAIN:
        return False
    there = [claims.get(one["metadata"]["name"]) for one in claim_manifests(stateful_set, ordinal)]
    owners = [owner for claim in there if claim is not None for owner in claim.metadata.owner_references]
    return any(_names(one, Pod.resource, stateful_set.pod_name(ordinal)) for one in owners)


def _owners_by_policy(stateful_set: StatefulSet, pod: Pod, ordinal: int) -> Iterable[Object]:
    policy, is_too_many = stateful_set.retention, ordinal not in stateful_set.ordinals
    if is_too_many and policy.when_scaled != RETAIN:
        return [pod]
    return [stateful_set] if policy.when_deleted != RETAIN else []


def is_of(owner: OwnerReference, obj: Object) -> bool:
    return _names(owner, obj.resource, obj.name)


def _names(owner: OwnerReference, kind: Resource, name: str) -> bool:
    return (owner.api_version, owner.kind, owner.name) == (kind.api_version, kind.kind, name)


def _as_json(owner: OwnerReference) -> Manifest:
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    flags = {"controller": owner.controller, "blockOwnerDeletion": owner.block_owner_deletion}
    return {**reference, **{name: value for name, value in flags.items() if value}}
