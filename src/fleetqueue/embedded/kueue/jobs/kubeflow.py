"""The jobs of Kubeflow's training operator and of its MPI operator: replicas by role.

Mirrors: Kueue pkg/controller/jobs/{kubeflow,mpijob}
"""

from collections.abc import Mapping
from typing import Any, Final

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.job_kinds import JAX_JOB, MPI_JOB, PADDLE_JOB, PYTORCH_JOB, TF_JOB, XGBOOST_JOB, ReplicaJobKind
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.topology_names import GROUP_NAME, INDEX_OFFSET
from fleetqueue.embedded.kueue.jobs.template_jobs import TemplateJobs
from fleetqueue.rules.job_endings import Ending, kubeflow_ending
from fleetqueue.rules.job_templates import JobTemplate, replica_templates

REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
ANNOTATIONS: Final = ("template", "metadata", "annotations")
OWN_CLASS: Final = ("spec", "runPolicy", "schedulingPolicy", "priorityClass")


class KubeflowIntegration(TemplateJobs):
    def __init__(self, job_kind: ReplicaJobKind) -> None:
        super().__init__(job_kind)
        self._replica_kind = job_kind

    def templates(self, job: Manifest) -> list[JobTemplate]:
        return replica_templates(job, self._replica_kind.replicas, self._replica_kind.roles)

    def topology(self, job: Manifest, template: JobTemplate) -> Mapping[str, Any]:
        return {"podIndexLabel": REPLICA_INDEX}

    def priority_class(self, job: Manifest) -> str:
        return str(value_at(job, OWN_CLASS) or "")

    def is_active(self, job: Manifest) -> bool:
        statuses = (job.get("status") or {}).get("replicaStatuses") or {}
        return any((status or {}).get("active") for status in statuses.values())

    def ending(self, job: Manifest) -> Ending | None:
        return kubeflow_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        return is_true(job, "Running")


class MpiIntegration(KubeflowIntegration):
    def completed(self, job: Manifest) -> Manifest:
        """Say where the numbers of workers begin where the launcher is one of them: it has the first."""
        launcher, worker = (value_at(job, (*self._replica_kind.replicas, role)) for role in self._replica_kind.roles)
        if not job["spec"].get("runLauncherAsWorker") or launcher is None or worker is None:
            return job
        if GROUP_NAME in (value_at(launcher, ANNOTATIONS) or {}):
            return job  # the ranks of pod sets in one group are counted through
        field = (*self._replica_kind.replicas, self._replica_kind.roles[-1], *ANNOTATIONS)
        return with_value(job, field, {**(value_at(job, field) or {}), INDEX_OFFSET: "1"})


KUBEFLOW_INTEGRATIONS: Final = (
    KubeflowIntegration(JAX_JOB),
    MpiIntegration(MPI_JOB),
    *(KubeflowIntegration(job_kind) for job_kind in (PADDLE_JOB, PYTORCH_JOB, TF_JOB, XGBOOST_JOB)),
)
