"""How an add-on is, by what its works say of the Deployments and DaemonSets in them.

Mirrors: addon-framework controllers/agentdeploy/healthcheck_sync.go, pkg/utils/probe_helper.go
"""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition, find
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.work_v1 import AVAILABLE, ManifestCondition, ManifestWork

_WORKLOADS: Final = {("apps/v1", "Deployment"): "deployments", ("apps/v1", "DaemonSet"): "daemonsets"}
_READY: Final = ("ReadyReplicas", "NumberReady")
_DESIRED: Final = ("Replicas", "DesiredNumberScheduled")


def available(name: str, works: Sequence[ManifestWork], objects: Sequence[Manifest]) -> Condition:
    """Say whether an add-on is available, by its works and the objects that they shall hold."""
    if not works:
        return _said(UNKNOWN, "WorkNotFound", "Addon manifestWork is not found")
    for work in works:
        said = find(work.status.conditions, AVAILABLE)
        if said is None:
            return _said(UNKNOWN, "WorkNotApplied", "Addon manifestWork is not applied yet")
        if said.status == FALSE:
            return _said(FALSE, "WorkNotApplied", said.message)
    probed = [each for each in objects if _is_probed(each)]
    found = [each for work in works for each in work.status.resource_status.manifests if each.status_feedback.values]
    results = [result for obj in probed for result in found if _is_of(result, obj)]
    if probed and not results:
        return _said(UNKNOWN, "NoProbeResult", "Probe results are not returned")
    problem = next((wrong for wrong in map(_problem, results) if wrong), "")
    if problem:
        return _said(FALSE, "ProbeUnavailable", f"Probe addon unavailable with err {problem}")
    return _said(TRUE, "ProbeAvailable", f"{name} add-on is available.")


def _is_probed(obj: Manifest) -> bool:
    kind = (obj["apiVersion"], obj["kind"])
    is_scaled_away = kind == ("apps/v1", "Deployment") and (obj.get("spec") or {}).get("replicas") == 0
    return kind in _WORKLOADS and not is_scaled_away


def _is_of(result: ManifestCondition, obj: Manifest) -> bool:
    meta, metadata = result.resource_meta, obj["metadata"]
    resource = _WORKLOADS[obj["apiVersion"], obj["kind"]]
    wanted = ("apps", resource, metadata.get("namespace", ""), metadata["name"])
    return (meta.group, meta.resource, meta.namespace, meta.name) == wanted


def _problem(result: ManifestCondition) -> str:
    """Say why something does not run as it shall; empty where it does."""
    meta = result.resource_meta
    values = {each.name: each.field_value.integer for each in result.status_feedback.values}
    ready = next((values[name] for name in _READY if values.get(name) is not None), None)
    desired = next((values[name] for name in _DESIRED if values.get(name) is not None), None)
    if ready is None:
        return "readyReplica is not probed"
    if desired is None:
        return "desiredNumberReplicas is not probed"
    is_well = (desired == 0 or ready >= 1) if meta.resource == "deployments" else ready == desired
    if is_well:
        return ""
    where = f"{meta.resource} {meta.namespace}/{meta.name}"
    return f"desiredNumberReplicas is {desired} but readyReplica is {ready} for {where}"


def _said(status: str, reason: str, message: str) -> Condition:
    return Condition(type=addon.AVAILABLE, status=status, reason=reason, message=message)
