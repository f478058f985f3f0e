"""RayClusters, RayJobs and RayServices: a head, groups of workers, and what KubeRay adds to their pods.

Mirrors: Kueue pkg/controller/jobs/{raycluster,rayjob,rayservice}

Left out: sizes that Ray itself gives to the cluster of an elastic RayJob or RayService.
"""

from typing import Any, Final

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.fields import Field, value_at, with_value
from fleetqueue.api.job_kinds import RAY_CLUSTER, RAY_JOB, RAY_SERVICE, JobKind
from fleetqueue.api.quantity import parse
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import gated
from fleetqueue.embedded.kueue.jobs.template_jobs import TemplateJobs
from fleetqueue.rules.job_endings import Ending, no_ending, ray_job_ending
from fleetqueue.rules.job_templates import JobTemplate, ray_templates

HEAD: Final = "head"
SUBMITTER: Final = "submitter"
SUBMITTER_TEMPLATE: Final = ("spec", "submitterPodTemplate")
SUBMITTER_CONTAINER: Final = "ray-job-submitter"
SUBMITTER_RESOURCES: Final = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}
"""What KubeRay gives to who submits a job, unless the job says otherwise."""
AUTOSCALER_RESOURCES: Final = {
    "limits": {"cpu": "500m", "memory": "512Mi"},
    "requests": {"cpu": "500m", "memory": "512Mi"},
}
CLEAN_UP_REQUESTS: Final = {"cpu": "200m", "memory": "256Mi"}
"""What KubeRay's job needs that empties Redis when a fault-tolerant cluster goes."""
FAULT_TOLERANT: Final = "ray.io/ft-enabled"


class _RayIntegration(TemplateJobs):
    gates_pods = True
    """Whether the pods of an elastic job wait at the gate that stands in its templates."""

    def __init__(self, job_kind: JobKind, cluster: Field) -> None:
        super().__init__(job_kind)
        self._cluster = cluster

    def templates(self, job: Manifest) -> list[JobTemplate]:
        return ray_templates(job, self._cluster)

    def completed(self, job: Manifest) -> Manifest:
        if not self.is_elastic(job) or not self.gates_pods:
            return job
        for template in ray_templates(job, self._cluster):
            job = with_value(job, template.field, gated(self.written_template(job, template)))
        return job

    def pod_template(self, job: Manifest, template: JobTemplate) -> Manifest:
        written = self.written_template(job, template)
        if template.name != HEAD:
            return written
        cluster = value_at(job, self._cluster) or {}
        if _is_fault_tolerant(job, cluster):
            written = _with_clean_up(written)
        if cluster.get("enableInTreeAutoscaling"):
            resources = (cluster.get("autoscalerOptions") or {}).get("resources") or AUTOSCALER_RESOURCES
            written = _with_container(written, {"name": "autoscaler", "resources": resources})
        return written


class RayClusterIntegration(_RayIntegration):
    """A RayCluster never ends by itself."""

    def __init__(self) -> None:
        super().__init__(RAY_CLUSTER, ("spec",))

    def is_active(self, job: Manifest) -> bool:
        return self.pods_ready(job)

    def ending(self, job: Manifest) -> Ending | None:
        return no_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        return bool(value_at(job, ("status", "state")) == "ready")


class RayServiceIntegration(_RayIntegration):
    """A RayService never ends by itself."""

    def __init__(self) -> None:
        super().__init__(RAY_SERVICE, ("spec", "rayClusterConfig"))

    def is_active(self, job: Manifest) -> bool:
        return self.pods_ready(job)

    def ending(self, job: Manifest) -> Ending | None:
        return no_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        return is_true(job, "Ready")


class RayJobIntegration(_RayIntegration):
    """A RayJob makes a RayCluster, and a Job that submits to it."""

    gates_pods = False

    def __init__(self) -> None:
        super().__init__(RAY_JOB, ("spec", "rayClusterSpec"))

    def skips(self, job: Manifest) -> bool:
        """A job for a cluster that is there already needs nothing of its own."""
        return bool(job["spec"].get("clusterSelector"))

    def templates(self, job: Manifest) -> list[JobTemplate]:
        templates = super().templates(job)
        if job["spec"].get("submissionMode", "K8sJobMode") == "K8sJobMode":
            templates.append(JobTemplate(SUBMITTER, SUBMITTER_TEMPLATE, 1))
        return templates

    def written_template(self, job: Manifest, template: JobTemplate) -> Manifest:
        written = super().written_template(job, template)
        return written or (_submitter(job) if template.name == SUBMITTER else {})

    def pod_template(self, job: Manifest, template: JobTemplate) -> Manifest:
        made = super().pod_template(job, template)
        if template.name == HEAD and job["spec"].get("submissionMode") == "SidecarMode":
            return _with_container(made, {"name": SUBMITTER_CONTAINER, "resources": SUBMITTER_RESOURCES})
        return made

    def is_active(self, job: Manifest) -> bool:
        return _deployment(job) not in ("", "Suspended")

    def is_on_hold(self, job: Manifest) -> bool:
        return _deployment(job) == "ValidationFailed"

    def ending(self, job: Manifest) -> Ending | None:
        return ray_job_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        return bool(value_at(job, ("status", "rayClusterStatus", "state")) == "ready")


RAY_INTEGRATIONS: Final = (RayClusterIntegration(), RayJobIntegration(), RayServiceIntegration())


def _deployment(job: Manifest) -> str:
    return str(value_at(job, ("status", "jobDeploymentStatus")) or "")


def _submitter(job: Manifest) -> Manifest:
    """Return the template that KubeRay makes where a job has none: the image is that of the head."""
    image = value_at(job, ("spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers", 0, "image"))
    container = {"name": SUBMITTER_CONTAINER, "image": image, "resources": SUBMITTER_RESOURCES}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def _is_fault_tolerant(job: Manifest, cluster: Manifest) -> bool:
    is_asked = job_fields.annotations(job).get(FAULT_TOLERANT, "").lower() == "true"
    return is_asked or cluster.get("gcsFaultToleranceOptions") is not None


def _with_clean_up(template: Manifest) -> Manifest:
    """Let the head ask for as much as what comes after it: that one runs in its place."""
    first, *rest = template["spec"]["containers"]
    resources = first.get("resources") or {}
    requests = dict(resources.get("requests") or {})
    for resource, quantity in CLEAN_UP_REQUESTS.items():
        requests[resource] = max(requests.get(resource, "0"), quantity, key=parse)
    changed = {**first, "resources": {**resources, "requests": requests}}
    return {**template, "spec": {**template["spec"], "containers": [changed, *rest]}}


def _with_container(template: Manifest, container: dict[str, Any]) -> Manifest:
    spec = template.get("spec") or {}
    return {**template, "spec": {**spec, "containers": [*(spec.get("containers") or ()), container]}}
