"""What Kueue refuses in Workloads, beside what their schema refuses.

Mirrors: Kueue pkg/webhooks/workload_webhook.go
"""

from collections.abc import Iterable, Sequence, Set
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.quantity import parse
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling import amounts
from fleetqueue.embedded.kueue.webhooks.field_errors import (
    IMMUTABLE,
    NEGATIVE,
    forbidden,
    invalid,
    not_found,
    required,
    unchanged,
    unqualified,
    unsupported,
)
from fleetqueue.rules.workload_slices import counts, is_elastic, replaced_key

_NOT_POSITIVE: Final = "must be greater than 0"


def workload_faults(old: Manifest | None, workload: Manifest) -> list[str]:
    """Return what is wrong with a Workload, or with its change."""
    spec, status = workload["spec"], workload.get("status") or {}
    sets = spec.get("podSets") or []
    problems = [
        fault for number, pod_set in enumerate(sets) for fault in _of_pod_set(pod_set, f"spec.podSets[{number}]")
    ]
    sized = sum("minCount" in pod_set for pod_set in sets)
    if sized > 1:
        problems.append(invalid("spec.podSets", sized, "at most one podSet can use minCount"))
    if _has_quota(status):
        problems += _of_admission((old or {}).get("status") or {}, status, sets)
    problems += _of_reclaimable(_known_before(old, workload), status, sets)
    problems += _of_checks(status, sets)
    return problems if old is None else [*problems, *_change_faults(old, workload)]


def _of_pod_set(pod_set: Manifest, path: str) -> Iterable[str]:
    template = pod_set.get("template") or {}
    for key in sorted((template.get("metadata") or {}).get("labels") or {}):
        for why in unqualified(key):
            yield invalid(f"{path}.template.metadata.labels", key, why)
    spec = template.get("spec") or {}
    for field in ("initContainers", "containers"):
        for number, container in enumerate(spec.get(field) or ()):
            yield from _of_resources(
                container.get("resources") or {}, f"{path}.template.spec.{field}[{number}].resources"
            )
    yield from _of_resources(spec.get("resources") or {}, f"{path}.template.spec.resources")
    yield from _of_topology(pod_set.get("topologyRequest") or {}, f"{path}.topologyRequest")


def _of_topology(request: Manifest, path: str) -> Iterable[str]:
    """Find slices without a size or a level; whoever writes a Workload by hand is not asked elsewhere."""
    has_level, size = request.get("podSetSliceRequiredTopology") is not None, request.get("podSetSliceSize")
    where = f"{path}.podSetSliceSize"
    if has_level and size is None:
        yield required(where, "must be set when podSetSliceRequiredTopology is specified")
    if has_level and size is not None and size <= 0:
        yield invalid(where, size, _NOT_POSITIVE)
    if not has_level and size is not None:
        yield forbidden(where, "may not be set when podSetSliceRequiredTopology is not specified")
    for place, layer in enumerate(request.get("podsetSliceRequiredTopologyConstraints") or ()):
        if layer.get("size", 0) <= 0:
            field = f"{path}.podsetSliceRequiredTopologyConstraints[{place}].size"
            yield invalid(field, layer.get("size", 0), _NOT_POSITIVE)


def _of_resources(resources: Manifest, path: str) -> Iterable[str]:
    for field in ("requests", "limits"):
        for name, value in (resources.get(field) or {}).items():
            if name == amounts.PODS:
                yield invalid(f"{path}.{field}[{name}]", name, "the key is reserved for internal kueue use")
            if parse(value) < 0:
                yield invalid(f"{path}.{field}[{name}]", str(value), NEGATIVE)


def _of_admission(old: Manifest, status: Manifest, sets: Sequence[Manifest]) -> Iterable[str]:
    path, admission = "status.admission", status.get("admission")
    if admission is None:
        if not (_has_quota(old) and old.get("admission") is None):
            yield required(path, "must be set while the QuotaReserved condition is true")
        return
    known = [pod_set["name"] for pod_set in sets]
    for number, part in enumerate(admission.get("podSetAssignments") or ()):
        where = f"{path}.podSetAssignments[{number}]"
        if part["name"] not in known:
            yield not_found(f"{where}.name", part["name"])
        count = part.get("count") or 0
        for name, value in (part.get("resourceUsage") or {}).items():
            if count and amounts.amount(name, value) % count:
                yield invalid(f"{where}.resourceUsage[{name}]", str(value), f"is not a multiple of {count}")


def _known_before(old: Manifest | None, workload: Manifest) -> Sequence[Manifest]:
    """Return the reclaimable pods that an elastic Workload had: when it shrinks, they are too many for a moment."""
    before: Sequence[Manifest] = ((old or {}).get("status") or {}).get("reclaimablePods") or ()
    return before if is_elastic(workload) else ()


