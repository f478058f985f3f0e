"""The YAML form of a job scenario, and the writes that it stands for.

    name: an evicted job stops
    flavor: {nodeLabels: {a: b}}           # the spec of the one flavor; empty by default
    flavors: {second: {...}}               # more flavors, which `queue` may name as `@second`
    queue: {cpu: 4, stopPolicy: Hold}      # the ClusterQueue `q`: its quota, and more of its spec; null: there is none
    local: {stopPolicy: Hold}              # more of the LocalQueue `q`; null: there is none
    checks: {ac: {...}}                    # AdmissionChecks: their spec; all are active
    classes: {high: 10}                    # WorkloadPriorityClasses
    pods: true                             # whether pods are part of what comes out
    steps:                                 # rounds; what is refused is part of what comes out
      - job: {a: {cpu: 1, parallelism: 2, runs: 1000s, queue: q, labels: {}, annotations: {}, template: {}, pod: {}}}
      - job: {a: {elastic: true}}          # with the annotation of elastic jobs
      - create: [{...}]                    # any object; `@` in a name becomes the scenario's prefix
      - patch: {job a: {...}, workload a: {...}, cq q: {...}, lq q: {...}}    # the Workload of job a; or pytorchjob a
      - patch: {slice a 0: {...}}          # of several Workloads of job a the oldest; -1 is the newest
      - answer: {a: {ac: {state: Ready}}}  # what the controllers of checks say to the Workload of job a, or its newest
      - delete: [job a, workload a]
      - wait: 3

Every name gets the prefix of its scenario; it is cut off what comes out.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import Object
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.workload_slices import ELASTIC_JOB

from ..job_samples import SAMPLES  # noqa: TID252 - what the rooms share stands above them
from ..running import merged  # noqa: TID252
from ..world import Described  # noqa: TID252

JOB_KINDS: dict[str, type[Object]] = {sample.kind.lower(): sample.of.kind for sample in SAMPLES}
KINDS: dict[str, type[Object]] = {
    "job": Job,
    **JOB_KINDS,
    "workload": kueue.Workload,
    "slice": kueue.Workload,
    "cq": kueue.ClusterQueue,
    "lq": kueue.LocalQueue,
    "flavor": kueue.ResourceFlavor,
    "check": kueue.AdmissionCheck,
}
IN_JOB = ("cpu", "runs", "queue", "labels", "annotations", "template", "pod", "fails", "elastic")
"""What is said of a Job that is not of its spec."""


def namespace(prefix: str) -> str:
    return f"{prefix}ns"


def surroundings(said: Described, prefix: str) -> Iterator[tuple[type[Object], Manifest]]:
    """Return what is there before the first step."""
    yield Namespace, Namespace.manifest(namespace(prefix))
    yield kueue.ResourceFlavor, kueue.ResourceFlavor.manifest(f"{prefix}default", spec=said.get("flavor", {}))
    for name, spec in said.get("flavors", {}).items():
        yield kueue.ResourceFlavor, kueue.ResourceFlavor.manifest(prefix + name, spec=spec)
    for name, spec in said.get("checks", {}).items():
        condition = {
            "type": "Active",
            "status": "True",
            "reason": "ByTest",
            "message": "by test",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        full = {"controllerName": "example.com/by-test", **spec}
        yield (
            kueue.AdmissionCheck,
            kueue.AdmissionCheck.manifest(prefix + name, spec=full, status={"conditions": [condition]}),
        )
    for name, value in said.get("classes", {}).items():
        yield WorkloadPriorityClass, {**WorkloadPriorityClass.manifest(prefix + name), "value": value}
    queue, local = said.get("queue", {"cpu": 4}), said.get("local", {})
    if queue is not None:
        yield kueue.ClusterQueue, kueue.ClusterQueue.manifest(f"{prefix}q", spec=_queue_spec(said, queue, prefix))
    if local is not None:
        spec = {"clusterQueue": f"{prefix}q", **local}
        yield kueue.LocalQueue, kueue.LocalQueue.manifest("q", namespace(prefix), spec=spec)


def job(name: str, said: Described, prefix: str) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(said.get("cpu", 1))}}}
    notes = {"fleetqueue.dev/run-for": said.get("runs", "1000s")}
    if said.get("fails"):
        notes["fleetqueue.dev/fails"] = "true"
    template = merged(
        {"metadata": {"annotations": notes}, "spec": {"containers": [container], "restartPolicy": "Never"}},
        {**said.get("template", {}), **({"spec": said["pod"]} if "pod" in said else {})},
    )
    queue = said.get("queue", "q")
    labels = {**({kueue.QUEUE_LABEL: queue} if queue else {}), **said.get("labels", {})}
    spec = {"template": template, **{field: value for field, value in said.items() if field not in IN_JOB}}
    annotations = {**({ELASTIC_JOB: "true"} if said.get("elastic") else {}), **said.get("annotations", {})}
    made = Job.manifest(name, namespace(prefix), labels=labels, annotations=annotations or None, spec=spec)
    return with_prefix(made, prefix)


def with_prefix(value: Any, prefix: str) -> Any:
    if isinstance(value, dict):
        return {key: with_prefix(each, prefix) for key, each in value.items()}
    if isinstance(value, list):
        return [with_prefix(each, prefix) for each in value]
    return value.replace("@", prefix) if isinstance(value, str) else value


def _queue_spec(said: Described, queue: Described, prefix: str) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": str(queue["cpu"])}
    flavor = {"name": f"{prefix}default", "resources": [quota]}
    spec: Manifest = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
        **with_prefix({field: value for field, value in queue.items() if field != "cpu"}, prefix),
    }
    if said.get("checks"):
        listed = [{"name": prefix + name} for name in said["checks"]]
        spec["admissionChecksStrategy"] = {"admissionChecks": listed}
    return spec
