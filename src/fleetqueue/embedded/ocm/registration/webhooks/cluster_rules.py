"""What may be written about clusters and bindings, which rights that takes, and the defaults of a ManagedCluster.

The defaults are the time at which its taints were added, and a set where it names none.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import Find, Right
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, GROUP
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import DEFAULT_SET, REGISTER_GROUP

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_LENGTH: Final = 63
NOT_A_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
TOO_LONG: Final = f"must be no more than {LABEL_LENGTH} bytes"
WRONG_NAME: Final = "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet"


def check_cluster(cluster: Manifest) -> None:
    """Raise BadRequest where a cluster cannot be as it is described."""
    configs = (cluster.get("spec") or {}).get("managedClusterClientConfigs") or ()
    if not configs:
        return  # as upstream: then nobody looks at the name either
    problems = [f"metadata.name format is not correct: {fault}" for fault in _name_faults(cluster["metadata"]["name"])]
    wrong = [config.get("url", "") for config in configs if urlsplit(config.get("url", "")).scheme != "https"]
    problems += [f'url "{url}" is invalid in client configs' for url in wrong]
    if problems:
        raise errors.BadRequest("\n".join(problems), reason="BadRequest")


def check_acceptance(old: Manifest | None, new: Manifest, find: Find) -> None:
    """Raise Forbidden where a cluster is accepted whose namespace is about to go."""
    name = new["metadata"]["name"]
    namespace = find("", "namespaces", "", name) if is_acceptance(old, new) else None
    if namespace is not None and (namespace.get("status") or {}).get("phase") == "Terminating":
        raise forbidden(f"managedclusters/accept.{GROUP}", name, f'cluster namespace "{name}" is terminating')


def check_binding(binding: Manifest) -> None:
    """Raise BadRequest where a binding is not named as its set."""
    if binding["metadata"].get("name") != (binding.get("spec") or {}).get("clusterSet"):
        raise errors.BadRequest(WRONG_NAME, reason="BadRequest")


def rights_for_cluster(old: Manifest | None, new: Manifest) -> list[Right]:
    """Return what a write of a cluster takes: to accept it, to take it from a set, to put it into one."""
    rights = []
    if is_acceptance(old, new):
        refusal = 'user "{user}" cannot update the HubAcceptsClient field'
        rights.append(Right(REGISTER_GROUP, "managedclusters", "accept", "update", new["metadata"]["name"], refusal))
    before, after = _set_of(old or {}), _set_of(new)
    for name in (before, after) if before != after else ():
        if name:
            refusal = f'user "{{user}}" cannot add/remove a ManagedCluster to/from ManagedClusterSet "{name}"'
            rights.append(Right(GROUP, "managedclustersets", "join", "create", name, refusal))
    return rights


def rights_for_binding(old: Manifest | None, new: Manifest) -> list[Right]:
    """Return what a write of a binding takes: to bind the set, once."""
    name = (new.get("spec") or {}).get("clusterSet", "")
    refusal = f'user "{{user}}" is not allowed to bind cluster set "{name}"'
    return [Right(GROUP, "managedclustersets", "bind", "create", name, refusal)] if old is None else []


def is_acceptance(old: Manifest | None, new: Manifest) -> bool:
    return _accepts(new) and not _accepts(old or {})


def forbidden(what: str, name: str, why: str) -> errors.Forbidden:
    return errors.Forbidden(f'{what} "{name}" is forbidden: {why}', reason="Forbidden")


def _accepts(cluster: Manifest) -> bool:
    return bool((cluster.get("spec") or {}).get("hubAcceptsClient"))


def _set_of(cluster: Manifest) -> str:
    labels = (cluster.get("metadata") or {}).get("labels") or {}
    return str(labels.get(CLUSTER_SET_LABEL) or "")


def _name_faults(name: str) -> list[str]:
    """Return why a name cannot be that of a namespace."""
    problems = [] if len(name) <= LABEL_LENGTH else [TOO_LONG]
    if not LABEL.fullmatch(name):
        problems.append(NOT_A_LABEL)
    return [",".join(problems)] if problems else []


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
