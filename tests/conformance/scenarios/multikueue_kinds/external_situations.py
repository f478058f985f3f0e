"""The situations of a kind that only somebody else's controller knows: its Workload is written by hand, and its end."""

from collections.abc import Iterator

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fields import with_value
from fleetqueue.api.scheme import Manifest

from ..job_samples import condition, plain_condition, template  # noqa: TID252 - what the rooms share stands above them
from ..kueue_integrations.form import PIPELINES, Pipeline  # noqa: TID252
from ..world import Described  # noqa: TID252
from .situations import NO_WORKER, made, on_one

HERE, THERE = "hub pipeline a", "cluster1 pipeline a"
DEFINITION: Manifest = with_value(PIPELINES, ("spec", "versions", 0, "subresources"), {"status": {}})
RUNS = {"patch": {THERE: {"status": {"phase": "Running", "conditions": [condition("Running")]}}}}


def described() -> Iterator[Described]:
    step = made(*_pipeline())
    yield on_one("a kind of somebody else goes to the worker with quota", step)
    yield {"name": "nobody has quota for a kind of somebody else", "quota": NO_WORKER, "steps": [step]}
    yield on_one("a kind of somebody else runs on its worker", step, RUNS)
    ended = [plain_condition(kind) for kind in (kueue.QUOTA_RESERVED, kueue.ADMITTED, kueue.FINISHED)]
    ends = {"patch": {"cluster1 workload w": {"status": {"conditions": ended}}}}
    yield on_one("a kind of somebody else ends", step, RUNS, ends)
    yield on_one("a kind of somebody else is deleted while it runs", step, RUNS, {"delete": [HERE], "wait": 6})
    yield on_one(
        "the copy of a kind of somebody else is deleted on its worker", step, RUNS, {"delete": [THERE], "wait": 6}
    )
    yield on_one(
        "a kind of somebody else that MultiKueue does not manage", made(*_pipeline(managedBy="example.com/mine"))
    )


def _pipeline(**spec: str) -> tuple[Manifest, Manifest]:
    job = {
        "apiVersion": Pipeline.resource.api_version,
        "kind": "Pipeline",
        "metadata": {"name": "a", "labels": {"l": "v"}},
        "spec": {"steps": 2, "managedBy": kueue.MULTIKUEUE_CONTROLLER, **spec},
    }
    pods = template(1)
    pods["spec"]["restartPolicy"] = "Never"
    workload = {
        "apiVersion": kueue.Workload.resource.api_version,
        "kind": "Workload",
        "metadata": {"name": "w", "ownerReferences": HERE},
        "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 2, "template": pods}]},
    }
    return job, workload
