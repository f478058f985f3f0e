"""Rules of waiting for pods, and of blocking admission meanwhile."""

from dataclasses import replace
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.embedded.kueue import configuration, feature_gates, names, workload_timeouts
from fleetqueue.embedded.kueue.jobs import workload_writes
from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.scheduling import admission_status, workload_info
from fleetqueue.embedded.kueue.scheduling.admission_writes import Writer
from fleetqueue.embedded.kueue.scheduling.cache import Cache

from .mutation import Mutation, always, nothing, without_step

readiness = workload_writes._readiness
deadline = workload_timeouts._pods_ready_deadline
pods_ready = configuration._pods_ready
effective = feature_gates.effective


def _with_the_old_one(workload: Any, condition: Any, are_ready: bool) -> Condition:
    """Let what was told before the Workload lost its quota stand."""
    keeps = condition is not None and not workload.is_true(kueue.ADMITTED)
    return condition if keeps else readiness(workload, condition, are_ready)


def _always_recovering(workload: Any, condition: Any, are_ready: bool) -> Condition:
    found = readiness(workload, condition, are_ready)
    is_running = workload.is_true(kueue.ADMITTED)
    return found if are_ready or not is_running else replace(found, reason=names.WAIT_FOR_RECOVERY)


def _never_recovering(workload: Any, condition: Any, are_ready: bool) -> Condition:
    """Tell of pods that are lost as of those that were never there."""
    return readiness(workload, None, are_ready)


MUTATIONS = (
    Mutation(
        "pods have only so much time to become ready",
        workload_timeouts,
        "_pods_ready_deadline",
        always(None),
        (
            "pods that are never ready are evicted",
            "pods that are never ready on a worker are evicted on the hub",
            "a part of the pods is not enough",
            "who is evicted blocks nobody",
            "who was evicted stands * those who came later",
            "who was queued again twice is deactivated",
            "who was deactivated for it and is activated again",
            "who is activated again is tried and counted anew",
            "pods that are lost are waited for, and then evicted",
        ),
    ),
    Mutation(
        "pods that are ready count",
        BatchJobIntegration,
        "pods_ready",
        always(False),
        (
            "pods that are ready in time stay",
            "the next one is admitted when pods are ready",
            "pods that are ready on a worker are ready on the hub",
        ),
    ),
    Mutation(
        "all replicas must be ready",
        JobSetIntegration,
        "pods_ready",
        always(True),
        ("a part of the pods is not enough",),
    ),
    Mutation(
        "who is not admitted has no pods to wait for",
        workload_timeouts,
        "_pods_ready_deadline",
        lambda state: deadline(state) if state.is_admitted else -1.0,
        ("who waits for a check has no pods to wait for",),
    ),
    Mutation(
        "pods that are lost are told from those that were never ready",
        workload_writes,
        "_readiness",
        _never_recovering,
        (
            "pods that are lost are waited for, and then evicted",
            "pods that come back have recovered",
            "pods that are lost are waited for without end",
        ),
    ),
    Mutation(
        "pods that were never ready are told from those that are lost",
        workload_writes,
        "_readiness",
        _always_recovering,
        ("who was never ready has nothing to recover",),
    ),
    Mutation(
        "who lost its quota has no pods any more",
        workload_writes,
        "_readiness",
        _with_the_old_one,
        ("who is evicted for another reason starts from the beginning",),
    ),
    Mutation(
        "who is queued again too often is deactivated",
        configuration,
        "_pods_ready",
        lambda section: replace(pods_ready(section), limit=None),
        ("who was queued again twice is deactivated", "who was deactivated for it and is activated again"),
    ),
    without_step(
        "who is deactivated forgets its back-off",
        "_deactivated",
        ("who is deactivated while it is held out forgets its back-off",),
    ),
    without_step(
        "who was held out comes back when its time is over",
        "_requeued",
        ("who is activated again is tried and counted anew",),
    ),
    Mutation(
        "who was evicted may have to stand behind",
        workload_info,
        "_moves_back",
        always(False),
        ("who was evicted stands behind those who came later",),
    ),
    Mutation(
        "who was evicted may stand where it stood",
        workload_info,
        "_moves_back",
        always(True),
        ("who was evicted stands before those who came later",),
    ),
    Mutation(
        "nobody is admitted while pods of others are not ready",
        Cache,
        "waits_for_pods",
        property(always(False)),
        (
            "the next one waits until pods are ready",
            "another ClusterQueue waits, too",
            "who does not fit does not hear of it while another is blocked",
            "who waits for a check blocks, too",
            "pods that are not ready on a worker block the hub",
        ),
    ),
    Mutation(
        "who is blocked is told so",
        Writer,
        "say_blocked",
        nothing,
        ("the next one waits until pods are ready",),
    ),
    Mutation(
        "what is told to who is blocked",
        admission_status,
        "WAITING",
        "Pending",
        ("another ClusterQueue waits, too",),
    ),
    Mutation(
        "who leaves blocks nobody any more",
        Cache,
        "_note_ready",
        always(None),
        (
            "who is deactivated lets the next one come",
            "who is evicted blocks nobody",
            "the next one is admitted when pods are ready",
            "who is blocked and deleted is not admitted",
        ),
    ),
    Mutation(
        "a gate takes all of it away",
        feature_gates,
        "effective",
        lambda given: {**effective(given), "DisableWaitForPodsReady": False},
        ("nobody waits for pods",),
    ),
)
