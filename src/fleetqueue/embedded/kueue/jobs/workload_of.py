"""The Workload that stands for a job."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import owner_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.priorities import Priority
from fleetqueue.embedded.kueue.jobs.workload_names import workload_name


def workload_of(
    integration: Integration, job: Manifest, priority: Priority, copied_labels: Sequence[str] = ()
) -> Manifest:
    """Return the Workload that a job is given."""
    resource, metadata = integration.kind.resource, job["metadata"]
    name = workload_name(resource.kind, resource.group, metadata["name"], metadata["uid"])
    labels = {key: job_fields.labels(job)[key] for key in copied_labels if key in job_fields.labels(job)}
    made = kueue.Workload.manifest(
        name,
        metadata["namespace"],
        labels={**labels, kueue.JOB_UID_LABEL: metadata["uid"]},
        annotations=_annotations(job),
        spec=spec_of(integration, job, priority),
    )
    made["metadata"] |= {"finalizers": [names.IN_USE], "ownerReferences": [owned_by(integration, job)]}
    return made


def spec_of(integration: Integration, job: Manifest, priority: Priority) -> Manifest:
    spec: dict[str, Any] = {"podSets": integration.pod_sets(job), **priority.spec}
    if queue := job_fields.queue_name(job):
        spec["queueName"] = queue
    longest = job_fields.maximum_execution_time(job)
    return spec if longest is None else {**spec, "maximumExecutionTimeSeconds": longest}


def owned_by(integration: Integration, job: Manifest) -> Manifest:
    return owner_reference(integration.kind.resource, job["metadata"]["name"], job["metadata"]["uid"])


def _annotations(job: Manifest) -> dict[str, str]:
    return {
        key: value
        for key, value in job_fields.annotations(job).items()
        if key.startswith(names.PROVISIONING_PREFIX) or (key == kueue.ADMISSION_GATED_BY and value)
    }
