"""What a ManagedCluster gets when it is written: when its taints were added, and a set where it names none."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import DEFAULT_SET

TIME_ADDED: Final = "timeAdded"


def completed(old: Manifest | None, new: Manifest, now: datetime, *, default_set: bool = True) -> Manifest:
    """Return a cluster as it is to be stored; raises BadRequest where somebody says when a taint was added."""
    spec = new.get("spec") or {}
    taints = spec.get("taints")
    if taints:
        before = ((old or {}).get("spec") or {}).get("taints") or []
        new = {**new, "spec": {**spec, "taints": dated(None if old is None else before, taints, now)}}
    return in_a_set(new) if default_set else new


def dated(old: Sequence[Manifest] | None, new: Sequence[Manifest], now: datetime) -> list[Manifest]:
    """Date the taints that are new or changed; of a new cluster (`old` is None), all."""
    known = {taint["key"]: taint for taint in reversed(old or ())}
    refused = [] if old is None else [taint["key"] for taint in new if _is_misdated(known.get(taint["key"]), taint)]
    if refused:
        names = ",".join(refused)
        raise errors.BadRequest(f'It is not allowed to set TimeAdded of Taint "{names}".', reason="BadRequest")
    moment = {TIME_ADDED: timestamp(now)}
    return [taint if _is_same(known.get(taint["key"]), taint) else {**taint, **moment} for taint in new]


def in_a_set(cluster: Manifest) -> Manifest:
    """Put a cluster into the default set, unless it is in another."""
    metadata = cluster["metadata"]
    labels = metadata.get("labels") or {}
    if labels.get(CLUSTER_SET_LABEL):
        return cluster
    return {**cluster, "metadata": {**metadata, "labels": {**labels, CLUSTER_SET_LABEL: DEFAULT_SET}}}


def _is_same(old: Manifest | None, new: Manifest) -> bool:
    return old is not None and _said(old) == _said(new)


def _is_misdated(old: Manifest | None, new: Manifest) -> bool:
    if old is not None and _said(old) == _said(new):
        return (old.get(TIME_ADDED) or None) != (new.get(TIME_ADDED) or None)
    return bool(new.get(TIME_ADDED))


def _said(taint: Manifest) -> tuple[Any, Any]:
    return taint.get("value") or "", taint.get("effect")
