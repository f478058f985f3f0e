"""What Kueue must know about a kind of job. All functions are pure: they take and return objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.pod_set_info import PodSetInfo

INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
_TOPOLOGY: Final = "kueue.x-k8s.io/podset-"


class Ending(NamedTuple):
    """How a job has ended."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class StopWrite:
    """One write on the way to a job that is stopped and as it was before it was started."""

    wanted: Manifest
    subresource: str = ""


class Integration(Protocol):
    @property
    def kind(self) -> type[Object]:
        """The kind that is managed."""
        ...

    @property
    def framework(self) -> str:
        """How the configuration calls it."""
        ...

    @property
    def own_controller(self) -> str:
        """What `spec.managedBy` is by default."""
        ...

    def is_suspended(self, job: Manifest) -> bool: ...

    def is_active(self, job: Manifest) -> bool:
        """Tell whether pods of it are left."""
        ...

    def suspended(self, job: Manifest) -> Manifest: ...

    def pod_sets(self, job: Manifest) -> list[Manifest]: ...

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        """Return a job that runs with what it was given; raises CannotStart."""
        ...

    def next_stop(self, job: Manifest, infos: Sequence[PodSetInfo]) -> StopWrite | None:
        """Return what is to be written next to stop a job; None where nothing is left. No infos: it is not restored."""
        ...

    def ending(self, job: Manifest) -> Ending | None: ...

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        """Return how many pods of each set will not come again."""
        ...

    def pods_ready(self, job: Manifest) -> bool: ...


def pod_set(name: str, template: Manifest, count: int, *, labels: Mapping[str, str], **groups: Any) -> Manifest:
    """Make a pod set of a template; `groups` is what its topology request says of groups of pods."""
    metadata = {key: value for key, value in (template.get("metadata") or {}).items() if key != "labels"}
    if labels:
        metadata["labels"] = dict(labels)
    spec = template.get("spec") or {}
    containers = {
        field: [_without_twins(container) for container in spec[field]] for field in _CONTAINERS if spec.get(field)
    }
    request = {**_topology(metadata.get("annotations") or {}), "podIndexLabel": INDEX_LABEL, **groups}
    kept = {"metadata": metadata} if metadata else {}
    made = {**kept, "spec": {**spec, **containers}}
    return {"name": name, "count": count, "template": made, "topologyRequest": request}


_CONTAINERS: Final = ("containers", "initContainers")


def _without_twins(container: Manifest) -> Manifest:
    """Keep only the last value of a variable that is given twice."""
    env = container.get("env") or []
    last = {variable["name"]: variable for variable in env}
    return {**container, "env": [*last.values()]} if len(last) < len(env) else container


def _topology(annotations: Mapping[str, str]) -> Manifest:
    request: Manifest = {}
    for field in ("required", "preferred"):
        if f"{_TOPOLOGY}{field}-topology" in annotations:
            request = {field: annotations[f"{_TOPOLOGY}{field}-topology"]}
            break
    else:
        if f"{_TOPOLOGY}unconstrained-topology" in annotations:
            request = {"unconstrained": annotations[f"{_TOPOLOGY}unconstrained-topology"] == "true"}
    slices = annotations.get(f"{_TOPOLOGY}slice-required-topology"), annotations.get(f"{_TOPOLOGY}slice-size")
    if slices[0] is not None and slices[1] is not None:
        request |= {"podSetSliceRequiredTopology": slices[0], "podSetSliceSize": int(slices[1])}
    if ("required" in request or "preferred" in request) and f"{_TOPOLOGY}group-name" in annotations:
        request["podSetGroupName"] = annotations[f"{_TOPOLOGY}group-name"]
    return request
