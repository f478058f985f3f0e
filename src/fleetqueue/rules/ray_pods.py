"""The pods of RayClusters, RayJobs and RayServices: a head, groups of workers, and what KubeRay adds to them.

Kueue makes the pod sets of a Workload from them.

Mirrors: Kueue pkg/controller/jobs/{raycluster,rayjob,rayservice}
"""

from collections.abc import Mapping
from typing import Any, Final

from fleetqueue.api.fields import Field, value_at
from fleetqueue.api.job_kinds import RayCluster, RayJob, RayService
from fleetqueue.api.meta import Object
from fleetqueue.api.quantity import parse
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.job_templates import JobTemplate, ray_templates

CLUSTERS: Final[Mapping[type[Object], Field]] = {
    RayCluster: ("spec",),
    RayJob: ("spec", "rayClusterSpec"),
    RayService: ("spec", "rayClusterConfig"),
}
"""Where each kind keeps the spec of its cluster."""
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


def templates(job: Manifest, cluster: Field) -> list[JobTemplate]:
    """Return the templates of a job whose cluster's spec is there."""
    of_cluster = ray_templates(job, cluster)
    is_submitted = cluster == CLUSTERS[RayJob] and job["spec"].get("submissionMode", "K8sJobMode") == "K8sJobMode"
    return [*of_cluster, JobTemplate(SUBMITTER, SUBMITTER_TEMPLATE, 1)] if is_submitted else of_cluster


def written_template(job: Manifest, template: JobTemplate) -> Manifest:
    """Return a template as it is written; the submitter's may be left to KubeRay."""
    written: Manifest = value_at(job, template.field) or {}
    return written or (_submitter(job) if template.field == SUBMITTER_TEMPLATE else {})


def pod_template(job: Manifest, template: JobTemplate, cluster: Field) -> Manifest:
    """Return a template as its pods will have it."""
    made = written_template(job, template)
    if template.name != HEAD:
        return made
    spec = value_at(job, cluster) or {}
    if _is_fault_tolerant(job, spec):
        made = _with_clean_up(made)
    if spec.get("enableInTreeAutoscaling"):
        resources = (spec.get("autoscalerOptions") or {}).get("resources") or AUTOSCALER_RESOURCES
        made = _with_container(made, {"name": "autoscaler", "resources": resources})
    if cluster == CLUSTERS[RayJob] and job["spec"].get("submissionMode") == "SidecarMode":
        made = _with_container(made, {"name": SUBMITTER_CONTAINER, "resources": SUBMITTER_RESOURCES})
    return made


def _submitter(job: Manifest) -> Manifest:
    """Return the template that KubeRay makes where a job has none: the image is that of the head."""
    image = value_at(job, ("spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers", 0, "image"))
    container = {"name": SUBMITTER_CONTAINER, "image": image, "resources": SUBMITTER_RESOURCES}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def _is_fault_tolerant(job: Manifest, cluster: Manifest) -> bool:
    is_asked = (value_at(job, ("metadata", "annotations")) or {}).get(FAULT_TOLERANT, "").lower() == "true"
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
