"""Scenarios of jobs that ask for a topology: what each kind asks for, and what is refused in which words."""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api import topology_names as names
from fleetqueue.api.fields import Field, value_at, with_value
from fleetqueue.api.scheme import Manifest

from ..job_samples import SAMPLES, template  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252

Annotations = Mapping[str, str]
HOST = "kubernetes.io/hostname"
ON_ONE_NODE = {names.REQUIRED: HOST}
TOO_LARGE = {names.REQUIRED: "rack", names.SLICE_REQUIRED: HOST, names.SLICE_SIZE: "99"}
UNREADABLE = {names.UNCONSTRAINED: "maybe"}
IN_GROUP = {**ON_ONE_NODE, names.GROUP_NAME: "together"}
LAYERS = '[{"topology":"rack","size":2},{"topology":"kubernetes.io/hostname","size":1}]'

GOOD: Mapping[str, Annotations] = {
    "one-node": ON_ONE_NODE,
    "few-nodes": {names.PREFERRED: HOST},
    "any-nodes": {names.UNCONSTRAINED: "T"},
    "not-even-any": {names.UNCONSTRAINED: "false"},
    "slices": {names.PREFERRED: "rack", names.SLICE_REQUIRED: HOST, names.SLICE_SIZE: "2"},
    "slices-alone": {names.SLICE_REQUIRED: HOST, names.SLICE_SIZE: "+2"},
    "layers": {names.SLICE_CONSTRAINTS: LAYERS},
    "layers-in-other-letters": {names.SLICE_CONSTRAINTS: '[{"Topology":"rack","SIZE":2,"more":1}]'},
    "group": IN_GROUP,
}
BAD: Mapping[str, Annotations] = {
    "two-places": {**ON_ONE_NODE, names.PREFERRED: HOST},
    "no-label": {names.REQUIRED: "no label!"},
    "no-labels": {names.PREFERRED: "a/b/c", names.SLICE_REQUIRED: "", names.SLICE_SIZE: "1"},
    "no-boolean": UNREADABLE,
    "number-for-a-group": {**ON_ONE_NODE, names.GROUP_NAME: "12"},
    "group-of-slices": {names.GROUP_NAME: "g", names.SLICE_REQUIRED: HOST, names.SLICE_SIZE: "1"},
    "size-without-level": {names.SLICE_SIZE: "1"},
    "level-without-size": {names.SLICE_REQUIRED: HOST},
    "size-nought": {names.SLICE_REQUIRED: HOST, names.SLICE_SIZE: "0"},
    "size-no-number": {names.SLICE_REQUIRED: HOST, names.SLICE_SIZE: "two"},
    "size-out-of-range": {names.SLICE_REQUIRED: HOST, names.SLICE_SIZE: "2147483648"},
    "size-too-large": TOO_LARGE,
    "layers-no-json": {names.SLICE_CONSTRAINTS: "[{"},
    "layers-no-list": {names.SLICE_CONSTRAINTS: "{}"},
    "layers-no-objects": {names.SLICE_CONSTRAINTS: '["rack"]'},
    "layers-wrong-size": {names.SLICE_CONSTRAINTS: '[{"topology":"rack","size":"2"}]'},
    "layers-half-size": {names.SLICE_CONSTRAINTS: '[{"topology":"rack","size":1.5}]'},
    "layers-wrong-level": {names.SLICE_CONSTRAINTS: '[{"topology":1,"size":2}]'},
    "layers-none": {names.SLICE_CONSTRAINTS: "null"},
    "layers-four": {names.SLICE_CONSTRAINTS: "[{},{},{},{}]"},
    "layers-not-apart": {
        names.SLICE_CONSTRAINTS: '[{"topology":"a","size":2},{"topology":"a","size":3},{"topology":"","size":0}]'
    },
    "layers-too-large": {names.SLICE_CONSTRAINTS: '[{"topology":"a","size":99}]'},
    "layers-and-slices": {
        names.SLICE_CONSTRAINTS: LAYERS,
        names.SLICE_REQUIRED: HOST,
        names.SLICE_SIZE: "1",
        **IN_GROUP,
    },
}
"""Each for a Job of two pods."""
TEMPLATES: Mapping[str, tuple[Field, ...]] = {
    "JobSet": tuple(("replicatedJobs", number, "template", "spec", "template") for number in (0, 1)),
    "PyTorchJob": (("pytorchReplicaSpecs", "Worker", "template"), ("pytorchReplicaSpecs", "Master", "template")),
    "JAXJob": (("jaxReplicaSpecs", "Worker", "template"),),
    "MPIJob": (("mpiReplicaSpecs", "Worker", "template"), ("mpiReplicaSpecs", "Launcher", "template")),
    "RayCluster": (("workerGroupSpecs", 0, "template"), ("headGroupSpec", "template")),
    "RayJob": (
        ("rayClusterSpec", "workerGroupSpecs", 0, "template"),
        ("rayClusterSpec", "headGroupSpec", "template"),
    ),
    "RayService": (
        ("rayClusterConfig", "workerGroupSpecs", 0, "template"),
        ("rayClusterConfig", "headGroupSpec", "template"),
    ),
}
"""Where kinds have their pod templates: first the one of more pods."""


