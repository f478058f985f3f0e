"""What Kueue refuses in jobs.

Mirrors: Kueue pkg/controller/jobframework/validation.go, pkg/controller/jobs/job/job_webhook.go
"""

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.job_kinds import BATCH_JOB, JAX_JOB, RAY_CLUSTER, RAY_JOB, RAY_SERVICE, SPARK_APPLICATION
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import batch_job, job_fields
from fleetqueue.embedded.kueue.jobs.integration import Integration, JobFacts
from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden, invalid, not_subdomain, unchanged
from fleetqueue.rules.job_templates import LEAST_PARALLELISM, pods_at_once
from fleetqueue.rules.workload_slices import ELASTIC_JOB, is_elastic

LABELS, ANNOTATIONS = "metadata.labels", "metadata.annotations"
QUEUE = f"{LABELS}[{kueue.QUEUE_LABEL}]"
LONGEST = f"{LABELS}[{names.MAXIMUM_EXECUTION_TIME}]"
CLASS = f"{LABELS}[{names.PRIORITY_CLASS}]"
LEAST = f"{ANNOTATIONS}[{LEAST_PARALLELISM}]"
EQUAL = f"{ANNOTATIONS}[{batch_job.EQUAL_COMPLETIONS}]"
ELASTIC = f"{ANNOTATIONS}[{ELASTIC_JOB}]"
CAN_BE_ELASTIC = (BATCH_JOB.framework, RAY_CLUSTER.framework, RAY_JOB.framework, RAY_SERVICE.framework)
WITHOUT_PREBUILT = (JAX_JOB.framework, SPARK_APPLICATION.framework)
"""Kinds for which Kueue takes no Workload that is already there; so no worker takes a copy of such a job."""
NOT_CLUSTER = "only Cluster mode is supported for a kueue managed job"
NOT_ELASTIC = (
    "a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on and "
    "the job is an elastic job"
)
BOOLEANS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")


def faults(job: Manifest) -> list[str]:
    """Return what is wrong with a job of any kind."""
    return [*queue_name_faults(job), *_of_prebuilt(job), *_of_longest_time(job)]


def prebuilt_faults(integration: Integration, job: Manifest) -> list[str]:
    """Return what is wrong with a Workload that was made before its job: not all kinds can have one."""
    if integration.framework not in WITHOUT_PREBUILT or not job_fields.prebuilt_workload(job):
        return []
    kind = integration.kind.resource
    return [forbidden(prebuilt_path(job), f'Is not supported for "{kind.api_version}, Kind={kind.kind}"')]


def elastic_faults(integration: Integration, job: Manifest) -> list[str]:
    """Return what is wrong with an elastic job: few kinds can be one."""
    if not is_elastic(job) or integration.framework in CAN_BE_ELASTIC:
        return []
    kind = integration.kind.resource
    return [forbidden(ELASTIC, f'elastic job is not supported for "{kind.api_version}, Kind={kind.kind}"')]


def change_faults(jobs: JobFacts[Manifest], old: Manifest, new: Manifest, *, has_default_queue: bool) -> list[str]:
    """Return what is wrong with the change of a job of any kind."""
    was_suspended, is_suspended = jobs.is_suspended(old), jobs.is_suspended(new)
    problems: list[str] = []
    queue, old_queue = job_fields.queue_name(new), job_fields.queue_name(old)
    if not is_suspended:
        problems += unchanged(QUEUE, queue, old_queue)
    if not is_suspended and not is_elastic(old):
        problems += unchanged(prebuilt_path(new), job_fields.prebuilt_workload(new), job_fields.prebuilt_workload(old))
    if not queue and old_queue and has_default_queue:
        problems.append(invalid(QUEUE, "", "queue-name must not be empty in namespace with default queue"))
    if not (is_suspended and was_suspended):
        key = names.MAXIMUM_EXECUTION_TIME
        problems += unchanged(LONGEST, job_fields.labels(new).get(key, ""), job_fields.labels(old).get(key, ""))
    problems += class_change_faults(old, new, is_suspended=is_suspended)
    return [*problems, *unchanged(ELASTIC, is_elastic(new), is_elastic(old))]


