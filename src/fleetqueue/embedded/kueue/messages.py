"""What people read about the life of a Workload and of its job; worded as Kueue words it."""

from collections.abc import Sequence

from fleetqueue.api import kueue_v1beta2 as kueue

DEACTIVATED = "The workload is deactivated"
OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"
ON_HOLD = "Job is on hold"
SCALED_TO_ZERO = "StatefulSet scaled to zero; workload on hold"
NO_LONGER_ON_HOLD = "Workload no longer on hold; waiting for quota reservation"
NOT_READY = "Not all pods are ready or succeeded"
RECOVERING = "At least one pod has failed, waiting for recovery"
ALL_READY = "All pods reached readiness and the workload is running"
RETENTION = "Deleted finished workload due to elapsed retention"


def checks(check_states: Sequence[kueue.CheckState], state: str) -> str:
    """Name the checks in some state, each with what it says."""
    named = [_quoted(check) for check in sorted(check_states, key=lambda check: check.name)]
    noun = "AdmissionChecks" if len(named) > 1 else "AdmissionCheck"
    return f"{noun} in {state} state: {'; '.join(named)}"


def admitted(cluster_queue: str, waited: float) -> str:
    return f"Admitted by ClusterQueue {cluster_queue}, wait time since reservation was {waited:.0f}s"


def gated(annotation: str) -> str:
    return f"Admission is gated by: {annotation}"


def _quoted(check: kueue.CheckState) -> str:
    return f'"{check.name}" ({check.message})' if check.message else f'"{check.name}"'
