"""What a new job gets: its queue, its suspension, and who manages it.

Mirrors: Kueue pkg/controller/jobframework/defaults.go
"""

from dataclasses import dataclass

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.admission_hooks import Find
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.ancestors import TooDeep, managed_ancestor
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.settings import KueueSettings


@dataclass(frozen=True, slots=True)
class JobDefaults:
    integration: Integration
    settings: KueueSettings
    find: Find
    parents: tuple[type[Object], ...]
    """Kinds of jobs that can have jobs below them."""

    def completed(self, job: Manifest) -> Manifest:
        """Return a new job with all that Kueue gives it."""
        job = self._with_queue(job)
        if self._is_to_wait(job) and not self.integration.is_suspended(job):
            job = self.integration.suspended(job)
        return self._with_manager(job)

    def has_default_queue(self, namespace: str) -> bool:
        return self._find(kueue.LocalQueue, names.DEFAULT_QUEUE, namespace) is not None

    def _with_queue(self, job: Manifest) -> Manifest:
        namespace, owner = job["metadata"]["namespace"], job_fields.controller(job)
        if job_fields.queue_name(job) or not self.has_default_queue(namespace) or not self._is_managed(namespace):
            return job
        if owner is not None and self._is_known(owner):
            return job
        labels = {**job_fields.labels(job), kueue.QUEUE_LABEL: names.DEFAULT_QUEUE}
        return {**job, "metadata": {**job["metadata"], "labels": labels}}

    def _is_to_wait(self, job: Manifest) -> bool:
        without_queue = self.settings.manages_jobs_without_queue
        try:
            if managed_ancestor(job, self._parent, without_queue=without_queue) is not None:
                return False
        except TooDeep:
            return False
        return bool(job_fields.queue_name(job)) or (without_queue and self._is_managed(job["metadata"]["namespace"]))

    def _with_manager(self, job: Manifest) -> Manifest:
        """Give a job to MultiKueue where its queue has a MultiKueue check."""
        queue_name, given = job_fields.queue_name(job), job["spec"].get("managedBy")
        if not queue_name or given not in (None, self.integration.own_controller):
            return job
        queue = self._find(kueue.LocalQueue, queue_name, job["metadata"]["namespace"])
        target = self._find(kueue.ClusterQueue, queue["spec"]["clusterQueue"]) if queue is not None else None
        checks = ((target or {}).get("spec", {}).get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
        found = [self._find(kueue.AdmissionCheck, check["name"]) for check in checks]
        if not any(each and each["spec"]["controllerName"] == kueue.MULTIKUEUE_CONTROLLER for each in found):
            return job
        return {**job, "spec": {**job["spec"], "managedBy": kueue.MULTIKUEUE_CONTROLLER}}

    def _is_managed(self, namespace: str) -> bool:
        found = self.find("", "namespaces", "", namespace)
        labels = (found or {}).get("metadata", {}).get("labels") or {}
        return self.settings.namespaces.matches(labels)

    def _is_known(self, owner: Manifest) -> bool:
        return self._kind(owner) is not None

    def _kind(self, owner: Manifest) -> type[Object] | None:
        named = (owner["apiVersion"], owner["kind"])
        return next((kind for kind in self.parents if (kind.resource.api_version, kind.resource.kind) == named), None)

    def _parent(self, owner: Manifest, namespace: str) -> Manifest | None:
        kind = self._kind(owner)
        return None if kind is None else self._find(kind, owner["name"], namespace)

    def _find(self, kind: type[Object], name: str, namespace: str = "") -> Manifest | None:
        return self.find(kind.resource.group, kind.resource.plural, namespace, name)
