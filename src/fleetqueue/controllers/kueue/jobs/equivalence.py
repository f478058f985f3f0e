"""Whether a Workload still stands for its job.

Mirrors: Kueue pkg/controller/jobframework (EquivalentToWorkload), pkg/util/equality
"""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.kueue.jobs import job_fields
from fleetqueue.controllers.kueue.jobs.integration import Integration
from fleetqueue.controllers.kueue.jobs.pod_set_info import CannotStart, Flavor, FlavorMissing, merged, of_admission


def is_equivalent(integration: Integration, job: Manifest, workload: Manifest, flavor: Flavor) -> bool:
    """Tell whether a Workload asks for what its job is, or was started as."""
    owner = job_fields.controller(workload)
    if owner is None or (owner["name"], owner["uid"]) != (job["metadata"]["name"], job["metadata"]["uid"]):
        return False
    if workload["spec"].get("maximumExecutionTimeSeconds") != job_fields.maximum_execution_time(job):
        return False
    pod_sets = integration.pod_sets(job)
    view = kueue.Workload.view(workload)
    with_tolerations = not view.is_true(kueue.ADMITTED)
    running = _running(workload, flavor) if view.is_true(kueue.QUOTA_RESERVED) else None
    if running is not None:
        if are_same(pod_sets, running, with_tolerations=with_tolerations):
            return True
        if not integration.is_suspended(job):
            return False
    return are_same(pod_sets, workload["spec"]["podSets"], with_tolerations=with_tolerations)


def are_same(some: Sequence[Manifest], others: Sequence[Manifest], *, with_tolerations: bool = True) -> bool:
    """Tell whether pod sets ask for the same."""
    fields = ("containers", "initContainers", *(("tolerations",) if with_tolerations else ()))
    return len(some) == len(others) and all(
        _looks(one, fields) == _looks(other, fields) for one, other in zip(some, others, strict=True)
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


def _looks(pod_set: Manifest, fields: Sequence[str]) -> list[Any]:
    spec = (pod_set.get("template") or {}).get("spec") or {}
    return [pod_set.get("count", 1), pod_set.get("minCount"), *(_filled(spec.get(field)) for field in fields)]


def _filled(value: Any) -> Any:
    """Leave out what is empty: it means the same as what is not there."""
    if isinstance(value, dict):
        return {k: kept for k, v in value.items() if (kept := _filled(v)) not in (None, {}, [])}
    return [_filled(item) for item in value] if isinstance(value, list) else value
