"""Which pods a job that was not submitted yet would come to, as Kueue counts them. Pure functions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from fleetqueue.api import job_kinds
from fleetqueue.api.apps_v1 import Deployment, StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fields import value_at
from fleetqueue.api.job_kinds import JobKind, ReplicaJobKind
from fleetqueue.api.kueue_pods import group_name
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.meta import Object
from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.api.quantity import Amounts, add
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.topology_names import asks_for_topology
from fleetqueue.rules import ray_pods
from fleetqueue.rules.app_wrappers import field_of, pod_sets_of
from fleetqueue.rules.job_templates import (
    JobTemplate,
    job_set_templates,
    least_pods_at_once,
    pods_at_once,
    replica_templates,
)
from fleetqueue.rules.spark_pods import DRIVER, EXECUTOR, pods_of, spark_template
from fleetqueue.rules.train_jobs import job_set_of

MAIN: Final = ("spec", "template")
"""Where most kinds with one template have it."""
OF_GROUPS: Final = ("spec", "leaderWorkerTemplate")
KUBEFLOW: Final = (
    job_kinds.JAX_JOB,
    job_kinds.MPI_JOB,
    job_kinds.PADDLE_JOB,
    job_kinds.PYTORCH_JOB,
    job_kinds.TF_JOB,
    job_kinds.XGBOOST_JOB,
)
RAY: Final = (job_kinds.RAY_CLUSTER, job_kinds.RAY_JOB, job_kinds.RAY_SERVICE)


@dataclass(frozen=True, slots=True)
class PlannedPods:
    needed: Amounts = field(default_factory=dict)
    """What they ask quota for together."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Those of the first pod template."""
    who: str = "it"
    """Who asks: of some kinds, each pod or each group is queued for itself."""
    asks_for_topology: bool = False
    """Whether a template asks for a topology: which nodes have room for it shows only when it is placed."""
    unjudged: str = ""
    """Why nobody can tell before it is submitted; empty where it can be told."""


def planned_pods(job: Manifest, runtime: Manifest | None = None) -> PlannedPods:
    """Return the pods of a job; `runtime` is that of a TrainJob."""
    kind = str(job["apiVersion"]).rpartition("/")[0], job["kind"]
    known = _KINDS.get(kind)
    try:
        if kind == _key(job_kinds.TRAIN_JOB.kind):
            return _of_train_job(job, runtime)
        return known(job) if known is not None else PlannedPods(unjudged=f"only its own controller knows {job['kind']}")
    except (LookupError, TypeError, ValueError, AttributeError, msgspec.ValidationError):  # no server has judged it
        return PlannedPods(unjudged="its spec cannot be read")


def _of_job(job: Manifest) -> PlannedPods:
    least = least_pods_at_once(job)
    return _written(job, [JobTemplate("main", MAIN, pods_at_once(job) if least is None else least)])


def _of_job_set(job: Manifest) -> PlannedPods:
    return _written(job, job_set_templates(job))


def _of_kubeflow(kind: ReplicaJobKind) -> Callable[[Manifest], PlannedPods]:
    return lambda job: _written(job, replica_templates(job, kind.replicas, kind.roles))


def _of_ray(kind: JobKind) -> Callable[[Manifest], PlannedPods]:
    cluster = ray_pods.CLUSTERS[kind.kind]

    def of_ray(job: Manifest) -> PlannedPods:
        if job["spec"].get("clusterSelector"):
            return PlannedPods(unjudged="it uses a cluster that is there already, and has no pods of its own")
        templates = ray_pods.templates(job, cluster)
        return _asked((ray_pods.pod_template(job, one, cluster), one.pods) for one in templates)

    return of_ray


def _of_train_job(job: Manifest, runtime: Manifest | None) -> PlannedPods:
    if runtime is None:
        return PlannedPods(unjudged="the runtime that it names is not there, or may not be read")
    return _of_job_set(job_set_of({**job, "metadata": {"name": "", **job["metadata"]}}, runtime))


def _of_spark(app: Manifest) -> PlannedPods:
    return _asked((spark_template(app, role), pods_of(app, role)) for role in (DRIVER, EXECUTOR))


def _of_app_wrapper(job: Manifest) -> PlannedPods:
    found = [
        (value_at(component["template"], place), listed.get("replicas", 1))
        for component in job["spec"].get("components") or ()
        for listed in pod_sets_of(component)
        if (place := field_of(listed["path"])) is not None
    ]
    if not found:
        return PlannedPods(unjudged="nothing in it says which pods it comes to")
    return _asked((template, pods) for template, pods in found if template is not None)


def _of_pod(pod: Manifest) -> PlannedPods:
    if group_name(pod["metadata"]):
        return PlannedPods(unjudged="it is queued with all pods of its group")
    return _asked([(pod, 1)])


def _of_deployment(deployment: Manifest) -> PlannedPods:
    return _written(deployment, [JobTemplate("main", MAIN, 1)], who="each of its pods")


def _of_stateful_set(stateful_set: Manifest) -> PlannedPods:
    return _written(stateful_set, [JobTemplate("main", MAIN, stateful_set["spec"].get("replicas", 1))])


def _of_leader_worker_set(leader_worker_set: Manifest) -> PlannedPods:
    size = int(value_at(leader_worker_set, (*OF_GROUPS, "size")) or 1)
    leader, worker = ((*OF_GROUPS, name) for name in ("leaderTemplate", "workerTemplate"))
    if value_at(leader_worker_set, leader) is None:
        templates = [JobTemplate("main", worker, size)]
    else:
        templates = [JobTemplate("leader", leader, 1), JobTemplate("worker", worker, size - 1)]
    return _written(leader_worker_set, templates, who="each of its groups")


def _written(job: Manifest, templates: Iterable[JobTemplate], who: str = "it") -> PlannedPods:
    return _asked(((value_at(job, one.field) or {}, one.pods) for one in templates), who)


def _asked(counted: Iterable[tuple[Manifest, int]], who: str = "it") -> PlannedPods:
    """Sum up templates, and how many pods each is for."""
    templates = [*counted]
    sets = pod_sets({"count": pods, "template": template} for template, pods in templates)
    needed = add({name: amount * one.count for name, amount in one.template.spec.requests().items()} for one in sets)
    annotations = next((value_at(template, ("metadata", "annotations")) for template, _ in templates), None)
    asking = any(asks_for_topology(value_at(one, ("metadata", "annotations")) or {}) for one, _ in templates)
    return PlannedPods(needed, annotations or {}, who, asking)


def _key(kind: type[Object]) -> tuple[str, str]:
    return kind.resource.group, kind.resource.kind


_KINDS: Final[Mapping[tuple[str, str], Callable[[Manifest], PlannedPods]]] = {
    _key(job_kinds.BATCH_JOB.kind): _of_job,
    _key(job_kinds.JOB_SET.kind): _of_job_set,
    **{_key(one.kind): _of_kubeflow(one) for one in KUBEFLOW},
    **{_key(one.kind): _of_ray(one) for one in RAY},
    _key(job_kinds.SPARK_APPLICATION.kind): _of_spark,
    _key(job_kinds.APP_WRAPPER.kind): _of_app_wrapper,
    _key(Pod): _of_pod,
    _key(Deployment): _of_deployment,
    _key(StatefulSet): _of_stateful_set,
    _key(LeaderWorkerSet): _of_leader_worker_set,
}
