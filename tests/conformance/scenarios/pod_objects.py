"""Pods, and Workloads of pods, as the scenarios of Kueue compare them.

What the admission plugins of a real API server give every pod is left out.
"""

import re

from fleetqueue.api.kueue_pods import ROLE_HASH, TERMINATION_TARGET
from fleetqueue.api.scheme import Manifest

from . import kueue_objects as shown

OF_PLUGINS = ("serviceAccount", "serviceAccountName", "preemptionPolicy", "priority")
TOKEN = "kube-api-access-"
TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
ROLE = re.compile(r"[0-9a-f]{8}")


def workload(raw: Manifest) -> Manifest:
    found = shown.workload(raw)
    for pod_set in found["spec"]["podSets"]:
        pod_set["template"] = {**pod_set["template"], "spec": _without_plugins(pod_set["template"]["spec"])}
    return found


def roles(pods: list[Manifest]) -> dict[str, str]:
    """Return the hashes of roles, and how they are called in what comes out."""
    found: dict[str, str] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        role = (pod["metadata"].get("annotations") or {}).get(ROLE_HASH, "")
        if ROLE.fullmatch(role):
            found.setdefault(role, f"role of {pod['metadata']['name']}")
    return found


def pod(raw: Manifest) -> Manifest:
    """Return what Kueue says of a pod, and what Kubernetes does with it."""
    spec, status = _without_plugins(raw["spec"]), raw.get("status") or {}
    ends = [shown.sentence(one) for one in status.get("conditions") or () if one["type"] == TERMINATION_TARGET]
    return {
        **shown.header(raw),
        "gates": [gate["name"] for gate in spec.get("schedulingGates") or ()],
        "nodeSelector": spec.get("nodeSelector") or {},
        "tolerations": spec.get("tolerations") or [],
        "is bound": "nodeName" in spec,
        "phase": status.get("phase", ""),
        "is to end": ends,
        "is deleted": "deletionTimestamp" in raw["metadata"],
    }


def _without_plugins(spec: Manifest) -> Manifest:
    """Return the spec of a pod without its account, token and priority, and what every pod tolerates for a while."""
    kept = {field: value for field, value in spec.items() if field not in OF_PLUGINS}
    kept["volumes"] = [one for one in spec.get("volumes") or () if not one["name"].startswith(TOKEN)]
    kept["tolerations"] = [one for one in spec.get("tolerations") or () if one.get("key") not in TOLERATED]
    for field in ("containers", "initContainers"):
        kept[field] = [_without_token(one) for one in spec.get(field) or ()]
    return {field: value for field, value in kept.items() if value not in ([], None)}


def _without_token(container: Manifest) -> Manifest:
    mounts = [one for one in container.get("volumeMounts") or () if not one["name"].startswith(TOKEN)]
    rest = {field: value for field, value in container.items() if field != "volumeMounts"}
    return {**rest, "volumeMounts": mounts} if mounts else rest
