"""Pod templates of jobs as pod sets of a Workload."""

from collections.abc import Mapping
from typing import Any, Final

from fleetqueue.api.scheme import Manifest

INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
_TOPOLOGY: Final = "kueue.x-k8s.io/podset-"


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
