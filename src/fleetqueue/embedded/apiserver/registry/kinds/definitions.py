"""CustomResourceDefinitions: what may be left out, what is refused, what the server alone says."""

from typing import Final

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.registry.kinds.definition_rules import faults, status_faults
from fleetqueue.embedded.apiserver.registry.kinds.definition_schemas import with_shared
from fleetqueue.embedded.apiserver.registry.strategy import DeletionStrategy, StatusStrategy, Strategy

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a deleted definition until its objects are gone."""


def default(obj: Manifest) -> Manifest:
    """Fill in the names that follow from others, and how versions are converted."""
    spec = obj.get("spec") or {}
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    names.setdefault("singular", kind.lower())
    if kind:
        names.setdefault("listKind", f"{kind}List")
    after = {**spec, "names": names}
    after.setdefault("conversion", {"strategy": "None"})
    obj = {**obj, "spec": after}
    status = obj.get("status")
    return obj if not status or status.get("storedVersions") else {**obj, "status": _stored(status, after)}


def prepare(obj: Manifest, old: Manifest | None, user: User) -> Manifest:
    """Remember in which versions objects may be stored."""
    spec = with_shared(obj["spec"])
    return {**obj, "spec": spec, "status": _stored(obj.get("status") or {}, spec)}


def _stored(status: Manifest, spec: Manifest) -> Manifest:
    """Return the status with every version in which objects may be stored."""
    stored = list(status.get("storedVersions") or ())
    now = next((version.get("name") for version in spec.get("versions") or () if version.get("storage")), None)
    if now is not None and now not in stored:
        stored.append(now)
    return {**status, "storedVersions": stored or None}


def dying(obj: Manifest) -> Manifest:
    """Let a definition wait for its objects."""
    metadata = obj["metadata"]
    finalizers = list(metadata.get("finalizers") or ())
    if CLEANUP not in finalizers:
        finalizers.append(CLEANUP)
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    pending = {"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "message": message}
    status = obj.get("status") or {}
    conditions = [*(status.get("conditions") or ()), {"lastTransitionTime": timestamp(clock.now()), **pending}]
    return {**obj, "metadata": {**metadata, "finalizers": finalizers}, "status": {**status, "conditions": conditions}}


def _is_held(obj: Manifest) -> bool:
    return CLEANUP in (obj["metadata"].get("finalizers") or ())


STRATEGY: Final = Strategy(
    default=default,
    prepare=prepare,
    faults=faults,
    status=StatusStrategy(
        status_faults,
        initial={"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None},
    ),
    deletion=DeletionStrategy(prepare=dying, is_held=_is_held),
)
