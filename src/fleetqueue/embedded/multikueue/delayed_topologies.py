"""Topologies that a worker assigns in the hub's place: the hub only learns that it was done.

Its own nodes are not those that the pods run on, so that a domain of the worker would mean nothing to it.

Mirrors: Kueue pkg/controller/admissionchecks/multikueue/workload.go (needsDelayedTopologyUpdate)
"""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest


def waiting_sets(workload: kueue.Workload) -> frozenset[str]:
    """Return the pod sets of a Workload whose topology is to be assigned elsewhere."""
    return frozenset(part.name for part in _parts(workload) if part.delayed_topology_request == kueue.PENDING)


def placed_sets(workload: kueue.Workload | None) -> frozenset[str]:
    """Return the pod sets of a Workload whose topology is assigned."""
    return frozenset(part.name for part in _parts(workload) if part.topology_assignment is not None)


def with_placed_sets(raw: Manifest, placed: frozenset[str]) -> Manifest | None:
    """Return the admission of a Workload that knows which of its pod sets were placed."""
    admission: Manifest | None = (raw.get("status") or {}).get("admission")
    if admission is None:
        return None
    parts = [
        {**part, "delayedTopologyRequest": kueue.READY}
        if part["name"] in placed and part.get("delayedTopologyRequest") == kueue.PENDING
        else part
        for part in admission.get("podSetAssignments") or ()
    ]
    return {**admission, "podSetAssignments": parts}


def _parts(workload: kueue.Workload | None) -> tuple[kueue.PodSetAssignment, ...]:
    admission = workload.status.admission if workload is not None else None
    return admission.pod_set_assignments if admission is not None else ()
