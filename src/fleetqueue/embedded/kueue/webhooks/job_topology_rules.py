"""What Kueue refuses in the topologies that jobs ask for: what of each kind is judged, and where its templates are.

Mirrors: Kueue validateTopologyRequest in pkg/controller/jobs/*/*_webhook.go, kubeflowjob_controller.go
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fleetqueue.api import errors
from fleetqueue.api import topology_names as names
from fleetqueue.api.job_kinds import (
    BATCH_JOB,
    JAX_JOB,
    JOB_SET,
    MPI_JOB,
    PADDLE_JOB,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    SPARK_APPLICATION,
    TF_JOB,
    TRAIN_JOB,
    XGBOOST_JOB,
    ReplicaJobKind,
)
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.topology_requests import UnreadableRequest
from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden
from fleetqueue.embedded.kueue.webhooks.topology_rules import (
    Annotations,
    annotations_of,
    group_faults,
    request_faults,
    slice_faults,
)
from fleetqueue.rules.workload_slices import is_elastic

ADJUST: Final = (
    '. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the '
    "corresponding Job"
)


class Judged(NamedTuple):
    """A pod set, and where the annotations of its template are."""

    pod_set: Manifest
    path: str

    @property
    def annotations(self) -> Annotations:
        return annotations_of(self.pod_set["template"])

    def request_faults(self) -> Iterable[str]:
        return request_faults(self.path, self.annotations)

    def slice_faults(self) -> Iterable[str]:
        return slice_faults(self.path, self.annotations, self.pod_set["count"])

    def faults(self) -> Iterator[str]:
        yield from self.request_faults()
        yield from self.slice_faults()


def topology_faults(integration: Integration, job: Manifest) -> list[str]:
    """Return what is wrong with the topology that a job asks for.

    Raises UnreadableRequest where annotations cannot be read and nothing else is judged: that alone is told then.
    """
    rule = _RULES.get(integration.framework)
    try:
        return [*rule(integration, job)] if rule is not None else []
    except errors.NotFound:
        return []  # `missing_faults` tells what is not there


def _of_batch_job(integration: Integration, job: Manifest) -> Iterable[str]:
    path, annotations = "spec.template.metadata.annotations", annotations_of(job["spec"]["template"])
    if problems := [*request_faults(path, annotations)]:
        return problems
    for how, name in (("required", names.REQUIRED), ("preferred", names.PREFERRED)):
        if is_elastic(job) and name in annotations:
            return [forbidden(f"{path}.{name}", f"{how} topology is not supported with elastic jobs")]
    return slice_faults(path, annotations, integration.pod_sets(job)[0]["count"])


def _of_job_set(integration: Integration, job: Manifest) -> Iterable[str]:
    paths = (
        f"spec.replicatedJobs[{place}].template.spec.template" for place in range(len(job["spec"]["replicatedJobs"]))
    )
    return _with_groups(_judged(integration, job, paths))


def _of_mpi_job(integration: Integration, job: Manifest) -> Iterable[str]:
    return _with_groups(_judged(integration, job, _replica_paths(MPI_JOB, job)))


def _of_kubeflow(kind: ReplicaJobKind) -> "Rule":
    def rule(integration: Integration, job: Manifest) -> Iterable[str]:
        try:
            judged = _judged(integration, job, _replica_paths(kind, job))
        except UnreadableRequest:
            return _of_replicas(kind, job)
        return [problem for one in judged for problem in one.faults()]

    return rule


def _of_replicas(kind: ReplicaJobKind, job: Manifest) -> list[str]:
    """Judge templates of which no pod sets can be made."""
    replicas = job["spec"][kind.replicas[-1]]
    return [
        problem
        for path, role in zip(_replica_paths(kind, job), _roles(kind, job), strict=True)
        for problem in request_faults(f"{path}.metadata.annotations", annotations_of(replicas[role]["template"]))
    ]


def _roles(kind: ReplicaJobKind, job: Manifest) -> list[str]:
    replicas = job["spec"].get(kind.replicas[-1]) or {}
    return [role for role in kind.roles if replicas.get(role) is not None]


def _replica_paths(kind: ReplicaJobKind, job: Manifest) -> list[str]:
    return [f"spec.{kind.replicas[-1]}[{role}].template" for role in _roles(kind, job)]


def _of_ray_cluster(integration: Integration, job: Manifest) -> Iterable[str]:
    spec = job["spec"]
    try:
        pod_sets = integration.pod_sets(job)
    except UnreadableRequest:
        if problems := [*_head(spec, "spec")]:
            return problems
        raise
    head, *workers = _of_ray_templates(pod_sets, spec, "spec")
    found = [*head.request_faults(), *_grouped([head, *workers])]
    return [*found, *head.slice_faults(), *(problem for worker in workers for problem in worker.faults())]


def _of_ray_owner(field: str) -> "Rule":
    """Return the rule of a kind that has a RayCluster within; it is told at the same path whatever its field is."""
    path = "spec.rayClusterSpec"

    def rule(integration: Integration, job: Manifest) -> Iterable[str]:
        spec = job["spec"].get(field)
        if spec is None or job["spec"].get("clusterSelector"):
            return []
        try:
            pod_sets = integration.pod_sets(job)
        except UnreadableRequest:
            groups = enumerate(spec.get("workerGroupSpecs") or ())
            of_workers = (
                problem
                for place, group in groups
                for problem in request_faults(_worker_path(path, place), annotations_of(group["template"]))
            )
            return [*_head(spec, path), *of_workers]
        head, *workers = _of_ray_templates(pod_sets, spec, path)
        others = [Judged(pod_set, "") for pod_set in pod_sets[len(workers) + 1 :]]
        found = [*head.faults(), *_grouped([head, *workers, *others])]
        return [*found, *(problem for worker in workers for problem in worker.faults())]

    return rule


def _head(cluster: Manifest, path: str) -> Iterable[str]:
    return request_faults(
        f"{path}.headGroupSpec.template.metadata.annotations", annotations_of(cluster["headGroupSpec"]["template"])
    )


def _worker_path(path: str, place: int) -> str:
    return f"{path}.workerGroupSpecs[{place}].template.metadata.annotations"


def _of_ray_templates(pod_sets: Sequence[Manifest], cluster: Manifest, path: str) -> list[Judged]:
    head = Judged(pod_sets[0], f"{path}.headGroupSpec.template.metadata.annotations")
    groups = cluster.get("workerGroupSpecs") or ()
    return [head, *(Judged(pod_sets[place + 1], _worker_path(path, place)) for place in range(len(groups)))]


def _of_train_job(integration: Integration, job: Manifest) -> Iterable[str]:
    judged = (Judged(pod_set, f"job[{pod_set['name']}].annotations") for pod_set in integration.pod_sets(job))
    return [f"{problem}{ADJUST}" for one in judged for problem in one.faults()]


def _of_spark_application(integration: Integration, job: Manifest) -> Iterable[str]:
    judged = (Judged(pod_set, f"spec.{pod_set['name']}.annotations") for pod_set in integration.pod_sets(job))
    return [problem for one in judged for problem in one.faults()]


def _judged(integration: Integration, job: Manifest, templates: Iterable[str]) -> list[Judged]:
    pod_sets = integration.pod_sets(job)
    return [Judged(pod_set, f"{path}.metadata.annotations") for pod_set, path in zip(pod_sets, templates, strict=True)]


def _with_groups(judged: Sequence[Judged]) -> list[str]:
    return [*(problem for one in judged for problem in one.faults()), *_grouped(judged)]


def _grouped(judged: Sequence[Judged]) -> Iterable[str]:
    return group_faults([one.pod_set for one in judged], {one.pod_set["name"]: one.path for one in judged})


Rule = Callable[[Integration, Manifest], Iterable[str]]
_RULES: Final[Mapping[str, Rule]] = {
    BATCH_JOB.framework: _of_batch_job,
    JOB_SET.framework: _of_job_set,
    MPI_JOB.framework: _of_mpi_job,
    **{kind.framework: _of_kubeflow(kind) for kind in (JAX_JOB, PADDLE_JOB, PYTORCH_JOB, TF_JOB, XGBOOST_JOB)},
    RAY_CLUSTER.framework: _of_ray_cluster,
    RAY_JOB.framework: _of_ray_owner("rayClusterSpec"),
    RAY_SERVICE.framework: _of_ray_owner("rayClusterConfig"),
    TRAIN_JOB.framework: _of_train_job,
    SPARK_APPLICATION.framework: _of_spark_application,
}
"""By framework. Upstream judges nothing of AppWrappers."""
