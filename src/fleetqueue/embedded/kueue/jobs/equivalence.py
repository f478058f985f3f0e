"""Whether a Workload still stands for its job.

Mirrors: Kueue pkg/controller/jobframework (EquivalentToWorkload), pkg/util/equality
"""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import says
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, Flavor, FlavorMissing, merged, of_admission


def is_equivalent(integration: Integration, job: Manifest, workload: Manifest, flavor: Flavor) -> bool:
    """Tell whether a Workload asks for what its job is, or was started as."""
    owner = job_fields.controller(workload)
    if owner is None or (owner["name"], owner["uid"]) != (job["metadata"]["name"], job["metadata"]["uid"]):
        return False
    if workload["spec"].get("maximumExecutionTimeSeconds") != job_fields.maximum_execution_time(job):
        return False
    pod_sets, is_suspended = integration.pod_sets(job), integration.is_suspended(job)
    with_tolerations = not says(workload, kueue.ADMITTED)
    is_as_asked = are_same(pod_sets, workload["spec"]["podSets"], with_tolerations=with_tolerations)
    if is_suspended and is_as_asked:
        return True
    running = _running(workload, flavor) if says(workload, kueue.QUOTA_RESERVED) else None
    if running is None:
        return is_as_asked
    return are_same(pod_sets, running, with_tolerations=with_tolerations)


def are_same(some: Sequence[Manifest], others: Sequence[Manifest], *, with_tolerations: bool = True) -> bool:
    """Tell whether pod sets ask for the same."""
    fields = ("containers", "initContainers", *(("tolerations",) if with_tolerations else ()))
    return len(some) == len(others) and all(
        _sizes(one) == _sizes(other) and _are_same_pods(one, other, fields)
        for one, other in zip(some, others, strict=True)
    )


def _running(workload: Manifest, flavor: Flavor) -> list[Manifest] | None:
    """Return the pod sets as they are while the job runs; None where that is not known."""
    try:
        infos = {info.name: info for info in of_admission(workload, flavor)}
        pod_sets = workload["spec"]["podSets"]
        return [
            {
                **pod_set,
                "template": merged(pod_set["template"], infos[pod_set["name"]]),
                "count": infos[pod_set["name"]].count if "minCount" in pod_set else pod_set.get("count", 1),
            }
            for pod_set in pod_sets
        ]
    except (CannotStart, FlavorMissing, KeyError):
        return None


def _sizes(pod_set: Manifest) -> tuple[Any, Any]:
    return pod_set.get("count", 1), pod_set.get("minCount")


def _are_same_pods(one: Manifest, other: Manifest, fields: Sequence[str]) -> bool:
    spec, others = ((pod_set.get("template") or {}).get("spec") or {} for pod_set in (one, other))
    pairs = ((spec.get(field), others.get(field)) for field in fields)
    return all(some == same or _filled(some) == _filled(same) for some, same in pairs)


def _filled(value: Any) -> Any:
    """Leave out what is empty: it means the same as what is not there."""
    if isinstance(value, dict):
        return {k: kept for k, v in value.items() if (kept := _filled(v)) not in (None, {}, [])}
    return [_filled(item) for item in value] if isinstance(value, list) else value
