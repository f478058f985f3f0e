"""What the pods of a set get when their job starts, and get back when it stops.

Mirrors: Kueue pkg/podset
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_pods import TOPOLOGY_GATE
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.topology_names import UNCONSTRAINED
from fleetqueue.embedded.kueue import names
from fleetqueue.rules.workload_slices import SLICE_NAME, is_elastic, slice_name

PLACES: Final = ("required", "preferred", "unconstrained")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

Flavor = Callable[[str], Manifest | None]
"""Finds a ResourceFlavor by its name."""


class CannotStart(Exception):
    """A job can never be started with what it was given; the text says why."""


class FlavorMissing(Exception):
    """A flavor that was given is not there."""


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    name: str
    count: int
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Manifest] = ()
    gates: Sequence[Manifest] = ()


def of_admission(workload: Manifest, flavor: Flavor) -> list[PodSetInfo]:
    """Return what an admitted Workload gives to each of its pod sets; raises CannotStart, FlavorMissing."""
    admission = workload["status"]["admission"]
    pod_sets = {pod_set["name"]: pod_set for pod_set in workload["spec"]["podSets"]}
    parts = admission.get("podSetAssignments") or ()
    return [_given(workload, part, pod_sets.get(part["name"], {}), flavor) for part in parts]


def of_pod_sets(workload: Manifest) -> list[PodSetInfo]:
    """Return what the pods had before they were started."""
    return [_original(pod_set) for pod_set in workload["spec"]["podSets"]]


def merged(template: Manifest, info: PodSetInfo) -> Manifest:
    """Return a pod template with what its set was given; raises CannotStart where they contradict each other."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    template_info = PodSetInfo(
        info.name,
        info.count,
        _without_stale(metadata.get("annotations") or {}, info),
        metadata.get("labels") or {},
        spec.get("nodeSelector") or {},
        spec.get("tolerations") or (),
        spec.get("schedulingGates") or (),
    )
    return _written(template, _together(template_info, info))


def _without_stale(annotations: Mapping[str, str], info: PodSetInfo) -> Mapping[str, str]:
    """Leave out what an earlier slice of an elastic job has left in its pod template."""
    if SLICE_NAME not in info.annotations:
        return annotations
    return {key: value for key, value in annotations.items() if key not in (SLICE_NAME, names.WORKLOAD)}


def as_fields(info: PodSetInfo) -> Manifest:
    """Return what a pod set is given by the names of its pods' fields; what is empty is not there."""
    return _with(
        {},
        annotations=dict(info.annotations),
        labels=dict(info.labels),
        nodeSelector=dict(info.node_selector),
        tolerations=[*info.tolerations],
        schedulingGates=[*info.gates],
    )


def restored(template: Manifest, info: PodSetInfo) -> Manifest:
    """Return a pod template with what it had before."""
    return _written(template, info)


def _given(workload: Manifest, part: Manifest, pod_set: Manifest, flavor: Flavor) -> PodSetInfo:
    name = part["name"]
    asked: int = pod_set.get("count", 1)
    info = PodSetInfo(
        name=name,
        count=part.get("count", asked),
        annotations={**_of_topology(part, pod_set), **_annotations(workload)},
        labels=_labels(workload, name),
        gates=[{"name": TOPOLOGY_GATE}] if part.get("topologyAssignment") is not None else [],
        **_from_flavors(part, flavor),
    )
    for check in workload["status"].get("admissionChecks") or ():
        for update in check.get("podSetUpdates") or ():
            if update["name"] == name:
                info = _updated(info, update, check["name"])
    return info


def _of_topology(part: Manifest, pod_set: Manifest) -> dict[str, str]:
    """Mark pods that are placed by topology although their template did not ask for it."""
    request = pod_set.get("topologyRequest") or {}
    if part.get("topologyAssignment") is None or any(place in request for place in PLACES):
        return {}
    return {UNCONSTRAINED: "true"}


def _annotations(workload: Manifest) -> dict[str, str]:
    annotations = {names.WORKLOAD: workload["metadata"]["name"]}
    return {**annotations, SLICE_NAME: slice_name(workload)} if is_elastic(workload) else annotations


def _labels(workload: Manifest, pod_set: str) -> dict[str, str]:
    queue = workload["status"]["admission"]["clusterQueue"]
    labels = {names.POD_SET: pod_set, names.LOCAL_QUEUE: workload["spec"].get("queueName", "")}
    if kueue.ORIGIN_LABEL in (workload["metadata"].get("labels") or {}):
        labels[names.WORKER_POD] = "true"
    if _LABEL.fullmatch(queue):
        labels[names.CLUSTER_QUEUE] = queue
    return labels


def _from_flavors(part: Manifest, flavor: Flavor) -> dict[str, Any]:
    selector: dict[str, str] = {}
    tolerations: list[Manifest] = []
    given = part.get("flavors") or {}
    for name in dict.fromkeys(given[resource] for resource in sorted(given)):
        resource_flavor = flavor(name)
        if resource_flavor is None:
            raise FlavorMissing(f'resourceflavors.kueue.x-k8s.io "{name}" not found')
        spec = resource_flavor.get("spec") or {}
        selector |= spec.get("nodeLabels") or {}
        tolerations += spec.get("tolerations") or []
    return {"node_selector": selector, "tolerations": tolerations}


def _updated(info: PodSetInfo, update: Manifest, check: str) -> PodSetInfo:
    more = PodSetInfo(
        info.name,
        info.count,
        update.get("annotations") or {},
        update.get("labels") or {},
        update.get("nodeSelector") or {},
        update.get("tolerations") or (),
    )
    try:
        return _together(info, more)
    except CannotStart as error:
        raise CannotStart(f'in admission check "{check}": {error}') from None


def _original(pod_set: Manifest) -> PodSetInfo:
    template = pod_set.get("template") or {}
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    return PodSetInfo(
        pod_set["name"],
        pod_set.get("count", 1),
        metadata.get("annotations") or {},
        metadata.get("labels") or {},
        spec.get("nodeSelector") or {},
        spec.get("tolerations") or (),
        spec.get("schedulingGates") or (),
    )


def _together(base: PodSetInfo, more: PodSetInfo) -> PodSetInfo:
    return PodSetInfo(
        base.name,
        base.count,
        _joined("annotations", base.annotations, more.annotations),
        _joined("labels", base.labels, more.labels),
        _joined("nodeSelector", base.node_selector, more.node_selector),
        [*base.tolerations, *(item for item in more.tolerations if item not in base.tolerations)],
        [*base.gates, *(item for item in more.gates if item not in base.gates)],
    )


def _joined(what: str, base: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    for key, value in base.items():
        if more.get(key, value) != value:
            conflict = f"conflict for key={key}, value1={value}, value2={more[key]}"
            raise CannotStart(f"invalid admission check PodSetUpdate: conflict for {what}: {conflict}")
    return {**base, **more}


def _written(template: Manifest, info: PodSetInfo) -> Manifest:
    metadata = _with(template.get("metadata") or {}, annotations=dict(info.annotations), labels=dict(info.labels))
    spec = _with(
        template.get("spec") or {},
        nodeSelector=dict(info.node_selector),
        tolerations=[*info.tolerations],
        schedulingGates=[*info.gates],
    )
    return _with(template, metadata=metadata, spec=spec)


def _with(obj: Manifest, **fields: Any) -> Manifest:
    """Return an object with some fields; what is empty is not there."""
    rest = {name: value for name, value in obj.items() if name not in fields}
    return rest | {name: value for name, value in fields.items() if value}
