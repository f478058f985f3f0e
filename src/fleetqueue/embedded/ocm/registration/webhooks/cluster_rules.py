"""What may be written about clusters and bindings, and which rights that takes beyond the one to write them."""

import re
from typing import Final
from urllib.parse import urlsplit

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import Find, Right
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, GROUP
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import REGISTER_GROUP

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
    found = [f"metadata.name format is not correct: {fault}" for fault in _name_faults(cluster["metadata"]["name"])]
    wrong = [each.get("url", "") for each in configs if urlsplit(each.get("url", "")).scheme != "https"]
    found += [f'url "{url}" is invalid in client configs' for url in wrong]
    if found:
        raise errors.BadRequest("\n".join(found), reason="BadRequest")


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
    found = [] if len(name) <= LABEL_LENGTH else [TOO_LONG]
    if not LABEL.fullmatch(name):
        found.append(NOT_A_LABEL)
    return [",".join(found)] if found else []
