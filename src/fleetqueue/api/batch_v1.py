"""Jobs, and the labels, annotations and finalizers of their pods."""

from datetime import datetime
from typing import Any, ClassVar, Final

from fleetqueue.api.conditions import Condition, is_true
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"
"""The Job will be Complete, once its pods have gone."""
FAILURE_TARGET: Final = "FailureTarget"
"""The Job will be Failed, once its pods have gone."""

TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""Finalizer of a pod that is not counted yet."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAME: Final = "batch.kubernetes.io/job-name"
CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
CONTROLLER: Final = "kubernetes.io/job-controller"
"""The value of `managedBy` that means the Job controller of Kubernetes."""

DEFAULT_BACKOFF_LIMIT: Final = 6


class UncountedTerminatedPods(View):
    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobSpec(View):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = ""
    backoff_limit: int = DEFAULT_BACKOFF_LIMIT
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    managed_by: str = ""
    manual_selector: bool = False
    pod_failure_policy: dict[str, Any] | None = None
    pod_replacement_policy: str = ""
    success_policy: dict[str, Any] | None = None
    template: dict[str, Any] = {}


class JobStatus(View):
    active: int = 0
    ready: int | None = None
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str | None = None
    start_time: datetime | None = None
    completion_time: datetime | None = None
    uncounted_terminated_pods: UncountedTerminatedPods = UncountedTerminatedPods()
    conditions: tuple[Condition, ...] = ()


class Job(Object):
    resource: ClassVar = Resource("batch", "v1", "Job", "jobs")

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_for_job_controller(self) -> bool:
        """Whether Kubernetes' Job controller runs it; others may run a Job elsewhere, as MultiKueue does."""
        return self.spec.managed_by in ("", CONTROLLER)

    @property
    def has_ended(self) -> bool:
        return any(is_true(self.status.conditions, kind) for kind in (COMPLETE, FAILED))

    @property
    def parallelism(self) -> int:
        return 1 if self.spec.parallelism is None else self.spec.parallelism

    @property
    def completions(self) -> int | None:
        """How many pods must succeed; None where the first one that does decides."""
        if self.spec.completions is None and self.spec.parallelism is None:
            return 1
        return self.spec.completions

    @property
    def is_indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def counts_by_index(self) -> bool:
        """Whether each index has a back-off limit of its own."""
        return self.spec.backoff_limit_per_index is not None

    @property
    def replaces_only_failed(self) -> bool:
        """Whether a pod that is being deleted counts as running until it has really ended."""
        return self.spec.pod_replacement_policy == "Failed" or self.spec.pod_failure_policy is not None

    @property
    def restarts_in_place(self) -> bool:
        return bool((self.spec.template.get("spec") or {}).get("restartPolicy") == "OnFailure")
