"""RayClusters, RayJobs and RayServices: a head, groups of workers, and what KubeRay adds to their pods.

Mirrors: Kueue pkg/controller/jobs/{raycluster,rayjob,rayservice}
"""

import json
from collections.abc import Mapping
from typing import Final, Self

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.fields import Field, value_at, with_value
from fleetqueue.api.job_kinds import RAY_CLUSTER, RAY_JOB, RAY_SERVICE, JobKind, RayCluster
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import Lookup, gated
from fleetqueue.embedded.kueue.jobs.template_jobs import TemplateJobs
from fleetqueue.rules import ray_pods
from fleetqueue.rules.job_endings import Ending, no_ending, ray_job_ending
from fleetqueue.rules.job_templates import JobTemplate, ray_templates
from fleetqueue.rules.workload_slices import RAY_GENERATION, RAY_SIZES


class _RayIntegration(TemplateJobs):
    gates_pods = True
    """Whether the pods of an elastic job wait at the gate that stands in its templates."""

    def __init__(self, job_kind: JobKind) -> None:
        super().__init__(job_kind)
        self._cluster = ray_pods.CLUSTERS[job_kind.kind]

    def templates(self, job: Manifest) -> list[JobTemplate]:
        return ray_pods.templates(job, self._cluster)

    def completed(self, job: Manifest) -> Manifest:
        if not self.is_elastic(job) or not self.gates_pods:
            return job
        for template in ray_templates(job, self._cluster):
            job = with_value(job, template.field, gated(self.written_template(job, template)))
        return job

    def written_template(self, job: Manifest, template: JobTemplate) -> Manifest:
        return ray_pods.written_template(job, template)

    def pod_template(self, job: Manifest, template: JobTemplate) -> Manifest:
        return ray_pods.pod_template(job, template, self._cluster)


class RayClusterIntegration(_RayIntegration):
    """A RayCluster never ends by itself."""

    def __init__(self) -> None:
        super().__init__(RAY_CLUSTER)

    def is_active(self, job: Manifest) -> bool:
        return self.pods_ready(job)

    def ending(self, job: Manifest) -> Ending | None:
        return no_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        return bool(value_at(job, ("status", "state")) == "ready")


def _nothing(kind: type[Object], name: str, namespace: str) -> Manifest | None:
    return None


class _RayOwner(_RayIntegration):
    """A kind that makes a RayCluster, of which Ray itself may change the size."""

    makes = (RayCluster,)
    job_kind: JobKind
    made: Field
    """Where the name of the cluster is."""

    def __init__(self, find: Lookup = _nothing) -> None:
        super().__init__(type(self).job_kind)
        self._find = find

    def looking_up(self, find: Lookup) -> Self:
        return type(self)(find)

    def templates(self, job: Manifest) -> list[JobTemplate]:
        sizes = self._sizes_by_ray(job)
        return [one._replace(pods=sizes.get(one.name, one.pods)) for one in super().templates(job)]

    def annotated(self, job: Manifest) -> Manifest:
        if not self.is_elastic(job):
            return job
        made = self._made_cluster(job)
        sizes = [{"name": one.name, "count": one.pods} for one in self.templates(job)]
        said = {
            RAY_SIZES: json.dumps(sizes, separators=(",", ":")),
            RAY_GENERATION: str(made["metadata"].get("generation", 0)) if made is not None else "",
        }
        return with_value(job, ("metadata", "annotations"), {**job_fields.annotations(job), **said})

    def _sizes_by_ray(self, job: Manifest) -> Mapping[str, int]:
        """Return how many pods the groups of the cluster have by now, where Ray scales an elastic one."""
        if not (self.is_elastic(job) and value_at(job, (*self._cluster, "enableInTreeAutoscaling"))):
            return {}
        made = self._made_cluster(job)
        if made is None:
            return {}
        groups = value_at(made, ("spec", "workerGroupSpecs")) or ()
        sized = {group["groupName"].lower() for group in groups if "replicas" in group}
        return {one.name: one.pods for one in ray_templates(made, ("spec",)) if one.name in sized}

    def _made_cluster(self, job: Manifest) -> Manifest | None:
        name = value_at(job, self.made)
        return self._find(RayCluster, name, job["metadata"]["namespace"]) if name else None


class RayServiceIntegration(_RayOwner):
    """A RayService never ends by itself."""

    job_kind = RAY_SERVICE
    made = ("status", "activeServiceStatus", "rayClusterName")

    def is_active(self, job: Manifest) -> bool:
        return self.pods_ready(job)

    def ending(self, job: Manifest) -> Ending | None:
        return no_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        return is_true(job, "Ready")


class RayJobIntegration(_RayOwner):
    """A RayJob makes a RayCluster, and a Job that submits to it."""

    gates_pods = False
    job_kind = RAY_JOB
    made = ("status", "rayClusterName")

    def skips(self, job: Manifest) -> bool:
        """A job for a cluster that is there already needs nothing of its own."""
        return bool(job["spec"].get("clusterSelector"))

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
