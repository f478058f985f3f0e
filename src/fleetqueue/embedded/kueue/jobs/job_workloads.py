"""The Workload of a job: its name, what is in it, and whether it still stands for its job.

Mirrors: Kueue pkg/controller/jobframework (EquivalentToWorkload), pkg/util/equality
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import JobObjects
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, Flavor, FlavorMissing, merged, of_admission
from fleetqueue.rules.workload_names import workload_name
from fleetqueue.rules.workload_slices import ELASTIC_JOB, REPLACES, SLICE_NAME, slice_name, slice_version

CONTAINERS: Final = ("containers", "initContainers")
WITH_TOLERATIONS: Final = (*CONTAINERS, "tolerations")
"""The fields in which pods are compared."""


class Priority(NamedTuple):
    value: int
    reference: Manifest | None
    """The class that it comes from."""

    @property
    def spec(self) -> Manifest:
        """The fields of a Workload."""
        return {"priority": self.value, **({"priorityClassRef": self.reference} if self.reference else {})}


def workload_of(
    integration: JobObjects, job: Manifest, priority: Priority, copied_labels: Sequence[str] = ()
) -> Manifest:
    """Return the Workload that a job is given."""
    resource, metadata = integration.kind.resource, job["metadata"]
    version = slice_version(job) if integration.is_elastic(job) else ""
    name = workload_name(resource.kind, resource.group, metadata["name"], metadata["uid"], version)
    labels = {key: job_fields.labels(job)[key] for key in copied_labels if key in job_fields.labels(job)}
    made = kueue.Workload.manifest(
        name,
        metadata["namespace"],
        labels={**labels, kueue.JOB_UID_LABEL: metadata["uid"]},
        annotations=annotations_of(job),
        spec=spec_of(integration, job, priority),
    )
    made["metadata"] |= {"finalizers": [names.IN_USE], "ownerReferences": [owned_by(integration, job)]}
    return made


def as_slice(workload: Manifest, replaced: Manifest | None) -> Manifest:
    """Return the Workload of an elastic job, as the first one or in the place of another."""
    metadata = workload["metadata"]
    annotations = {
        **(metadata.get("annotations") or {}),
        ELASTIC_JOB: "true",
        SLICE_NAME: slice_name(replaced or workload),
    }
    if replaced is not None:
        annotations[REPLACES] = f"{metadata['namespace']}/{replaced['metadata']['name']}"
    return {**workload, "metadata": {**metadata, "annotations": annotations}}


def spec_of(integration: JobObjects, job: Manifest, priority: Priority) -> Manifest:
    return asked_for(job, integration.pod_sets(job), priority)


def asked_for(job: Manifest, pod_sets: Sequence[Manifest], priority: Priority) -> Manifest:
    """Return the spec of a Workload with some pod sets; all else is what a job says to Kueue."""
    spec: dict[str, Any] = {"podSets": [*pod_sets], **priority.spec}
    if queue := job_fields.queue_name(job):
        spec["queueName"] = queue
    longest = job_fields.maximum_execution_time(job)
    return spec if longest is None else {**spec, "maximumExecutionTimeSeconds": longest}


def owned_by(integration: JobObjects, job: Manifest) -> Manifest:
    return controller_reference(integration.kind.resource, job["metadata"]["name"], job["metadata"]["uid"])


def annotations_of(job: Manifest) -> dict[str, str]:
    """Return the annotations of a job that its Workload gets, too."""
    return {
        key: value
        for key, value in job_fields.annotations(job).items()
        if key.startswith(names.PROVISIONING_PREFIX) or (key == kueue.ADMISSION_GATED_BY and value)
    }


def is_equivalent(integration: JobObjects, job: Manifest, workload: Manifest, flavor: Flavor) -> bool:
    """Tell whether a Workload asks for what its job is, or was started as."""
    owner = job_fields.controller(workload)
    if owner is None or (owner["name"], owner["uid"]) != (job["metadata"]["name"], job["metadata"]["uid"]):
        return False
    if workload["spec"].get("maximumExecutionTimeSeconds") != job_fields.maximum_execution_time(job):
        return False
    pod_sets, is_suspended = integration.pod_sets(job), integration.is_suspended(job)
    with_tolerations = not is_true(workload, kueue.ADMITTED)
    is_as_asked = are_same(pod_sets, workload["spec"]["podSets"], with_tolerations=with_tolerations)
    if is_suspended and is_as_asked:
        return True
    running = _running(workload, flavor) if is_true(workload, kueue.QUOTA_RESERVED) else None
    if running is None:
        return is_as_asked
    return are_same(pod_sets, running, with_tolerations=with_tolerations)


def are_same(pod_sets: Sequence[Manifest], others: Sequence[Manifest], *, with_tolerations: bool = True) -> bool:
    """Tell whether pod sets ask for the same."""
    if len(pod_sets) != len(others):
        return False
    fields = WITH_TOLERATIONS if with_tolerations else CONTAINERS
    for one, other in zip(pod_sets, others, strict=True):  # plain loops, since every look at a job asks this
        if _sizes(one) != _sizes(other) or not _are_same_pods(one, other, fields):
            return False
    return True


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
    spec, others = _pod_spec(one), _pod_spec(other)
    for field in fields:
        value, same = spec.get(field), others.get(field)
        if value != same and _filled(value) != _filled(same):
            return False
    return True


def _pod_spec(pod_set: Manifest) -> Manifest:
    return (pod_set.get("template") or {}).get("spec") or {}


def _filled(value: Any) -> Any:
    """Leave out what is empty: it means the same as what is not there."""
    if isinstance(value, dict):
        return {k: kept for k, v in value.items() if (kept := _filled(v)) not in (None, {}, [])}
    return [_filled(item) for item in value] if isinstance(value, list) else value
