"""What Kueue refuses in RayClusters, RayJobs and RayServices that it manages.

Mirrors: Kueue pkg/controller/jobs/{raycluster,rayjob,rayservice}/*_webhook.go
"""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden, invalid, required, too_many
from fleetqueue.rules.workload_slices import ELASTIC_JOB, is_elastic

MOST_POD_SETS: Final = 18
_SCALES_ITSELF: Final = "a kueue managed job should only use autoscaling when workload slicing is enabled"
_CLUSTER_SCALES_ITSELF: Final = (
    "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the ElasticJobsViaWorkloadSlices "
    'feature gate and set the "kueue.x-k8s.io/elastic-job": "true" annotation'
)


def ray_cluster_faults(job: Manifest) -> list[str]:
    of_elastic = _of_elastic(job["spec"]) if is_elastic(job) else ()
    return [*of_elastic, *_of_cluster(job, job["spec"], "spec", _CLUSTER_SCALES_ITSELF)]


def ray_service_faults(job: Manifest) -> list[str]:
    return [*_of_cluster(job, job["spec"].get("rayClusterConfig") or {}, "spec.rayClusterSpec", _SCALES_ITSELF)]


def ray_job_faults(job: Manifest) -> list[str]:
    spec = job["spec"]
    cluster, selector = spec.get("rayClusterSpec"), spec.get("clusterSelector")
    if cluster is not None and selector:
        return [invalid("spec.clusterSelector", selector, "a kueue managed job should not use an existing cluster")]
    if cluster is None:
        why = "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector"
        return [] if selector else [required("spec.rayClusterSpec", why)]
    why = "a kueue managed job should delete the cluster after finishing"
    ends = bool(spec.get("shutdownAfterJobFinishes"))
    stays = [] if ends else [invalid("spec.shutdownAfterJobFinishes", ends, why)]
    return [*stays, *_of_cluster(job, cluster, "spec.rayClusterSpec", _SCALES_ITSELF)]


def _of_elastic(cluster: Manifest) -> Iterable[str]:
    """Find pod templates without the gate of elastic jobs, and a cluster elsewhere that Ray itself would scale."""
    groups = cluster.get("workerGroupSpecs") or ()
    named = [(f"spec.workerGroupSpecs[{number}]", group) for number, group in enumerate(groups)]
    for path, group in (*named, ("spec.headGroupSpec", cluster["headGroupSpec"])):
        gates = group["template"]["spec"].get("schedulingGates")
        if {"name": ELASTIC_JOB} not in (gates or ()):
            why = "an elastic job must have the ElasticJobSchedulingGate"
            yield invalid(f"{path}.template.spec.schedulingGates", gates, why)
    if cluster.get("enableInTreeAutoscaling") and cluster.get("managedBy") == kueue.MULTIKUEUE_CONTROLLER:
        why = "in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster"
        yield forbidden("spec.enableInTreeAutoscaling", why)


def _of_cluster(job: Manifest, cluster: Manifest, path: str, scales_itself: str) -> Iterable[str]:
    if cluster.get("enableInTreeAutoscaling") and not is_elastic(job):
        yield invalid(f"{path}.enableInTreeAutoscaling", True, scales_itself)
    groups = cluster.get("workerGroupSpecs") or ()
    if len(groups) + 1 > MOST_POD_SETS:
        yield too_many(f"{path}.workerGroupSpecs", len(groups) + 1, MOST_POD_SETS)
    for number, group in enumerate(groups):
        if group.get("groupName") == "head":
            yield forbidden(f"{path}.workerGroupSpecs[{number}].groupName", '"head" is reserved for the head group')
