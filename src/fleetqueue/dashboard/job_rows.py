"""The rows of jobs: how far each has come, where and when, and what it waits for. No I/O.

A job has one of five states here: it waits (without quota, or with quota and without a cluster), runs, is done or has
failed.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.admin.job_names import job_name
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.dashboard.rows import Row, seconds

WAITING, STARTING, RUNNING, DONE, FAILED = "waiting", "starting", "running", "done", "failed"
QUEUED_ANEW: Final = ("PodsReadyTimeout", "AdmissionCheck")
"""Reasons of an eviction after which Kueue puts a job behind those that came meanwhile."""


def job_row(workload: kueue.Workload, hub: HubState, cluster_names: Mapping[str, str]) -> Row:
    """Tell of a job what lists and the timeline show; `cluster_names` are those of MultiKueueClusters."""
    state = state_of(workload)
    queue = hub.queue_of(workload)
    row: Row = {
        "namespace": workload.namespace,
        "job": job_name(workload),
        "queue": workload.spec.queue_name,
        "clusterQueue": queue.name if queue else "",
        "state": state,
        "created": seconds(workload.metadata.creation_timestamp),
        "admitted": seconds(since(workload, kueue.ADMITTED)),
        "ended": seconds(since(workload, kueue.FINISHED)),
        "clusters": [] if state == WAITING else [cluster_names.get(member, member) for member in workload.clusters],
    }
    if state in (WAITING, STARTING):
        row |= {"priority": workload.spec.priority, "queued": seconds(queued_since(workload)), "uid": workload.uid}
    if state != DONE:
        row["why"] = cause_of(workload, hub).sentence
    return row


def state_of(workload: kueue.Workload) -> str:
    finished = conditions.find(workload.status.conditions, kueue.FINISHED)
    if finished is not None and finished.is_true:
        return FAILED if finished.reason == kueue.FAILED else DONE
    if not workload.has_quota:
        return WAITING
    return RUNNING if workload.is_true(kueue.ADMITTED) else STARTING


def since(workload: kueue.Workload, kind: str) -> datetime | None:
    """Return since when a condition is true."""
    condition = conditions.find(workload.status.conditions, kind)
    return condition.last_transition_time if condition is not None and condition.is_true else None


def queued_since(workload: kueue.Workload) -> datetime | None:
    """Return since when Kueue counts a job as waiting: of equal priority, the one that waits longest is next."""
    evicted = conditions.find(workload.status.conditions, kueue.EVICTED)
    if evicted is not None and evicted.is_true and evicted.reason in QUEUED_ANEW:
        return evicted.last_transition_time
    return workload.metadata.creation_timestamp
