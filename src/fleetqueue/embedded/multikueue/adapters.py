"""What MultiKueue must know of each kind of job. All of it is pure: from objects to objects.

Mirrors: Kueue pkg/controller/jobs/*/*_multikueue_adapter.go
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import SUSPENDED
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.fields import value_at, with_value, without_field
from fleetqueue.api.job_kinds import (
    APP_WRAPPER,
    BATCH_JOB,
    JAX_JOB,
    JOB_SET,
    MPI_JOB,
    PADDLE_JOB,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    TF_JOB,
    TRAIN_JOB,
    XGBOOST_JOB,
    JobKind,
)
from fleetqueue.api.meta import Object
from fleetqueue.api.pod_templates import without_labels
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.adapter_defaults import AdapterDefaults
from fleetqueue.embedded.multikueue.bound_copies import bound_copy
from fleetqueue.embedded.multikueue.elastic_copies import resized_job, resized_ray_cluster
from fleetqueue.embedded.multikueue.pod_adapters import PodAdapter
from fleetqueue.embedded.multikueue.serving_adapters import LeaderWorkerSetAdapter, StatefulSetAdapter
from fleetqueue.rules.job_endings import (
    Ending,
    app_wrapper_ending,
    job_ending,
    job_set_ending,
    kubeflow_ending,
    no_ending,
    ray_job_ending,
    train_job_ending,
)
from fleetqueue.rules.runtime_patches import KUEUE
from fleetqueue.rules.stopped_jobs import has_ended, last_status, suspended


class Adapter(Protocol):
    @property
    def kind(self) -> type[Object]: ...

    @property
    def framework(self) -> str:
        """Return the name by which Kueue's configuration knows it."""
        ...

    @property
    def labels(self) -> str:
        """Return the label selector for those of the kind that may be the hub's jobs; empty for all of them."""
        ...

    def why_not_managed(self, job: Manifest) -> str:
        """Say why a hub's job cannot be sent; empty where it can."""
        ...

    def is_to_run(self, job: Manifest) -> bool:
        """Tell whether a worker has to have a copy of a hub's object."""
        ...

    def is_outdated(self, job: Manifest, copy: Manifest) -> bool:
        """Tell whether a copy has to go and be sent anew, since the hub's object is another by now."""
        ...

    def followed(self, job: Manifest, copy: Manifest, workload: str) -> Manifest:
        """Return a copy with what it takes over while it runs from the hub's job, as one of its Workloads wants it."""
        ...

    def workload_count(self, job: Manifest) -> int:
        """Return how many Workloads a hub's job has; they all go to one worker."""
        ...

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        """Return what is created on a worker for a hub's job; the worker's Kueue then starts it."""
        ...

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Return the status that the hub's job has to have, after that of its copy."""
        ...

    def has_ended(self, job: Manifest) -> bool: ...

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        """Return the status of a hub's job that was stopped and has no copy any more."""
        ...


class JobAdapter(AdapterDefaults):
    """Any kind that says who manages it, and whose status is brought back as it is."""

    def __init__(
        self,
        job_kind: JobKind,
        ending: Callable[[Manifest], Ending | None],
        stopped: Callable[[Manifest], Manifest] = lambda status: status,
    ) -> None:
        """`stopped` returns a status that says of nothing any more that it runs."""
        self.job_kind = job_kind
        self._ending = ending
        self._stopped = stopped

    @property
    def kind(self) -> type[Object]:
        return self.job_kind.kind

    @property
    def framework(self) -> str:
        return self.job_kind.framework

    def why_not_managed(self, job: Manifest) -> str:
        manager = self.job_kind.manager_of(job)
        return "" if manager == kueue.MULTIKUEUE_CONTROLLER else messages.not_managed(self.managed_by_text, manager)

    @property
    def managed_by_text(self) -> str:
        return self.job_kind.managed_by_text

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        """Return a job that is suspended, and bound to a Workload that is already there."""
        made = bound_copy(self.kind, job, workload, origin)
        return self.job_kind.without_manager(self.job_kind.with_suspension(made, suspend=True))

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        return copy.get("status") or {}

    def has_ended(self, job: Manifest) -> bool:
        return self._ending(job) is not None

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        status = job.get("status") or {}
        return self._stopped(status) if self.job_kind.is_suspended(job) else status


SERVED: Final = ("spec", "serveConfigV2")
OWN_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
"""What Kubernetes writes into the template of a Job, and what is different on each cluster."""


class BatchJobAdapter(JobAdapter):
    def __init__(self) -> None:
        super().__init__(BATCH_JOB, job_ending)

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        made = super().copy(job, workload, origin)
        spec = {name: value for name, value in made["spec"].items() if name != "selector"}
        return {**made, "spec": {**spec, "template": without_labels(spec["template"], OWN_LABELS)}}

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Copy the status, with no fewer pods that have ended, and not the start of one that still has to be changed.

        A suspended Job that was started refuses changes; one that does not say that it is suspended does too, in
        Kubernetes 1.36. The hub's job starts soon, which wakes us again. Of one that is being stopped Kueue takes the
        start away; it must not come back from a copy whose own controller is slow, or both would write without end.
        """
        status = job.get("status") or {}
        copied = _with_counters_of(status, copy.get("status") or {})
        if not job["spec"].get("suspend"):
            return _with_start_of(status, copied)
        if has_ended(copy):
            return copied
        if copy["spec"].get("suspend"):
            return {name: value for name, value in copied.items() if name != "startTime"}
        if is_true(job, SUSPENDED):
            return status
        return suspended(status, "MultiKueueAdapter", "Set by MultiKueue adapter", now)

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        return last_status(job, now)

    def followed(self, job: Manifest, copy: Manifest, workload: str) -> Manifest:
        return resized_job(self.kind, job, copy, workload)


def _with_start_of(status: Manifest, copied: Manifest) -> Manifest:
    """Keep when the hub's job was started: the worker may have started its copy anew, and that moment cannot change."""
    return {**copied, "startTime": status["startTime"]} if status.get("startTime") else copied


