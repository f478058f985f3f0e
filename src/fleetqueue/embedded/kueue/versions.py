"""Kueue's kinds in their older versions: v1beta1 and v1alpha1 show what is stored as v1beta2.

What an older version cannot say (a preemption gate, say) is not shown in it, and is lost when somebody writes the whole
object in that version; so it is upstream. The server drops what a version does not know: here stands only what moves
from one field to another. v1alpha1, which only MultiKueue's two kinds ever had, is written like v1beta1.

Mirrors: apis/kueue/v1beta1/*_conversion.go
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from fleetqueue.api.kueue_v1beta2 import GROUP
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import versions_topology
from fleetqueue.manifests.object_parts import changed, renamed, without

NEWEST: Final = "v1beta2"

Change = Callable[[Manifest], Manifest]

_PRIORITY_CLASSES: Final = {
    "kueue.x-k8s.io/workloadpriorityclass": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass"},
    "scheduling.k8s.io/priorityclass": {"group": "scheduling.k8s.io", "kind": "PriorityClass"},
}
"""By the word that v1beta1 has for where a priority comes from."""
_STOP: Final = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
"""What v1beta1 may say where v1beta2 says MayStopSearch."""


def convert(upward: Change, downward: Change, obj: Manifest, version: str) -> Manifest:
    """Return an object in another version, by way of the newest."""
    newest = obj if obj["apiVersion"] == f"{GROUP}/{NEWEST}" else upward(obj)
    return newest if version == NEWEST else downward(newest)


# ClusterQueue


def newer_cluster_queue(queue: Manifest) -> Manifest:
    return changed(queue, "spec", _newer_queue_spec)


def _newer_queue_spec(spec: Manifest) -> Manifest:
    after = changed(renamed(spec, "cohort", "cohortName"), "flavorFungibility", _newer_fungibility)
    if checks := spec.get("admissionChecks"):
        after = {**after, "admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in checks]}}
    return without(after, "admissionChecks")


def _newer_fungibility(fungibility: Manifest) -> Manifest:
    return {name: "MayStopSearch" if value == _STOP.get(name) else value for name, value in fungibility.items()}


def older_cluster_queue(queue: Manifest) -> Manifest:
    return changed(queue, "spec", lambda spec: renamed(spec, "cohortName", "cohort"))


# LocalQueue


def newer_local_queue(queue: Manifest) -> Manifest:
    return changed(queue, "status", lambda status: renamed(status, "flavorUsage", "flavorsUsage"))


def older_local_queue(queue: Manifest) -> Manifest:
    return changed(queue, "status", lambda status: renamed(status, "flavorsUsage", "flavorUsage"))


# Workload


def newer_workload(workload: Manifest) -> Manifest:
    return changed(changed(workload, "spec", _newer_workload_spec), "status", _newer_workload_status)


def older_workload(workload: Manifest) -> Manifest:
    return changed(changed(workload, "spec", _older_workload_spec), "status", _older_workload_status)


def _newer_workload_spec(spec: Manifest) -> Manifest:
    source, name = spec.get("priorityClassSource"), spec.get("priorityClassName")
    after = without(spec, "priorityClassSource", "priorityClassName")
    if source not in _PRIORITY_CLASSES:
        return after
    return {**after, "priorityClassRef": {**_PRIORITY_CLASSES[source], **({"name": name} if name else {})}}


def _older_workload_spec(spec: Manifest) -> Manifest:
    after = without(spec, "priorityClassRef")
    class_ref = spec.get("priorityClassRef") or {}
    for source, kind in _PRIORITY_CLASSES.items():
        if without(class_ref, "name") == kind:
            after = {**after, "priorityClassSource": source, "priorityClassName": class_ref.get("name", "")}
    return after


def _newer_workload_status(status: Manifest) -> Manifest:
    after = renamed(status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")
    return _with_topologies(after, versions_topology.sliced)


def _older_workload_status(status: Manifest) -> Manifest:
    after = renamed(status, "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
    return _with_topologies(after, versions_topology.listed)


def _with_topologies(status: Manifest, change: Change) -> Manifest:
    """Return the status with the place of every pod set in another form."""
    assigned = (status.get("admission") or {}).get("podSetAssignments") or ()
    if not any("topologyAssignment" in assignment for assignment in assigned):
        return status
    after = [changed(assignment, "topologyAssignment", change) for assignment in assigned]
    return {**status, "admission": {**status["admission"], "podSetAssignments": after}}


# MultiKueueCluster


def newer_cluster(cluster: Manifest) -> Manifest:
    return changed(cluster, "spec", _newer_cluster_spec)


def _newer_cluster_spec(spec: Manifest) -> Manifest:
    source = {}
    if (spec.get("kubeConfig") or {}).get("location"):
        source["kubeConfig"] = spec["kubeConfig"]
    if spec.get("clusterProfileRef"):
        source["clusterProfileRef"] = spec["clusterProfileRef"]
    return {**without(spec, "kubeConfig", "clusterProfileRef"), "clusterSource": source}


def older_cluster(cluster: Manifest) -> Manifest:
    return changed(cluster, "spec", _older_cluster_spec)


def _older_cluster_spec(spec: Manifest) -> Manifest:
    nowhere = {"location": "", "locationType": ""}  # the older version always has one
    return {**without(spec, "clusterSource"), "kubeConfig": nowhere, **(spec.get("clusterSource") or {})}


CONVERTERS: Final[Mapping[tuple[str, str], Callable[[Manifest, str], Manifest]]] = {
    (GROUP, "ClusterQueue"): partial(convert, newer_cluster_queue, older_cluster_queue),
    (GROUP, "LocalQueue"): partial(convert, newer_local_queue, older_local_queue),
    (GROUP, "MultiKueueCluster"): partial(convert, newer_cluster, older_cluster),
    (GROUP, "Workload"): partial(convert, newer_workload, older_workload),
}
"""The kinds of which something moves; of the others a version is only another name."""
