"""Namespaces: their name is a label, and they go only when a controller has emptied them."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value
from fleetqueue.embedded.apiserver.kinds.names import label, qualified_name
from fleetqueue.embedded.apiserver.registry.kinds.copying import with_field_of
from fleetqueue.embedded.apiserver.registry.strategy import (
    DeletionStrategy,
    StatusStrategy,
    Strategy,
    SubresourceStrategy,
)
from fleetqueue.embedded.apiserver.validation.metadata import STANDARD_FINALIZERS

NAME_LABEL: Final = "kubernetes.io/metadata.name"
KUBERNETES: Final = "kubernetes"
"""The finalizer that stands for all that is in a namespace."""
ACTIVE, TERMINATING = "Active", "Terminating"


def default(namespace: Manifest) -> Manifest:
    metadata = namespace.get("metadata") or {}
    name, labels = metadata.get("name"), metadata.get("labels") or {}
    if name and labels.get(NAME_LABEL) != name:
        namespace = {**namespace, "metadata": {**metadata, "labels": {**labels, NAME_LABEL: name}}}
    status = namespace.get("status") or {}
    return namespace if status.get("phase") else {**namespace, "status": {**status, "phase": ACTIVE}}


def prepare(namespace: Manifest, old: Manifest | None, user: User) -> Manifest:
    if old is not None:
        return with_field_of(namespace, "spec", old)
    spec = namespace.get("spec") or {}
    finalizers = spec.get("finalizers") or []
    if KUBERNETES not in finalizers:
        spec = {**spec, "finalizers": [*finalizers, KUBERNETES]}
    return default({**namespace, "spec": spec, "status": {"phase": ACTIVE}})


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    problems = []
    for index, name in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        field = f"spec.finalizers[{index}]"
        problems += [invalid_value(field, name, why) for why in qualified_name(name)]
        if "/" not in name and name not in STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            problems.append(invalid_value(field, name, detail))
    return problems


def status_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    phase = (new.get("status") or {}).get("phase", "")
    wanted, state = (TERMINATING, "not empty") if new["metadata"].get("deletionTimestamp") else (ACTIVE, "empty")
    if phase == wanted:
        return []
    return [invalid_value("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {state}")]


def _keep_finalizers(new: Manifest, old: Manifest) -> Manifest:
    return {**old, "metadata": new["metadata"], "spec": new.get("spec") or {}}


def is_held(namespace: Manifest) -> bool:
    """Tell whether a deleted namespace stays until its finalizers are taken away."""
    return bool((namespace.get("spec") or {}).get("finalizers"))


def dying(namespace: Manifest) -> Manifest:
    return {**namespace, "status": {**(namespace.get("status") or {}), "phase": TERMINATING}}


STRATEGY: Final = Strategy(
    name_rule=label,
    default=default,
    prepare=prepare,
    faults=faults,
    status=StatusStrategy(status_faults),
    subresources={"finalize": SubresourceStrategy(_keep_finalizers, faults)},
    deletion=DeletionStrategy(prepare=dying, is_held=is_held),
)
