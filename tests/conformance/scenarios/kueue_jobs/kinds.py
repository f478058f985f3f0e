"""Scenarios of jobs of other kinds: each goes through the same life, and what an operator says is written by hand."""

from collections.abc import Iterator

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fields import with_value, without_field
from fleetqueue.api.scheme import Manifest

from ..job_samples import (  # noqa: TID252 - what the rooms share stands above them
    SAMPLES,
    Sample,
    job_set,
    ray_cluster,
    ray_job,
    ray_job_status,
    replicated,
)
from ..world import Described  # noqa: TID252

FLAVOR = {"nodeLabels": {"kubernetes.io/os": "linux"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
REFUSED: dict[str, tuple[str, Manifest]] = {
    "a RayCluster that scales itself": ("RayCluster", {**ray_cluster(1), "enableInTreeAutoscaling": True}),
    "a RayCluster with a group called head": (
        "RayCluster",
        with_value(ray_cluster(1), ("workerGroupSpecs", 0, "groupName"), "head"),
    ),
    "a RayJob that leaves its cluster": ("RayJob", {**ray_job(1), "shutdownAfterJobFinishes": False}),
    "a RayJob with a cluster and for another one": ("RayJob", {**ray_job(1), "clusterSelector": {"a": "b"}}),
    "a RayJob without a cluster": ("RayJob", without_field(ray_job(1), ("rayClusterSpec",))),
    "a RayJob for a cluster that is there": (
        "RayJob",
        {**without_field(ray_job(1), ("rayClusterSpec",)), "clusterSelector": {"a": "b"}},
    ),
    "a RayService that scales itself": (
        "RayService",
        {"rayClusterConfig": {**ray_cluster(1), "enableInTreeAutoscaling": True}},
    ),
}
"""What Kueue does not take, or does not look at."""


def described() -> list[Described]:
    lives = [scenario for sample in SAMPLES for scenario in _life(sample)]
    return [*lives, *(_judged(name, kind, spec) for name, (kind, spec) in REFUSED.items()), *_own_forms()]


def _judged(name: str, kind: str, spec: Manifest) -> Described:
    metadata = {"name": "a", "labels": {kueue.QUEUE_LABEL: "q"}}
    return {"name": name, "steps": [{"create": [{"kind": kind, "metadata": metadata, "spec": spec}]}]}


def _own_forms() -> Iterator[Described]:
    """Return what only some kinds have."""
    submitted = {**ray_job(1), "submissionMode": "K8sJobMode"}
    yield {"flavor": FLAVOR, **_judged("a RayJob that a Job submits", "RayJob", submitted)}
    yield _judged("a RayJob that its head submits", "RayJob", {**submitted, "submissionMode": "SidecarMode"})
    tolerant = {**ray_cluster(1), "gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
    yield _judged("a RayCluster that survives its head", "RayCluster", tolerant)
    on_hold = _judged("a RayJob that cannot be is on hold", "RayJob", ray_job(1))
    yield {
        **on_hold,
        "steps": [*on_hold["steps"], {"patch": {"rayjob a": {"status": ray_job_status("ValidationFailed", "", "")}}}],
    }
    reclaims = _judged("pods of a JobSet that will not come again", "JobSet", job_set(1))
    yield {
        **reclaims,
        "steps": [
            *reclaims["steps"],
            {"patch": {"jobset a": {"status": {"replicatedJobsStatus": replicated(succeeded=1)}}}},
        ],
    }


def _life(sample: Sample) -> Iterator[Described]:
    kind, a = sample.kind, f"{sample.kind.lower()} a"
    create = {"create": [sample.manifest()]}
    runs = {"patch": {a: {"status": sample.runs}}}
    yield {"name": f"a {kind} runs with the labels of its flavor", "flavor": FLAVOR, "steps": [create]}
    yield {"name": f"a {kind} that does not fit waits", "steps": [{"create": [sample.manifest(9)]}]}
    yield {"name": f"a {kind} without a queue is left alone", "steps": [{"create": [sample.manifest(queue="")]}]}
    yield {"name": f"the pods of a {kind} are ready", "steps": [create, runs]}
    if sample.succeeds is not None and sample.fails is not None:
        succeeds, fails = ({"patch": {a: {"status": status}}} for status in (sample.succeeds, sample.fails))
        yield {"name": f"a {kind} succeeds", "steps": [create, runs, succeeds]}
        yield {"name": f"a {kind} fails", "steps": [create, runs, fails]}
    stops = {"patch": {"workload a": {"spec": {"active": False}}}}
    stopped = {"patch": {a: {"status": sample.stopped}}}
    yield {
        "name": f"a deactivated {kind} stops and is as before",
        "flavor": FLAVOR,
        "steps": [create, runs, stops, stopped],
    }
    yield {"name": f"a deactivated {kind} keeps its quota while its pods run", "steps": [create, runs, stops]}
    starts = with_value({}, sample.of.suspend, False)
    yield {
        "name": f"a {kind} that somebody starts is stopped",
        "steps": [{"create": [sample.manifest(9)]}, {"patch": {a: starts}}],
    }
    yield {
        "name": f"a {kind} has a priority, and gets another",
        "classes": {"low": 1, "high": 10},
        "steps": [
            {"create": [sample.manifest(9, labels={"kueue.x-k8s.io/priority-class": "@low"})]},
            {"patch": {a: {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "@high"}}}}},
        ],
    }
    other = {"metadata": {"labels": {kueue.QUEUE_LABEL: "other"}}}
    yield {
        "name": f"a {kind} that waits goes to another queue",
        "steps": [{"create": [sample.manifest(9)]}, {"patch": {a: other}}],
    }
    yield {"name": f"a {kind} that runs cannot change its queue", "steps": [create, {"patch": {a: other}}]}
    yield {"name": f"a {kind} is deleted", "steps": [create, runs, {"delete": [a]}]}
