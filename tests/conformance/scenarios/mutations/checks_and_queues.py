"""Rules of what checks and queues do to a Job."""

from collections.abc import Sequence
from datetime import datetime

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import workload_lifecycle
from fleetqueue.embedded.kueue.jobs import life, pod_set_info
from fleetqueue.embedded.kueue.names import CLUSTER_QUEUE_STOPPED
from fleetqueue.embedded.kueue.scheduling.admission_writes import Writer
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext, JobDefaults
from fleetqueue.embedded.kueue.workload_state import WorkloadState, WorkloadStep

from .mutation import Mutation, always, first, without_step

synced_checks = workload_lifecycle.synced_checks


def stopped_by_any_queue(state: WorkloadState) -> WorkloadStep | None:
    queue = state.queues.cluster_queue
    if queue is None or queue.spec.stop_policy == "None" or not state.is_admitted or state.is_evicted:
        return None
    return state.evict(CLUSTER_QUEUE_STOPPED, "The ClusterQueue is stopped")


def with_all_checks(found: Sequence[Manifest], wanted: Sequence[str], now: datetime) -> list[Manifest] | None:
    return synced_checks(found, [*wanted, *(check["name"] for check in found)], now)


MUTATIONS = (
    Mutation(
        "a job of a queue with a MultiKueue check is given to MultiKueue",
        JobDefaults,
        "_with_manager",
        lambda defaults, job: job,
        ("a job of a queue with MultiKueue is given to it",),
    ),
    without_step(
        "a Workload says which checks it waits for",
        "_checks",
        ("a check is waited for", "a check that is ready lets the job run"),
    ),
    Mutation(
        "a check that goes is not waited for any more",
        workload_lifecycle,
        "synced_checks",
        with_all_checks,
        ("a check goes while it is waited for",),
    ),
    Mutation(
        "what has quota waits for its checks",
        Writer,
        "_is_admitted",
        always(True),
        ("a check is waited for", "all checks must be ready"),
    ),
    Mutation(
        "what a check says is told to its job",
        life,
        "_tells",
        always(False),
        ("a check says something while it is waited for",),
    ),
    Mutation(
        "a check gives something to pods, if it fits",
        pod_set_info,
        "_updated",
        first,
        ("a check gives the pods something", "a check contradicts the flavor"),
    ),
    without_step(
        "what a check refuses does not run",
        "_failed_checks",
        (
            "a check that rejects deactivates",
            "two checks that reject",
            "a check that rejects a running job",
            "a check that wants another try",
        ),
    ),
    without_step(
        "a check says when it wants to be asked again",
        "_retry_time",
        ("a check that wants another try much later",),
    ),
    without_step(
        "a LocalQueue that is drained stops its jobs",
        "_local_queue_state",
        ("a drained LocalQueue stops its jobs",),
    ),
    Mutation(
        "a namespace may have a queue for jobs that name none",
        JobContext,
        "has_default_queue",
        always(False),
        ("a job gets the default queue of its namespace",),
    ),
    without_step(
        "a Workload says what keeps it from being admitted",
        "_admission_state",
        (
            "a job for a queue that is not there",
            "a job for a queue that leads nowhere",
            "a job for a queue that is stopped",
            "a job for a ClusterQueue that is stopped",
            "a queue that is stopped takes back what is not admitted",
        ),
    ),
    without_step(
        "a ClusterQueue that is drained stops its jobs",
        "_cluster_queue_state",
        ("a drained ClusterQueue stops its jobs",),
    ),
    without_step(
        "a ClusterQueue that runs again takes back what it stopped",
        "_cluster_queue_restarted",
        ("a drained ClusterQueue that is started again runs them again",),
    ),
    Mutation(
        "a ClusterQueue that is held does not stop what runs",
        workload_lifecycle,
        "RULES",
        (*workload_lifecycle.RULES, stopped_by_any_queue),
        ("a held queue lets running jobs run",),
    ),
)
