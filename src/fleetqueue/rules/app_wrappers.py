"""Which pods the components of an AppWrapper come to: its own words, or what is known of the wrapped kind.

Kueue makes the pod sets of a Workload from them, and who runs AppWrappers gives those pods what Kueue says.

Mirrors: appwrapper pkg/utils (InferPodSets)
"""

import re
from collections.abc import Callable
from typing import Final

from fleetqueue.api.fields import Field, dotted, value_at
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.job_templates import (
    JobTemplate,
    job_set_templates,
    pods_at_once,
    ray_templates,
    replica_templates,
)

_NOTE: Final = "workload.codeflare.dev.appwrapper/tas-"
POD_INDEX: Final = f"{_NOTE}pod-index-label"
SUB_GROUP_INDEX: Final = f"{_NOTE}sub-group-index-label"
SUB_GROUPS: Final = f"{_NOTE}sub-group-count"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_WHOLE: Final = "template"
_STEP: Final = re.compile(r"\.(?P<member>[^.\[]+)|\[(?P<place>\d+)\]")


def pod_sets_of(component: Manifest) -> list[Manifest]:
    """Return the pod sets of a component as an AppWrapper lists them: path, replicas, annotations."""
    declared: list[Manifest] = component.get("podSets") or []
    return declared or inferred(component["template"])


def inferred(wrapped: Manifest) -> list[Manifest]:
    """Return the pod sets of an object of a known kind; none where the kind is not known."""
    known = _KINDS.get((wrapped.get("apiVersion", ""), wrapped.get("kind", "")))
    return known(wrapped) if known is not None else []


def field_of(path: str) -> Field | None:
    """Return where in a component's template a path leads; None where it is no path."""
    rest = path.removeprefix(_WHOLE)
    if not path.startswith(_WHOLE) or _STEP.sub("", rest):
        return None
    return tuple(int(step["place"]) if step["place"] else step["member"] for step in _STEP.finditer(rest))


def _pod_set(field: Field, replicas: int, **notes: str) -> Manifest:
    path = f"{_WHOLE}.{dotted(field)}" if field else _WHOLE
    return {"replicas": replicas, "path": path, **({"annotations": notes} if notes else {})}


def _of_pod(wrapped: Manifest) -> list[Manifest]:
    return [_pod_set((), 1)]


def _of_replicas(wrapped: Manifest) -> list[Manifest]:
    return [_pod_set(("spec", "template"), _replicas(wrapped, ("spec",)))]


def _of_job(wrapped: Manifest) -> list[Manifest]:
    return [_pod_set(("spec", "template"), pods_at_once(wrapped), **{POD_INDEX: COMPLETION_INDEX})]


def _of_job_set(wrapped: Manifest) -> list[Manifest]:
    notes = {POD_INDEX: COMPLETION_INDEX, SUB_GROUP_INDEX: "jobset.sigs.k8s.io/job-index"}
    return [
        _pod_set(one.field, one.pods, **notes, **{SUB_GROUPS: str(_replicas(wrapped, one.field[:3]))})
        for one in job_set_templates(wrapped)
    ]


def _of_pytorch_job(wrapped: Manifest) -> list[Manifest]:
    templates = replica_templates(wrapped, ("spec", "pytorchReplicaSpecs"), ("Master", "Worker"))
    return [_pod_set(one.field, one.pods, **{POD_INDEX: "training.kubeflow.org/replica-index"}) for one in templates]


def _of_ray(*cluster: str) -> Callable[[Manifest], list[Manifest]]:
    def of_ray(wrapped: Manifest) -> list[Manifest]:
        return [_pod_set(one.field, _ray_pods(wrapped, one)) for one in ray_templates(wrapped, cluster)]

    return of_ray


def _ray_pods(wrapped: Manifest, template: JobTemplate) -> int:
    """Return the replicas of a group: that each may have several hosts is not looked at."""
    return _replicas(wrapped, template.field[:-1])


def _replicas(wrapped: Manifest, field: Field) -> int:
    replicas = value_at(wrapped, (*field, "replicas"))
    return 1 if replicas is None else int(replicas)


_KINDS: Final[dict[tuple[str, str], Callable[[Manifest], list[Manifest]]]] = {
    ("v1", "Pod"): _of_pod,
    ("apps/v1", "Deployment"): _of_replicas,
    ("apps/v1", "StatefulSet"): _of_replicas,
    ("batch/v1", "Job"): _of_job,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): _of_job_set,
    ("kubeflow.org/v1", "PyTorchJob"): _of_pytorch_job,
    ("ray.io/v1", "RayCluster"): _of_ray("spec"),
    ("ray.io/v1", "RayJob"): _of_ray("spec", "rayClusterSpec"),
}