def _of_reclaimable(before: Sequence[Manifest], status: Manifest, sets: Sequence[Manifest]) -> Iterable[str]:
    sizes = counts(sets)
    for entry in status.get("reclaimablePods") or ():
        path = f"status.reclaimablePods[{entry['name']}]"
        if entry["name"] not in sizes:
            yield unsupported(f"{path}.name", entry["name"], sizes)
        elif entry["count"] > sizes[entry["name"]] and entry not in before:
            yield invalid(f"{path}.count", entry["count"], f"should be less or equal to {sizes[entry['name']]}")


def _of_checks(status: Manifest, sets: Sequence[Manifest]) -> Iterable[str]:
    known = sorted(pod_set["name"] for pod_set in sets)
    for number, check in enumerate(status.get("admissionChecks") or ()):
        for place, update in enumerate(check.get("podSetUpdates") or ()):
            path = f"status.admissionChecks[{number}].podSetUpdates[{place}]"
            if update["name"] not in known:
                yield unsupported(f"{path}.name", update["name"], known)
            for field in ("nodeSelector", "labels"):
                for key in sorted(update.get(field) or {}):
                    for why in unqualified(key):
                        yield invalid(f"{path}.{field}", key, why)


def _change_faults(old: Manifest, new: Manifest) -> Iterable[str]:
    before, after = old.get("status") or {}, new.get("status") or {}
    if _has_quota(before):
        yield from _set_changes(old["spec"].get("podSets") or [], new["spec"].get("podSets") or [])
    if _has_quota(before) and _has_quota(after):
        yield from _reclaimable_changes(before, after, _shrunk(new))
    if before.get("admission") is not None and after.get("admission") is not None:
        yield from unchanged("status.admission", _placeless(after["admission"]), _placeless(before["admission"]))
    yield from _update_changes(before, after)
    name = after.get("clusterName") if not replaced_key(new) else None  # a slice goes where the one before it is
    if name and not before.get("clusterName") and name not in (before.get("nominatedClusterNames") or ()):
        why = "when setting clusterName it must be one of the nominatedClusterNames"
        yield invalid("status.clusterName", name, why)


def _set_changes(old: Sequence[Manifest], new: Sequence[Manifest]) -> Iterable[str]:
    if len(old) != len(new):
        yield invalid("spec.podSets", new, IMMUTABLE)
        return
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        count = max(after.get("count", 1), before.get("count", 1))  # fewer is what an elastic job may say
        yield from unchanged(f"spec.podSets.{number}", {**after, "count": count}, {"count": 1, **before})


def _shrunk(workload: Manifest) -> Set[str]:
    """Return the pod sets of an elastic Workload that are smaller than when it was admitted."""
    parts = ((workload.get("status") or {}).get("admission") or {}).get("podSetAssignments") or ()
    now = counts(workload["spec"].get("podSets") or ())
    return (
        {part["name"] for part in parts if part.get("count", 0) > now[part["name"]]} if is_elastic(workload) else set()
    )


def _reclaimable_changes(old: Manifest, new: Manifest, shrunk: Set[str]) -> Iterable[str]:
    before = {reclaimable["name"]: reclaimable["count"] for reclaimable in old.get("reclaimablePods") or ()}
    after = {reclaimable["name"]: reclaimable["count"] for reclaimable in new.get("reclaimablePods") or ()}
    for name, count in after.items():
        if count < before.get(name, 0) and name not in shrunk:
            yield invalid(f"status.reclaimablePods[{name}].count", count, f"cannot be less than {before[name]}")
    for name in before:
        if name not in after and name not in shrunk:
            yield required(f"status.reclaimablePods[{name}]", "cannot be removed")


def _update_changes(old: Manifest, new: Manifest) -> Iterable[str]:
    after = {check["name"]: check for check in new.get("admissionChecks") or ()}
    for number, check in enumerate(old.get("admissionChecks") or ()):
        now = after.get(check["name"])
        if now is not None and check["state"] == now["state"] == kueue.READY:
            path = f"status.admissionChecks[{number}].podSetUpdates"
            yield from unchanged(path, now.get("podSetUpdates"), check.get("podSetUpdates"))


def _placeless(admission: Manifest) -> Manifest:
    """Leave out what may still be found out after quota was given."""
    late = ("topologyAssignment", "delayedTopologyRequest")
    parts = [{k: v for k, v in part.items() if k not in late} for part in admission.get("podSetAssignments") or ()]
    return {**admission, "podSetAssignments": parts}


def _has_quota(status: Manifest) -> bool:
    conditions = status.get("conditions") or ()
    return any(condition["type"] == kueue.QUOTA_RESERVED and condition["status"] == "True" for condition in conditions)
