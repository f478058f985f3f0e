"""What people read about admissions and preemptions; worded as Kueue words it."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.preemption import Target
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo

UNKNOWN = "UNKNOWN"
RIGHTS = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}


def quota_reserved(cluster_queue: str, waited: float, considered: str) -> str:
    said = f"Quota reserved in ClusterQueue {cluster_queue}, wait time since queued was {waited:.0f}s"
    return f"{said}; Flavors considered: {considered}" if considered else said


def admitted(cluster_queue: str) -> str:
    return f"Admitted by ClusterQueue {cluster_queue}, wait time since reservation was 0s"


def preempted(preemptor: WorkloadInfo, path: str, target: Target) -> str:
    job = preemptor.view.metadata.labels.get(kueue.JOB_UID_LABEL) or UNKNOWN
    return (
        f"Preempted to accommodate a workload (UID: {preemptor.view.uid or UNKNOWN}, JobUID: {job}) "
        f"due to {RIGHTS[target.reason]}; preemptor path: {path}; preemptee path: {target.candidate.queue.path}"
    )


def preempted_whom(preemptor: WorkloadInfo, target: Target) -> str:
    """Tell the preemptor of its victim."""
    victim = target.candidate.work
    said = f"Preempted workload {victim.key} (UID: {victim.view.uid}) in ClusterQueue {victim.cluster_queue}"
    return f"{said}; {priorities(preemptor, victim)}"


def priorities(preemptor: WorkloadInfo, victim: WorkloadInfo) -> str:
    return f"preemptor {_priority(preemptor)}; preemptee {_priority(victim)}"


def waits_for(preempted: int, failed: int) -> str:
    """Tell, after why a Workload waits, what becomes of those that it preempts."""
    if preempted:
        return f". Pending the preemption of {preempted} workload(s)"
    return f". Preempting {failed} workload(s) failed, will retry."


def _priority(work: WorkloadInfo) -> str:
    return f"effective priority: {work.priority} (base: {work.priority}, boost: 0)"
