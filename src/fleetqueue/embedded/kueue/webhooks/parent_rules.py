"""What Kueue gives to objects that are admitted by their pods, and what it refuses in them.

Their pods are told in their templates to wait at the gate, and for whom.

Mirrors: Kueue pkg/controller/jobs/deployment/deployment_webhook.go
"""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import kueue_pods as pods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fields import Field, value_at, with_value
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.webhooks import job_rules
from fleetqueue.embedded.kueue.webhooks.field_errors import unchanged
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext

TEMPLATE: Field = ("spec", "template")


def completed_deployment(context: JobContext, deployment: Manifest) -> Manifest:
    """Return a Deployment whose pods wait, each for itself, where it has to be admitted."""
    deployment = context.with_queue(deployment)
    if not context.is_to_wait(deployment):
        return deployment
    labels = {pods.MANAGED: "true", **queue_labels(deployment)}
    return with_marks(deployment, TEMPLATE, labels, {pods.SUSPENDING_PARENT: pods.DEPLOYMENT})


def queue_labels(parent: Manifest) -> dict[str, str]:
    """Return the labels that pods get from what is above them: its queue and its priority class."""
    labels = job_fields.labels(parent)
    return {key: labels[key] for key in (kueue.QUEUE_LABEL, names.PRIORITY_CLASS) if labels.get(key)}


def with_marks(
    parent: Manifest, template: Field, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Manifest:
    """Return an object with more labels and annotations in one of its pod templates."""
    for field, more in (("labels", labels), ("annotations", annotations)):
        if more:
            where = (*template, "metadata", field)
            parent = with_value(parent, where, {**(value_at(parent, where) or {}), **more})
    return parent


def parent_faults(old: Manifest | None, new: Manifest) -> list[str]:
    """Return what is wrong with such an object, or with its change."""
    problems = job_rules.queue_name_faults(new)
    if old is None:
        return problems
    is_suspended = not ready_replicas(old)
    queue = job_fields.queue_name(new)
    if not is_suspended or not queue:
        problems += unchanged(job_rules.QUEUE, queue, job_fields.queue_name(old))
    return [*problems, *job_rules.class_change_faults(old, new, is_suspended=is_suspended)]


def ready_replicas(parent: Manifest) -> Any:
    return value_at(parent, ("status", "readyReplicas"))
