"""The situations that jobs of every kind get into; what their operators say of a copy is written by hand."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api.fields import with_value
from fleetqueue.api.meta import replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.workload_slices import ELASTIC_JOB

from ..job_samples import Sample  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252

PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
ONE_WORKER = {"cluster2": 0}
NO_WORKER = {"cluster1": 0, "cluster2": 0}
FLAVORS = [{"name": "@default", "resources": [{"name": "cpu", "nominalQuota": "9"}]}]
OPENED = {"spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": FLAVORS}]}}
DRAINED = {"spec": {"stopPolicy": "HoldAndDrain"}}
LEAVING = (
    "nobody is nominated for a job on its way out, and its copy stays until its last status is back; Kueue removes the "
    "copy at once, and nominates until its quota is given back"
)
NOMINATED = "hub.workloads.workload of a.status.nominatedClusterNames"


def short_life(sample: Sample) -> Iterator[Described]:
    """Return what tells most of a kind that an operator runs."""
    kind, there = sample.kind, _there(sample)
    yield on_one(f"a {kind} goes to the worker with quota", made(_manifest(sample)))
    yield on_one(f"a {kind} runs on its worker", *_running(sample))
    if sample.succeeds is not None and sample.fails is not None:
        yield on_one(f"a {kind} ends", *_running(sample), _says(sample, sample.succeeds))
        yield on_one(f"a {kind} fails", *_running(sample), _says(sample, sample.fails))
    yield on_one(
        f"a worker evicts a {kind} and another takes it",
        *_running(sample),
        {"patch": {"cluster2 cq q": OPENED}},
        {"patch": {"cluster1 cq q": DRAINED}},
        {**_says(sample, sample.stopped), "wait": 6},
    )
    yield on_one(f"the copy of a {kind} is deleted on its worker", *_running(sample), {"delete": [there], "wait": 6})


def whole_life(sample: Sample) -> Iterator[Described]:
    """Return all situations of a kind that an operator runs."""
    kind, here = sample.kind, _here(sample)
    yield from short_life(sample)
    yield {"name": f"nobody has quota for a {kind}", "quota": NO_WORKER, "steps": [made(_manifest(sample))]}
    suspended = {"patch": {here: with_value({}, sample.of.suspend, True)}, "wait": 6}
    yield on_one(f"a {kind} is suspended by its user", *_running(sample), suspended)
    deactivated = on_one(
        f"a {kind} is deactivated",
        *_running(sample),
        {"patch": {"hub workload a": {"spec": {"active": False}}}},
        {**_says(sample, sample.stopped), "wait": 6},
    )
    yield {**deactivated, "differs": {"why": LEAVING, "at": [f"hub.{kind.lower()}.a.status", NOMINATED, "refusals"]}}
    yield on_one(f"a {kind} is deleted while it runs", *_running(sample), {"delete": [here]})
    raised = {"patch": {here: {"metadata": {"labels": {PRIORITY_CLASS: "@high"}}}}}
    low = made(_manifest(sample, labels={PRIORITY_CLASS: "@low"}))
    of_class = on_one(f"a {kind} gets another priority class while it runs", low, raised)
    yield {**of_class, "classes": {"low": 1, "high": 10}}
    own = with_value(_manifest(sample), sample.of.managed_by, sample.of.own_controller)
    yield on_one(f"a {kind} that names its own operator", made(own))


def elastic_life(sample: Sample) -> Iterator[Described]:
    """Return what tells most of a kind of which the number of pods may change while it runs."""
    elastic = made(_manifest(sample, annotations={ELASTIC_JOB: "true"}))
    runs = {"patch": {_there(sample): {"status": sample.runs}}}
    yield on_one(f"an elastic {sample.kind} runs on its worker", elastic, runs)
    yield on_one(f"an elastic {sample.kind} is deleted while it runs", elastic, runs, {"delete": [_here(sample)]})


def first_step(sample: Sample) -> Iterator[Described]:
    """Return the one situation of a kind that no worker takes."""
    yield on_one(f"a {sample.kind} goes to the worker with quota", made(_manifest(sample)))


def _here(sample: Sample) -> str:
    return f"hub {sample.kind.lower()} a"


def _there(sample: Sample) -> str:
    return f"cluster1 {sample.kind.lower()} a"


def _running(sample: Sample) -> list[Manifest]:
    return [made(_manifest(sample)), {"patch": {_there(sample): {"status": sample.runs}}}]


def _says(sample: Sample, status: Manifest) -> Manifest:
    """Return the step in which an operator says something else of a copy that ran."""
    return {"patch": {_there(sample): {"status": replacement(sample.runs, status)}}}


def _manifest(sample: Sample, **metadata: Any) -> Manifest:
    return {"apiVersion": sample.of.kind.resource.api_version, **sample.manifest(**metadata)}


def made(*manifests: Manifest) -> Manifest:
    return {"make": {"hub": [*manifests]}, "wait": 2}


def on_one(name: str, *steps: Manifest) -> Described:
    """Return a scenario in which only the first worker has quota."""
    return {"name": name, "quota": ONE_WORKER, "steps": [*steps]}
