"""The role of a pod: what of it matters for its admission. Pods of the same role are one pod set of their group.

Mirrors: Kueue pkg/util/pod (GenerateRoleHash)
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import orjson

from fleetqueue.api.kueue_pods import ROLE_HASH
from fleetqueue.api.scheme import Manifest

MAIN: Final = "main"
"""The pod set of a pod that stands alone."""
LENGTH: Final = 8
FIELDS: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "overhead",
    "resourceClaims",
)


def role_of(pod: Manifest) -> str:
    """Return the role that was noted when a pod was made, or else its hash."""
    noted: str | None = (pod["metadata"].get("annotations") or {}).get(ROLE_HASH)
    return role_hash(pod["spec"]) if noted is None else noted


def role_hash(spec: Manifest) -> str:
    text = orjson.dumps({"spec": shape(spec)}, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:LENGTH]


def shape(spec: Manifest) -> dict[str, Any]:
    """Return what of a pod's spec its role is made of; nothing else of it may differ within a pod set."""
    found = {
        "initContainers": _containers(spec.get("initContainers") or ()),
        "containers": _containers(spec.get("containers") or ()),
        **{field: spec.get(field) or None for field in FIELDS if field != "priority"},
        "priority": spec.get("priority"),
    }
    if spec.get("resources") is not None:
        found["resources"] = spec["resources"].get("requests") or None
    return found


def _containers(containers: Sequence[Manifest]) -> list[dict[str, Any]]:
    return [
        {
            "resources": {"requests": (container.get("resources") or {}).get("requests") or None},
            "ports": container.get("ports") or None,
        }
        for container in containers
    ]
