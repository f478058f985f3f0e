"""The JobSet that a TrainJob becomes: its runtime's template, with what the job says in the place of what stood there.

Kueue makes the pod sets of a Workload from it, and who runs TrainJobs makes it.

Mirrors: trainer pkg/runtime/core, pkg/runtime/framework/plugins
Left out: the variables, ports and volumes by which the nodes of a framework find each other, the commands of torchtune,
and what other schedulers need.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.job_kinds import TRAINER, ClusterTrainingRuntime, TrainingRuntime
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.runtime_patches import by_key, patched

ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""The label by which a part of the template is what a section of the job is about."""
TRAINS: Final = "trainer"
NODE: Final = "node"
"""The container that trains; with MPI also the part whose pods are as many as the job has nodes."""
INITIALIZERS: Final = {"dataset-initializer": "dataset", "model-initializer": "model"}
"""The sections of `spec.initializer`, by the parts and containers that they are about."""
RUNTIMES: Final = (ClusterTrainingRuntime, TrainingRuntime)


def runtime_kind(job: Manifest) -> type[Object] | None:
    """Return the kind of the runtime that a job names; None where nobody knows that kind."""
    group, kind = _runtime(job)
    return next((known for known in RUNTIMES if (known.resource.group, known.resource.kind) == (group, kind)), None)


def runtime_name(job: Manifest) -> str:
    return str(value_at(job, ("spec", "runtimeRef", "name")) or "")


def unsupported(job: Manifest) -> str:
    group, kind = _runtime(job)
    return f"unsupported runtime: {kind}.{group}".removesuffix(".")


def job_set_of(job: Manifest, runtime: Manifest) -> Manifest:
    """Return the JobSet of a job whose runtime this is; who makes it says whose it is, and whether it runs."""
    template, policy = runtime["spec"]["template"], runtime["spec"].get("mlPolicy")
    patches = [
        value_at(patch, ("trainingRuntimeSpec", "template")) or {} for patch in job["spec"].get("runtimePatches") or ()
    ]
    parts = [patched(part, patches) for part in value_at(template, ("spec", "replicatedJobs")) or ()]
    written = [template, *patches]
    return JobSet.manifest(
        job["metadata"]["name"],
        job["metadata"]["namespace"],
        labels=_together(written, "labels"),
        annotations=_together(written, "annotations"),
        spec={**template["spec"], "replicatedJobs": [_part(job, policy, part) for part in parts]},
    )


def _runtime(job: Manifest) -> tuple[str, str]:
    reference = value_at(job, ("spec", "runtimeRef")) or {}
    return reference.get("apiGroup", TRAINER), reference.get("kind", ClusterTrainingRuntime.resource.kind)


def _together(written: Iterable[Manifest], field: str) -> dict[str, str]:
    return {name: value for one in written for name, value in (value_at(one, ("metadata", field)) or {}).items()}


def _part(job: Manifest, policy: Manifest | None, part: Manifest) -> Manifest:
    ancestor = (value_at(part, ("template", "metadata", "labels")) or {}).get(ANCESTOR, "")
    pods = _pods(job, policy, part, ancestor)
    part = with_value(part, ("template", "spec", "parallelism"), pods)
    part = with_value(part, ("template", "spec", "completions"), pods)
    if ancestor in (TRAINS, *INITIALIZERS):
        part = {**part, "replicas": 1}
    containers = ("template", "spec", "template", "spec", "containers")
    changed = [_container(job, policy, part, ancestor, one) for one in value_at(part, containers) or ()]
    return with_value(part, containers, changed)


def _pods(job: Manifest, policy: Manifest | None, part: Manifest, ancestor: str) -> int:
    nodes = value_at(job, ("spec", "trainer", "numNodes"))
    if (policy or {}).get("mpi") is not None:
        if nodes is not None and part["name"] == NODE:
            return max(nodes - 1, 1) if _launcher_trains(policy) else int(nodes)
    elif nodes is not None and ancestor == TRAINS:
        return int(nodes)
    if ancestor == TRAINS and policy is not None:
        return int(max(policy.get("numNodes", 1), 1))
    return int(max(value_at(part, ("template", "spec", "parallelism")) or 1, 1))


def _launcher_trains(policy: Manifest | None) -> bool:
    return bool(value_at(policy, ("mpi", "runLauncherAsNode")))


def _container(job: Manifest, policy: Manifest | None, part: Manifest, ancestor: str, container: Manifest) -> Manifest:
    """Return a container with what the job says of it."""
    name = container.get("name")
    if ancestor in INITIALIZERS and name == ancestor:
        return _initializer(container, value_at(job, ("spec", "initializer", INITIALIZERS[ancestor])) or {})
    trainer = value_at(job, ("spec", "trainer"))
    if name != NODE or trainer is None:
        return container
    if ancestor == TRAINS:
        own = {field: trainer[field] for field in ("image", "command", "args") if trainer.get(field) is not None}
        container = {**container, **own}
    if ancestor == TRAINS or (_launcher_trains(policy) and part["name"] == NODE):
        resources = trainer.get("resourcesPerNode") or {}
        asked = {field: resources[field] for field in ("limits", "requests") if resources.get(field) is not None}
        container = _with_variables(container, trainer.get("env") or ())
        container = {**container, **({"resources": asked} if asked else {})}
    return container


def _initializer(container: Manifest, given: Manifest) -> Manifest:
    uri, secret = given.get("storageUri"), given.get("secretRef")
    own = [] if uri is None else [{"name": "STORAGE_URI", "value": uri}]
    container = _with_variables(container, [*own, *(given.get("env") or ())])
    if secret is None:
        return container
    return {**container, "envFrom": [*(container.get("envFrom") or ()), {"secretRef": {"name": secret["name"]}}]}


def _with_variables(container: Manifest, variables: Sequence[Any]) -> Manifest:
    if not variables:
        return container
    return {**container, "env": by_key("name", container.get("env") or (), variables, lambda old, new: new)}