def described() -> list[Described]:
    return [*_of_jobs(), *_of_kinds()]


def _of_jobs() -> Iterator[Described]:
    asked = {name: _job(name, annotations) for name, annotations in GOOD.items()}
    yield {"name": "jobs ask for a topology", "steps": [{"create": [*asked.values()]}]}
    refused = {name: _job(name, annotations) for name, annotations in BAD.items()}
    yield {"name": "jobs ask for a topology that cannot be", "steps": [{"create": [*refused.values()]}]}
    elastic = {"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
    pair = [_job(f"elastic-{name}", GOOD[name], **elastic) for name in ("one-node", "few-nodes")]
    yield {"name": "elastic jobs ask for a topology", "steps": [{"create": pair}]}
    patch: Any = {"spec": {"template": {"metadata": {"annotations": BAD["two-places"]}}}}
    steps = [{"create": [_job("one-node", ON_ONE_NODE)]}, {"patch": {"job one-node": patch}}]
    yield {"name": "a job that waits asks for another topology", "queue": {"cpu": 0}, "steps": steps}


def _job(name: str, asked: Annotations, **metadata: Any) -> Manifest:
    pods = template(1, annotations=dict(asked))
    pods["spec"]["restartPolicy"] = "Never"
    spec = {"suspend": True, "parallelism": 2, "completions": 2, "template": pods}
    return {
        "kind": "Job",
        "metadata": {"name": name, "labels": {kueue.QUEUE_LABEL: "q"}, **metadata},
        "spec": spec,
    }


def _of_kinds() -> Iterator[Described]:
    samples = {sample.kind: sample for sample in SAMPLES}
    for kind, (main, *others) in TEMPLATES.items():
        made = {
            "asks": _annotated(samples[kind].manifest(), main, ON_ONE_NODE),
            "large": _annotated(samples[kind].manifest(), main, TOO_LARGE),
            "unreadable": _annotated(samples[kind].manifest(), main, UNREADABLE),
            "alone": _annotated(samples[kind].manifest(), main, IN_GROUP),
        }
        for other in others:
            made["other-unreadable"] = _annotated(samples[kind].manifest(), other, UNREADABLE)
            made["pair"] = _annotated(_annotated(samples[kind].manifest(), main, IN_GROUP), other, IN_GROUP)
            apart = {names.PREFERRED: HOST, names.GROUP_NAME: "together"}
            made["apart"] = _annotated(_annotated(samples[kind].manifest(), main, IN_GROUP), other, apart)
        created = [{**raw, "metadata": {**raw["metadata"], "name": name}} for name, raw in made.items()]
        yield {"name": f"a {kind} asks for a topology", "steps": [{"create": created}]}


def _annotated(raw: Manifest, where: Field, annotations: Annotations) -> Manifest:
    field = ("spec", *where, "metadata", "annotations")
    return with_value(raw, field, {**(value_at(raw, field) or {}), **annotations})
