"""What Kueue refuses in jobs, and what a new job gets: its queue, its suspension, and who manages it.

Mirrors: Kueue pkg/controller/jobframework/{validation,defaults}.go, pkg/controller/jobs/job/job_webhook.go
"""

from dataclasses import dataclass

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.admission_hooks import Find
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import batch_job, job_fields
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_fields import TooDeep, managed_ancestor
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden, invalid, not_subdomain, unchanged

LABELS, ANNOTATIONS = "metadata.labels", "metadata.annotations"
QUEUE = f"{LABELS}[{kueue.QUEUE_LABEL}]"
LONGEST = f"{LABELS}[{names.MAXIMUM_EXECUTION_TIME}]"
CLASS = f"{LABELS}[{names.PRIORITY_CLASS}]"
LEAST = f"{ANNOTATIONS}[{batch_job.LEAST_PARALLELISM}]"
EQUAL = f"{ANNOTATIONS}[{batch_job.EQUAL_COMPLETIONS}]"
BOOLEANS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")


def faults(job: Manifest) -> list[str]:
    """Return what is wrong with a job of any kind."""
    return [*_of_queue_name(job), *_of_prebuilt(job), *_of_longest_time(job)]


def change_faults(integration: Integration, old: Manifest, new: Manifest, *, has_default_queue: bool) -> list[str]:
    """Return what is wrong with the change of a job of any kind."""
    was_suspended, is_suspended = integration.is_suspended(old), integration.is_suspended(new)
    problems: list[str] = []
    queue, old_queue = job_fields.queue_name(new), job_fields.queue_name(old)
    if not is_suspended:
        problems += unchanged(QUEUE, queue, old_queue)
        problems += unchanged(_prebuilt_path(new), job_fields.prebuilt_workload(new), job_fields.prebuilt_workload(old))
    if not queue and old_queue and has_default_queue:
        problems.append(invalid(QUEUE, "", "queue-name must not be empty in namespace with default queue"))
    if not (is_suspended and was_suspended):
        key = names.MAXIMUM_EXECUTION_TIME
        problems += unchanged(LONGEST, job_fields.labels(new).get(key, ""), job_fields.labels(old).get(key, ""))
    return [*problems, *_class_change_faults(old, new, is_suspended=is_suspended)]


def batch_job_faults(old: Manifest | None, job: Manifest) -> list[str]:
    """Return what is wrong with what a Job says of its size."""
    least = job_fields.annotations(job).get(batch_job.LEAST_PARALLELISM)
    old_least = job_fields.annotations(old).get(batch_job.LEAST_PARALLELISM) if old is not None else None
    problems = _of_least(job, least) if least is not None and least != old_least else []
    return [*problems, *_of_equal_completions(job), *(_size_change_faults(old, job) if old is not None else ())]


def _of_queue_name(job: Manifest) -> list[str]:
    labels = job_fields.labels(job)
    why = not_subdomain(labels[kueue.QUEUE_LABEL]) if kueue.QUEUE_LABEL in labels else ""
    return [invalid(QUEUE, labels[kueue.QUEUE_LABEL], why)] if why else []


def _of_prebuilt(job: Manifest) -> list[str]:
    name = job_fields.prebuilt_workload(job)
    why = not_subdomain(name) if name else ""
    return [invalid(_prebuilt_path(job), name, why)] if why else []


def _prebuilt_path(job: Manifest) -> str:
    where = ANNOTATIONS if job_fields.annotations(job).get(kueue.PREBUILT_WORKLOAD) else LABELS
    return f"{where}[{kueue.PREBUILT_WORKLOAD}]"


def _of_longest_time(job: Manifest) -> list[str]:
    text = job_fields.labels(job).get(names.MAXIMUM_EXECUTION_TIME)
    if text is None:
        return []
    number = _integer(text)
    if number is None:
        return [invalid(LONGEST, text, _no_integer(text))]
    return [invalid(LONGEST, number, "should be greater than 0")] if number <= 0 else []


def _class_change_faults(old: Manifest, new: Manifest, *, is_suspended: bool) -> list[str]:
    old_class, new_class = job_fields.priority_class(old), job_fields.priority_class(new)
    if new_class and not old_class and not is_suspended:
        return [invalid(CLASS, new_class, "WorkloadPriorityClass cannot be added to a non-suspended workload")]
    if old_class and not new_class:
        return [invalid(CLASS, "", "WorkloadPriorityClass cannot be removed from a workload")]
    return []


def _of_least(job: Manifest, text: str) -> list[str]:
    number, count = _integer(text), batch_job.pods_count(job)
    if number is None:
        return [invalid(LEAST, text, _no_integer(text))]
    return [] if 0 < number < count else [invalid(LEAST, number, f"should be between 0 and {count - 1}")]


def _of_equal_completions(job: Manifest) -> list[str]:
    text = job_fields.annotations(job).get(batch_job.EQUAL_COMPLETIONS)
    if text is None:
        return []
    if text not in BOOLEANS:
        return [invalid(EQUAL, text, f'strconv.ParseBool: parsing "{text}": invalid syntax')]
    if not batch_job.has_equal_completions(job):
        return []
    spec, problems = job["spec"], []
    if spec.get("completionMode", "NonIndexed") == "NonIndexed":
        problems.append(invalid(EQUAL, text, "should not be enabled for NonIndexed jobs"))
    if spec.get("parallelism", 1) != spec.get("completions", 1):
        detail = f"should be equal to parallelism when {batch_job.EQUAL_COMPLETIONS} annotation is true"
        problems.append(invalid("spec.completions", spec.get("completions"), detail))
    return problems


def _size_change_faults(old: Manifest, new: Manifest) -> list[str]:
    problems, jobs = [], batch_job.BatchJobIntegration()
    can_shrink = batch_job.LEAST_PARALLELISM in job_fields.annotations(old)
    is_other_size = old["spec"].get("parallelism", 1) != new["spec"].get("parallelism", 1)
    if can_shrink and not old["spec"].get("suspend") and is_other_size:
        why = "cannot change when partial admission is enabled and the job is not suspended"
        problems.append(forbidden("spec.parallelism", why))
    runs_on = not jobs.is_suspended(old) and not jobs.is_suspended(new)
    if runs_on and batch_job.has_equal_completions(old) != batch_job.has_equal_completions(new):
        problems.append(forbidden(EQUAL, "field is immutable while the job is not suspended"))
    return problems


def _integer(text: str) -> int | None:
    return int(text) if text.removeprefix("-").removeprefix("+").isdecimal() else None


def _no_integer(text: str) -> str:
    return f'strconv.Atoi: parsing "{text}": invalid syntax'


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
        admission_checks = [self._find(kueue.AdmissionCheck, check["name"]) for check in checks]
        if not any(
            admission_check and admission_check["spec"]["controllerName"] == kueue.MULTIKUEUE_CONTROLLER
            for admission_check in admission_checks
        ):
            return job
        return {**job, "spec": {**job["spec"], "managedBy": kueue.MULTIKUEUE_CONTROLLER}}

    def _is_managed(self, namespace: str) -> bool:
        manifest = self.find("", "namespaces", "", namespace)
        labels = (manifest or {}).get("metadata", {}).get("labels") or {}
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
