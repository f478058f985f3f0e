"""What a new job gets from Kueue: its queue, its suspension, and who manages it.

Mirrors: Kueue pkg/controller/jobframework/defaults.go
"""

from dataclasses import dataclass

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.admission_hooks import Find
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_fields import TooDeep, managed_ancestor
from fleetqueue.embedded.kueue.settings import KueueSettings


@dataclass(frozen=True, slots=True)
class JobContext:
    """What is around a new job: its namespace, the queues there, and the jobs above it."""

    settings: KueueSettings
    find: Find
    parents: tuple[type[Object], ...]
    """Kinds of jobs that can have jobs below them."""
    interim: tuple[type[Object], ...] = ()
    """Kinds that stand between a job and the one above, and are none."""

    def has_default_queue(self, namespace: str) -> bool:
        return self.look_up(kueue.LocalQueue, names.DEFAULT_QUEUE, namespace) is not None

    def is_managed(self, namespace: str) -> bool:
        manifest = self.find("", "namespaces", "", namespace)
        labels = (manifest or {}).get("metadata", {}).get("labels") or {}
        return self.settings.namespaces.matches(labels)

    def with_queue(self, job: Manifest) -> Manifest:
        """Return a job in the default queue, where it names none and is below none."""
        namespace, owner = job["metadata"]["namespace"], job_fields.controller(job)
        if job_fields.queue_name(job) or not self.has_default_queue(namespace) or not self.is_managed(namespace):
            return job
        if owner is not None and _kind(owner, self.parents) is not None:
            return job
        labels = {**job_fields.labels(job), kueue.QUEUE_LABEL: names.DEFAULT_QUEUE}
        return {**job, "metadata": {**job["metadata"], "labels": labels}}

    def is_to_wait(self, job: Manifest) -> bool:
        """Tell whether a job has to be admitted before it runs."""
        if self.has_managed_ancestor(job):
            return False
        if job_fields.queue_name(job):
            return True
        return self.settings.manages_jobs_without_queue and self.is_managed(job["metadata"]["namespace"])

    def has_managed_ancestor(self, job: Manifest) -> bool:
        """Tell whether a job above this one is admitted, or there are too many to know."""
        without_queue = self.settings.manages_jobs_without_queue
        try:
            return managed_ancestor(job, self._parent, without_queue=without_queue) is not None
        except TooDeep:
            return True

    def look_up(self, kind: type[Object], name: str, namespace: str = "") -> Manifest | None:
        return self.find(kind.resource.group, kind.resource.plural, namespace, name)

    def _parent(self, owner: Manifest, namespace: str) -> Manifest | None:
        kind = _kind(owner, (*self.parents, *self.interim))
        return None if kind is None else self.look_up(kind, owner["name"], namespace)


def _kind(owner: Manifest, kinds: tuple[type[Object], ...]) -> type[Object] | None:
    named = (owner["apiVersion"], owner["kind"])
    return next((kind for kind in kinds if (kind.resource.api_version, kind.resource.kind) == named), None)


@dataclass(frozen=True, slots=True)
class JobDefaults:
    integration: Integration
    context: JobContext

    def completed(self, job: Manifest) -> Manifest:
        """Return a new job with all that Kueue gives it."""
        job = self.context.with_queue(job)
        if self.context.is_to_wait(job) and not self.integration.is_suspended(job):
            job = self.integration.suspended(job)
        return self._with_manager(self.integration.completed(job))

    def is_managed(self, job: Manifest) -> bool:
        return bool(job_fields.queue_name(job)) or self.context.settings.manages_jobs_without_queue

    def _with_manager(self, job: Manifest) -> Manifest:
        """Give a job to MultiKueue where its queue has a MultiKueue check; of a stopped one Kueue does not know."""
        queue_name, look_up = job_fields.queue_name(job), self.context.look_up
        if not queue_name:
            return job
        queue = look_up(kueue.LocalQueue, queue_name, job["metadata"]["namespace"])
        if queue is None or kueue.LocalQueue.view(queue).is_stopped:
            return job
        target = look_up(kueue.ClusterQueue, queue["spec"]["clusterQueue"])
        checks = ((target or {}).get("spec", {}).get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
        admission_checks = [look_up(kueue.AdmissionCheck, check["name"]) for check in checks]
        if not any(
            admission_check and admission_check["spec"]["controllerName"] == kueue.MULTIKUEUE_CONTROLLER
            for admission_check in admission_checks
        ):
            return job
        return self.integration.given_to_multikueue(job)
