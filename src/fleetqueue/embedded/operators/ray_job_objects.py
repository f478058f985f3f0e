"""What a RayJob is made of: a RayCluster, and the Job that submits to it.

Mirrors: kuberay ray-operator/controllers/ray/rayjob_controller.go, ray-operator/controllers/ray/common/job.go
"""

from typing import Final

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.job_kinds import RayCluster, RayJob
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.children import owned
from fleetqueue.embedded.operators.ray_names import CREATED_BY, SUBMISSION_MODE, origin

K8S_JOB, HTTP, INTERACTIVE, SIDECAR = "K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"
SUBMITTER: Final = "ray-job-submitter"
ATTEMPTS: Final = 2
"""How often it is submitted again, unless the RayJob says otherwise."""
RESOURCES: Final = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}


def mode_of(job: Manifest) -> str:
    return str(job["spec"].get("submissionMode") or K8S_JOB)


def cluster_of(job: Manifest, name: str) -> Manifest:
    """Make the RayCluster of a RayJob."""
    metadata, spec = job["metadata"], job["spec"]["rayClusterSpec"]
    if mode_of(job) == SIDECAR:
        spec = _with_sidecar(spec)
    own = {**origin(metadata["name"], "RayJob"), SUBMISSION_MODE: mode_of(job)}
    made = RayCluster.manifest(
        name,
        metadata["namespace"],
        labels={**(metadata.get("labels") or {}), **own},
        annotations=metadata.get("annotations"),
        spec=spec,
    )
    return owned(job, RayJob, made)


def submitter_of(job: Manifest, job_id: str, address: str) -> Manifest:
    """Make the Job that submits to a cluster, and that runs for as long as what it submitted."""
    metadata, spec = job["metadata"], job["spec"]
    template = spec.get("submitterPodTemplate") or {
        "spec": {"containers": [_container(spec["rayClusterSpec"])], "restartPolicy": "Never"}
    }
    first, *others = template["spec"]["containers"]
    if not first.get("command"):
        line = f"ray job submit --address http://{address} --submission-id {job_id} -- {spec.get('entrypoint', '')}"
        first = {**first, "command": ["/bin/bash", "-c", "--"], "args": [line]}
    limit = (spec.get("submitterConfig") or {}).get("backoffLimit")
    job_spec = {
        "backoffLimit": ATTEMPTS if limit is None else limit,
        "template": {**template, "spec": {**template["spec"], "containers": [first, *others]}},
    }
    labels = {**origin(metadata["name"], "RayJob"), **CREATED_BY}
    return owned(job, RayJob, Job.manifest(metadata["name"], metadata["namespace"], labels=labels, spec=job_spec))


def _with_sidecar(spec: Manifest) -> Manifest:
    head = spec["headGroupSpec"]
    pod = head["template"]["spec"]
    pod = {**pod, "containers": [*pod["containers"], _container(spec)], "restartPolicy": "Never"}
    return {**spec, "headGroupSpec": {**head, "template": {**head["template"], "spec": pod}}}


def _container(cluster: Manifest) -> Manifest:
    image = cluster["headGroupSpec"]["template"]["spec"]["containers"][0].get("image")
    return {"name": SUBMITTER, "image": image, "resources": RESOURCES}
