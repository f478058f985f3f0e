"""The phases of a job from its submission to its end, each in one line. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from fleetqueue import clock
from fleetqueue.admin.inventory import PENDING, Row
from fleetqueue.admin.submitting import Submission
from fleetqueue.admin.table_text import duration
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.meta import ObjectMeta
from fleetqueue.api.scheme import Manifest

UNQUEUED, QUEUED, RESERVED, NOMINATED, ADMITTED, RUNNING = (
    "unqueued",
    "queued",
    "reserved",
    "nominated",
    "admitted",
    "running",
)
SUCCEEDED, FAILED, DELETED = "succeeded", "failed", "deleted"
LAST: Final = (SUCCEEDED, FAILED, DELETED)
GRACE_SECONDS: Final = 3.0
"""How long Kueue may take to make a Workload before that is worth a line."""

NOT_READY: Final = "Not all pods are ready or succeeded"
"""What Kueue says of every job that has just begun; the line tells how many are."""


@dataclass(frozen=True, slots=True)
class JobPhase:
    namespace: str
    job: str
    phase: str
    text: str
    """The whole line, without times."""
    time: datetime
    seconds: int
    """Since the job was created."""

    @property
    def is_last(self) -> bool:
        return self.phase in LAST

    @property
    def row(self) -> dict[str, Any]:
        names = ("namespace", "job", "phase", "text", "seconds")
        return {"time": timestamp(self.time), **{name: getattr(self, name) for name in names}}


def passed_phase(submission: Submission, row: Row) -> JobPhase:
    """Return a phase that is over already: why it was waited there is of no interest any more."""
    word, text = _told({**row, "why": ""}, None)
    return _phase(submission, word, text.removesuffix(": "))


def phase_of(submission: Submission, row: Row | None, live: Manifest | None) -> JobPhase | None:
    """Return how far a job is, by its row and by the job itself; None where that is not worth a line yet."""
    if live is None:
        return _phase(submission, DELETED, "it was deleted") if row is None else None
    phase = _phase(submission, *(_told(row, live) if row is not None else (UNQUEUED, "not queued: it has no Workload")))
    return None if phase.phase == UNQUEUED and phase.seconds < GRACE_SECONDS else phase


def _phase(submission: Submission, word: str, text: str) -> JobPhase:
    now = clock.now()
    created = msgspec.convert(submission.manifest["metadata"], ObjectMeta).creation_timestamp or now
    seconds = max(int((now - created).total_seconds()), 0)
    return JobPhase(submission.namespace, submission.job, word, text, now, seconds)


def _told(row: Row, live: Manifest | None) -> tuple[str, str]:
    state, where = row["state"], ", ".join(row["clusters"])
    if state == kueue.FINISHED:
        return _ended(row, where)
    if state == kueue.ADMITTED:
        on = f"on {where}" if where else "on the hub"
        ready, total = pods(live or {})
        further = "; ".join(part for part in row["why"].split("; ")[1:] if part != NOT_READY)
        has_begun = ready or _has_begun(live or {})
        text = f"running {on}, {ready} of {total} pods ready" if has_begun else f"admitted {on}"
        return RUNNING if has_begun else ADMITTED, f"{text}: {further}" if further else text
    if state == kueue.QUOTA_RESERVED:
        return (
            (NOMINATED, f"nominated for {where}: {row['why']}")
            if where
            else (RESERVED, f"quota reserved: {row['why']}")
        )
    if state == PENDING:
        position = f", position {row['position']}" if row["position"] else ""
        return QUEUED, f"queued in {row['queue']}{position}: {row['why']}"
    return UNQUEUED, f"not queued: {row['why']}"


def _ended(row: Row, where: str) -> tuple[str, str]:
    word = SUCCEEDED if row["result"] == kueue.SUCCEEDED else FAILED
    on = f" on {where}" if where else ""
    ran = f" after {duration(row['ran_seconds'])}" if row["ran_seconds"] is not None else ""
    return word, f"{word}{on}{ran}: {row['why'].removeprefix('it has failed: ')}"


def _has_begun(job: Manifest) -> bool:
    """Tell whether pods of a Job have been there, also where none is ready."""
    status = job.get("status") or {}
    return any(status.get(count) for count in ("active", "succeeded", "failed")) and "parallelism" in job["spec"]


def pods(job: Manifest) -> tuple[int, int]:
    """Return how many pods of a job are ready, and of how many; 0 where its kind does not say it."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    if "replicatedJobsStatus" in status:
        replicated = status["replicatedJobsStatus"]
        return sum(one.get("ready", 0) for one in replicated), sum(
            one.get("replicas", 1) for one in spec["replicatedJobs"]
        )
    if "replicaStatuses" in status:
        active = sum(one.get("active") or 0 for one in status["replicaStatuses"].values())
        return active, max(active, _replicas(spec))
    if "readyReplicas" in status:
        return int(status["readyReplicas"] or 0), int(spec.get("replicas", 1))
    if "parallelism" in spec:
        ready = status.get("ready")
        return int((status.get("active") if ready is None else ready) or 0), int(spec["parallelism"])
    is_running = status.get("phase") == "Running" and "containers" in spec
    return (1, 1) if is_running else (0, 0)


def _replicas(spec: Manifest) -> int:
    """Count the replicas of a job of Kubeflow, over all roles."""
    roles: Manifest = next((value for name, value in spec.items() if name.endswith("ReplicaSpecs")), {})
    return sum(int(role.get("replicas", 1)) for role in roles.values())