def batch_job_faults(old: Manifest | None, job: Manifest) -> list[str]:
    """Return what is wrong with what a Job says of its size."""
    least = job_fields.annotations(job).get(LEAST_PARALLELISM)
    old_least = job_fields.annotations(old).get(LEAST_PARALLELISM) if old is not None else None
    problems = _of_least(job, least) if least is not None and least != old_least else []
    return [*problems, *_of_equal_completions(job), *(_size_change_faults(old, job) if old is not None else ())]


def missing_faults(integration: Integration, job: Manifest) -> list[str]:
    """Return which object is missing without which a job cannot be understood."""
    if not integration.reads:
        return []
    try:
        integration.pod_sets(job)
    except errors.NotFound as error:
        return [error.message]
    return []


def spark_application_faults(job: Manifest, *, without_queue: bool) -> list[str]:
    """Return what is wrong with a SparkApplication that Kueue manages."""
    spec = job["spec"]
    if not without_queue and not job_fields.queue_name(job):
        return []
    problems = [] if spec.get("mode") == "cluster" else [invalid("spec.mode", spec.get("mode", ""), NOT_CLUSTER)]
    if (spec.get("dynamicAllocation") or {}).get("enabled") and not is_elastic(job):
        problems.append(invalid("spec.dynamicAllocation.enabled", True, NOT_ELASTIC))
    return problems


def queue_name_faults(job: Manifest) -> list[str]:
    labels = job_fields.labels(job)
    why = not_subdomain(labels[kueue.QUEUE_LABEL]) if kueue.QUEUE_LABEL in labels else ""
    return [invalid(QUEUE, labels[kueue.QUEUE_LABEL], why)] if why else []


def _of_prebuilt(job: Manifest) -> list[str]:
    name = job_fields.prebuilt_workload(job)
    why = not_subdomain(name) if name else ""
    return [invalid(prebuilt_path(job), name, why)] if why else []


def prebuilt_path(job: Manifest) -> str:
    where = ANNOTATIONS if job_fields.annotations(job).get(kueue.PREBUILT_WORKLOAD) else LABELS
    return f"{where}[{kueue.PREBUILT_WORKLOAD}]"


def _of_longest_time(job: Manifest) -> list[str]:
    text = job_fields.labels(job).get(names.MAXIMUM_EXECUTION_TIME)
    if text is None:
        return []
    number = integer(text)
    if number is None:
        return [invalid(LONGEST, text, no_integer(text))]
    return [invalid(LONGEST, number, "should be greater than 0")] if number <= 0 else []


def class_change_faults(old: Manifest, new: Manifest, *, is_suspended: bool) -> list[str]:
    old_class, new_class = job_fields.priority_class(old), job_fields.priority_class(new)
    if new_class and not old_class and not is_suspended:
        return [invalid(CLASS, new_class, "WorkloadPriorityClass cannot be added to a non-suspended workload")]
    if old_class and not new_class:
        return [invalid(CLASS, "", "WorkloadPriorityClass cannot be removed from a workload")]
    return []


def _of_least(job: Manifest, text: str) -> list[str]:
    number, count = integer(text), pods_at_once(job)
    if number is None:
        problems = [invalid(LEAST, text, no_integer(text))]
    else:
        fits = 0 < number < count
        problems = [] if fits else [invalid(LEAST, number, f"should be between 0 and {count - 1}")]
    if is_elastic(job):
        problems.append(invalid(LEAST, text, "partial admission and elastic job cannot be used together"))
    return problems


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
    can_shrink = LEAST_PARALLELISM in job_fields.annotations(old)
    is_other_size = old["spec"].get("parallelism", 1) != new["spec"].get("parallelism", 1)
    if can_shrink and not old["spec"].get("suspend") and is_other_size:
        why = "cannot change when partial admission is enabled and the job is not suspended"
        problems.append(forbidden("spec.parallelism", why))
    runs_on = not jobs.is_suspended(old) and not jobs.is_suspended(new)
    if runs_on and batch_job.has_equal_completions(old) != batch_job.has_equal_completions(new):
        problems.append(forbidden(EQUAL, "field is immutable while the job is not suspended"))
    return problems


def integer(text: str) -> int | None:
    return int(text) if text.removeprefix("-").removeprefix("+").isdecimal() else None


def no_integer(text: str) -> str:
    return f'strconv.Atoi: parsing "{text}": invalid syntax'