def _with_counters_of(status: Manifest, copied: Manifest) -> Manifest:
    """Keep pods counted that ended elsewhere: a job sent anew counts from nothing, and Kubernetes refuses fewer."""
    counted = {name: status[name] for name in ("failed", "succeeded") if status.get(name, 0) > copied.get(name, 0)}
    return {**copied, **counted}


class JobSetAdapter(JobAdapter):
    def __init__(self) -> None:
        super().__init__(JOB_SET, job_set_ending, _stopped_job_set)

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Copy the status, but no restarts where there were none: Kueue writes what changed, and that is no change."""
        copied = super().status(job, copy, now)
        if copied.get("restarts") or "restarts" in (job.get("status") or {}):
            return copied
        return {name: value for name, value in copied.items() if name != "restarts"}


def _stopped_job_set(status: Manifest) -> Manifest:
    return _without_pods(status, "replicatedJobsStatus")


def _without_pods(status: Manifest, field: str) -> Manifest:
    counted = [{**job_status, "active": 0, "ready": 0} for job_status in status.get(field) or ()]
    return {**status, field: counted} if counted else status


class RayClusterAdapter(JobAdapter):
    def __init__(self) -> None:
        super().__init__(RAY_CLUSTER, no_ending, _stopped_ray_cluster)

    def followed(self, job: Manifest, copy: Manifest, workload: str) -> Manifest:
        return resized_ray_cluster(self.kind, job, copy, workload)


class TrainJobAdapter(JobAdapter):
    def __init__(self) -> None:
        super().__init__(TRAIN_JOB, train_job_ending, _stopped_train_job)

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        """Leave out the patch of the hub's Kueue: the worker's adds its own."""
        made = super().copy(job, workload, origin)
        patches = value_at(made, ("spec", "runtimePatches")) or ()
        kept = [patch for patch in patches if patch.get("manager") != KUEUE]
        field = ("spec", "runtimePatches")
        return with_value(made, field, kept) if kept else without_field(made, field)


def _stopped_train_job(status: Manifest) -> Manifest:
    return _without_pods(status, "jobsStatus")


class TrainingOperatorAdapter(JobAdapter):
    def __init__(self, job_kind: JobKind) -> None:
        super().__init__(job_kind, kubeflow_ending, _stopped_kubeflow)

    @property
    def managed_by_text(self) -> str:
        """Return what Kueue calls the field, which really is `spec.runPolicy.managedBy`."""
        return "spec.managedBy"


def _stopped_kubeflow(status: Manifest) -> Manifest:
    replicas = {role: {**(counts or {}), "active": 0} for role, counts in (status.get("replicaStatuses") or {}).items()}
    return {**status, "replicaStatuses": replicas} if replicas else status


class RayJobAdapter(JobAdapter):
    def __init__(self) -> None:
        super().__init__(RAY_JOB, ray_job_ending, _stopped_ray_job)

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Copy the status; of one that a new copy does not have yet, some is left.

        Kueue takes away what stands in its fields, and the API server has defaults for two of them.
        """
        copied, before = super().status(job, copy, now), job.get("status") or {}
        if copied or not before:
            return copied
        left: Manifest = {"failed": 0, "succeeded": 0}
        return {**left, "rayClusterStatus": {}} if "rayClusterStatus" in before else left


def _stopped_ray_job(status: Manifest) -> Manifest:
    return {**status, "jobDeploymentStatus": "Suspended"} if status.get("jobDeploymentStatus") else status


def _stopped_ray_cluster(status: Manifest) -> Manifest:
    return {**status, "state": "suspended"} if status.get("state") else status


class RayServiceAdapter(JobAdapter):
    def __init__(self) -> None:
        super().__init__(RAY_SERVICE, no_ending, _stopped_ray_service)

    def followed(self, job: Manifest, copy: Manifest, workload: str) -> Manifest:
        """Return a copy that serves what the hub says: Ray changes that without a restart."""
        wanted, there = (value_at(one, SERVED) or "" for one in (job, copy))
        return copy if wanted == there else with_value(copy, SERVED, wanted)


def _stopped_ray_service(status: Manifest) -> Manifest:
    return _no_more(status, "Ready")


def _stopped_app_wrapper(status: Manifest) -> Manifest:
    stopped = _no_more(status, "QuotaReserved", "ResourcesDeployed", "PodsReady")
    return {**stopped, "phase": "Suspended"} if stopped.get("phase") else stopped


def _no_more(status: Manifest, *kinds: str) -> Manifest:
    """Return a status in which some conditions are true no more."""
    conditions = [
        {**condition, "status": "False"} if condition["type"] in kinds else condition
        for condition in status.get("conditions") or ()
    ]
    return {**status, "conditions": conditions} if conditions else status


ADAPTERS: Final[tuple[Adapter, ...]] = (
    BatchJobAdapter(),
    JobSetAdapter(),
    *map(TrainingOperatorAdapter, (JAX_JOB, PADDLE_JOB, PYTORCH_JOB, TF_JOB, XGBOOST_JOB)),
    JobAdapter(MPI_JOB, kubeflow_ending, _stopped_kubeflow),
    RayClusterAdapter(),
    RayJobAdapter(),
    RayServiceAdapter(),
    TrainJobAdapter(),
    JobAdapter(APP_WRAPPER, app_wrapper_ending, _stopped_app_wrapper),
    PodAdapter(),
    StatefulSetAdapter(),
    LeaderWorkerSetAdapter(),
)
"""The kinds of jobs that can be sent."""
