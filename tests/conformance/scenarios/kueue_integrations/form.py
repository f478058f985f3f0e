"""Short words of these scenarios beside those of `kueue_jobs.form`, and the objects that they stand for.

    steps:
      - pod: {a: {cpu: 1, queue: q, group: g, of: 2, labels: {}, annotations: {}, spec: {}, owner: job a}}
      - deployment: {a: {cpu: 1, replicas: 2, queue: q, labels: {}, annotations: {}, template: {}, spec: {}}}
      - statefulset: {a: {...}}          # as a Deployment
      - leaderworkerset: {a: {cpu: 1, replicas: 2, size: 2, leader: 1, ...}}    # `leader` are the CPUs of leaders
      - group: {a: {size: 2, cpu: 1, leader: 1, workers: true}}    # what the operator makes of the first group
      - trainjob, appwrapper, sparkapplication, pipeline: {a: {queue: q, spec: {...}}}

A group is written by hand, since no operator of LeaderWorkerSets runs on either side; the pods of it, as those of
Deployments and StatefulSets, are made by Kubernetes' own controllers. A Pipeline is a kind that only somebody else's
controller knows. What belongs to another object names it under `owner`. A scenario may name, as
`uncertain`, conditions of Workloads and reasons of events that depend on who comes first; they are not compared.
"""

from collections.abc import Callable
from typing import ClassVar

from fleetqueue.api import job_kinds
from fleetqueue.api import kueue_pods as pods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment, StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.leaderworkerset_v1 import GROUP_INDEX, LEADER_NAME, SET_NAME, WORKER_INDEX, LeaderWorkerSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource

from ..running import merged  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252


class Pipeline(Object):
    resource: ClassVar = Resource("example.com", "v1", "Pipeline", "pipelines")


EXTERNAL = "Pipeline.v1.example.com"
PIPELINES: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pipelines.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Pipeline", "listKind": "PipelineList", "plural": "pipelines", "singular": "pipeline"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
KINDS: dict[str, type[Object]] = {
    "pod": Pod,
    "deployment": Deployment,
    "statefulset": StatefulSet,
    "leaderworkerset": LeaderWorkerSet,
    "trainjob": job_kinds.TrainJob,
    "appwrapper": job_kinds.AppWrapper,
    "sparkapplication": job_kinds.SparkApplication,
    "pipeline": Pipeline,
}
"""What is compared, by the word that stands for it."""
RUNTIMES: dict[str, type[Object]] = {
    "runtime": job_kinds.TrainingRuntime,
    "clusterruntime": job_kinds.ClusterTrainingRuntime,
}


def plain(step: Described) -> Described:
    """Return a step in the words of `kueue_jobs.form`."""
    made = [
        manifest
        for word, make in MAKERS.items()
        for name, said in step.get(word, {}).items()
        for manifest in make(name, said or {})
    ]
    rest = {word: value for word, value in step.items() if word not in MAKERS}
    return {**rest, "create": [*made, *rest.get("create", ())]} if made else rest


def _pod(name: str, said: Described) -> list[Manifest]:
    spec = merged(_pod_spec(said.get("cpu", 1)), {"restartPolicy": "Never", **said.get("spec", {})})
    made = _object(Pod, name, said, spec)
    if "group" in said:
        made["metadata"]["labels"][pods.GROUP_NAME] = said["group"]
        made["metadata"]["annotations"][pods.GROUP_TOTAL_COUNT] = str(said["of"])
    return [made]


def _deployment(name: str, said: Described) -> list[Manifest]:
    return [_object(Deployment, name, said, _set_spec(name, said))]


def _stateful_set(name: str, said: Described) -> list[Manifest]:
    return [_object(StatefulSet, name, said, {"serviceName": name, **_set_spec(name, said)})]


def _leader_worker_set(name: str, said: Described) -> list[Manifest]:
    template: Manifest = {
        "size": said.get("size", 2),
        "workerTemplate": merged({"spec": _pod_spec(said.get("cpu", 1))}, said.get("template", {})),
    }
    if "leader" in said:
        template["leaderTemplate"] = {"spec": _pod_spec(said["leader"])}
    surge = {"maxUnavailable": 1, "maxSurge": said.get("surge", 0)}
    spec = {
        "replicas": said.get("replicas", 2),
        "leaderWorkerTemplate": template,
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": surge},
        "startupPolicy": "LeaderCreated",
    }
    return [_object(LeaderWorkerSet, name, said, spec)]


def _group(name: str, said: Described) -> list[Manifest]:
    """Return the StatefulSet of the first group's leader, and that of its workers."""
    owner, leader = f"leaderworkerset {name}", f"{name}-0"
    marks = {SET_NAME: name, GROUP_INDEX: "0"}
    notes = {pods.SUSPENDING_PARENT: pods.LEADER_WORKER_SET, pods.GROUP_SERVING: "true"}

    def pods_of(name: str, cpu: int, count: int, start: int, **more: str) -> list[Manifest]:
        labels = {**marks, WORKER_INDEX: str(start), "app": f"{name}-pods"}
        template = {"metadata": {"labels": labels, "annotations": {**notes, **more}}}
        spec = {"ordinals": {"start": start}, "podManagementPolicy": "Parallel"}
        made = {"cpu": cpu, "replicas": count, "template": template, "spec": spec, "labels": marks, "queue": ""}
        return _stateful_set(name, {**made, "owner": owner})

    leaders = pods_of(name, said.get("leader", said.get("cpu", 1)), 1, 0)
    workers = pods_of(leader, said.get("cpu", 1), said.get("size", 2) - 1, 1, **{LEADER_NAME: leader})
    return [*leaders, *(workers if said.get("workers", True) else ())]


def _of(kind: type[Object]) -> Callable[[str, Described], list[Manifest]]:
    return lambda name, said: [_object(kind, name, said, said.get("spec", {}))]


MAKERS: dict[str, Callable[[str, Described], list[Manifest]]] = {
    **{word: _of(kind) for word, kind in {**KINDS, **RUNTIMES}.items()},
    "pod": _pod,
    "deployment": _deployment,
    "statefulset": _stateful_set,
    "leaderworkerset": _leader_worker_set,
    "group": _group,
}


def _object(kind: type[Object], name: str, said: Described, spec: Manifest) -> Manifest:
    queue = said.get("queue", "q")
    labels = {**({kueue.QUEUE_LABEL: queue} if queue else {}), **said.get("labels", {})}
    metadata = {"name": name, "labels": labels, "annotations": {**said.get("annotations", {})}}
    owner = {"ownerReferences": said["owner"]} if "owner" in said else {}
    return {"kind": kind.resource.kind, "metadata": {**metadata, **owner}, "spec": spec}


def _set_spec(name: str, said: Described) -> Manifest:
    template = {"metadata": {"labels": {"app": f"{name}-pods"}}, "spec": _pod_spec(said.get("cpu", 1))}
    return {
        "replicas": said.get("replicas", 2),
        "selector": {"matchLabels": {"app": f"{name}-pods"}},
        "template": merged(template, said.get("template", {})),
        **said.get("spec", {}),
    }


def _pod_spec(cpu: int) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    return {"containers": [container], "terminationGracePeriodSeconds": 0}
