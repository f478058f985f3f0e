"""What a JobSet needs next: Jobs to make, delete, suspend or resume, and what it says of itself. No I/O.

Mirrors: jobset pkg/controllers
Left out: restarts of single Jobs and in place, volume claim policies, and exclusive placement.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.jobset_v1alpha2 import COMPLETED, FAILED, SUSPENDED
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.jobset.children import (
    REPLICATED,
    Children,
    job_name,
    job_of,
    labels,
    parts,
    replicas,
    sorted_out,
    statuses,
)

RESTARTING: Final = "Restarting"
IN_PROGRESS: Final = "StartupPolicyInProgress"
STARTED: Final = "StartupPolicyCompleted"
EXCLUSIVE: Final = ({IN_PROGRESS, STARTED},)


@dataclass(slots=True)
class JobSetPlan:
    status: Manifest
    create: list[Manifest] = field(default_factory=list)
    delete: list[Manifest] = field(default_factory=list)
    suspend: list[Manifest] = field(default_factory=list)
    resume: list[Manifest] = field(default_factory=list)
    says: list[tuple[str, str, str]] = field(default_factory=list)
    """Events: kind, reason and note."""
    needs_service: bool = False
    deletes_itself: bool = False
    again_in: float | None = None

    def tell(self, kind: str, value: str, reason: str, message: str, now: datetime, *, warns: bool = False) -> None:
        """Set a condition; one that was never true is not written as false."""
        conditions = self.status.get("conditions") or []
        known = next((condition for condition in conditions if condition["type"] == kind), None)
        if known is None and value == "False":
            return
        if known is not None and (known["status"], known["reason"], known["message"]) == (value, reason, message):
            return
        since = known["lastTransitionTime"] if known is not None and known["status"] == value else timestamp(now)
        new = {"type": kind, "status": value, "reason": reason, "message": message, "lastTransitionTime": since}
        conditions = [
            _excluded(condition, kind, value) for condition in conditions if condition["type"] != kind or known is None
        ]
        place = [condition["type"] for condition in self.status.get("conditions") or ()]
        conditions.insert(place.index(kind) if kind in place else len(conditions), new)
        self.status["conditions"] = conditions
        self.says.append((WARNING if warns else NORMAL, reason, message))


def plan(job_set: Manifest, jobs: Sequence[Manifest], now: datetime) -> JobSetPlan:
    """Return what is to be done about a JobSet and its Jobs."""
    live = job_set.get("status") or {}
    children = sorted_out(jobs, live.get("restarts", 0))
    counted = statuses(job_set, children)
    result = JobSetPlan({"restarts": 0, **live, "replicatedJobsStatus": counted})
    if _has_ended(live):
        result.delete = children.active
        _expire(job_set, live, result, now)
        return result
    result.delete = children.previous
    if not _is_suspended(job_set) and _are_all_ready(job_set, counted):
        result.tell(RESTARTING, "False", "JobsReady", "all jobs are ready", now)
    if children.failed:
        _fail(job_set, children, result, now)
    elif not _succeed(job_set, children, result, now):
        _run(job_set, children, counted, result, now)
    return result


def _run(job_set: Manifest, children: Children, counted: list[Manifest], result: JobSetPlan, now: datetime) -> None:
    result.needs_service = bool((job_set["spec"].get("network") or {}).get("enableDNSHostnames", True))
    waits = _create(job_set, children, counted, result)
    in_order, is_suspended = _is_in_order(job_set), _is_suspended(job_set)
    if in_order and not is_suspended:
        if waits:
            result.tell(
                IN_PROGRESS, "True", "InOrderStartupPolicyInProgress", "in order startup policy is in progress", now
            )
        else:
            result.tell(STARTED, "True", "InOrderStartupPolicyCompleted", "in order startup policy has completed", now)
    if is_suspended:
        result.suspend = [job for job in children.active if not job["spec"].get("suspend")]
        result.tell(SUSPENDED, "True", "SuspendedJobs", "jobset is suspended", now)
        result.tell(RESTARTING, "False", "JobSetSuspended", "jobset is suspended", now)
    elif not _resume(job_set, children, counted, result):
        result.tell(SUSPENDED, "False", "ResumeJobs", "jobset is resumed", now)


def _create(job_set: Manifest, children: Children, counted: list[Manifest], result: JobSetPlan) -> bool:
    """Choose the Jobs to make; return whether others wait for those."""
    there, policy = children.names(), job_set["spec"].get("failurePolicy") or {}
    if children.previous and policy.get("restartStrategy") == "BlockingRecreate":
        return False
    for part in parts(job_set):
        if not _may_start(job_set, part, counted):
            continue
        one_by_one = _is_in_order(job_set) and not _is_suspended(job_set)
        if one_by_one and _has_started(part, counted):
            continue
        name = job_set["metadata"]["name"]
        wanted = [index for index in range(replicas(part)) if job_name(name, part["name"], index) not in there]
        result.create += [job_of(job_set, part, index) for index in wanted]
        if one_by_one:
            return True
    return False


def _resume(job_set: Manifest, children: Children, counted: list[Manifest], result: JobSetPlan) -> bool:
    """Choose the Jobs to resume; return whether others wait for those."""
    for part in parts(job_set):
        in_order = _is_in_order(job_set)
        if not _may_start(job_set, part, counted) or (in_order and _has_started(part, counted)):
            continue
        own = [job for job in children.active if labels(job).get(REPLICATED) == part["name"]]
        result.resume += [job for job in own if job["spec"].get("suspend")]
        if in_order:
            return True
    return False


def _fail(job_set: Manifest, children: Children, result: JobSetPlan, now: datetime) -> None:
    policy = job_set["spec"].get("failurePolicy")
    if policy is None:
        _end_badly(result, "FailedJobs", "jobset failed due to one or more job failures", _first(children.failed), now)
        return
    rule, job = _matching(policy.get("rules") or [], children.failed)
    action = rule["action"] if rule is not None else "RestartJobSet"
    reason = f"FailurePolicy_{rule.get('name', '')}" if rule is not None else "DefaultFailurePolicy"
    used = result.status.get("restartsCountTowardsMax", 0)
    if action == "FailJobSet":
        _end_badly(result, "FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action", job, now)
    elif action == "RestartJobSet" and used >= policy.get("maxRestarts", 0):
        _end_badly(result, "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts", job, now)
    else:
        _restart(result, action, reason, job, now)


def _restart(result: JobSetPlan, action: str, reason: str, job: Manifest, now: datetime) -> None:
    result.status["restarts"] = result.status.get("restarts", 0) + 1
    if action == "RestartJobSet":
        result.status["restartsCountTowardsMax"] = result.status.get("restartsCountTowardsMax", 0) + 1
    message = _naming(f"applying {action} failure policy action", job)
    result.tell(RESTARTING, "True", reason, message, now, warns=True)
    result.says.append((WARNING, f"{action}FailurePolicyAction", message))


def _end_badly(result: JobSetPlan, reason: str, message: str, job: Manifest, now: datetime) -> None:
    result.tell(FAILED, "True", reason, _naming(message, job), now, warns=True)
    result.tell(RESTARTING, "False", "JobSetFailed", "jobset failed", now)
    result.status["terminalState"] = FAILED


def _succeed(job_set: Manifest, children: Children, result: JobSetPlan, now: datetime) -> bool:
    policy = job_set["spec"].get("successPolicy") or {}
    named = policy.get("targetReplicatedJobs") or [part["name"] for part in parts(job_set)]
    done = sum(labels(job).get(REPLICATED) in named for job in children.successful)
    needed = sum(replicas(part) for part in parts(job_set) if part["name"] in named)
    if not children.successful or done < (1 if policy.get("operator", "All") == "Any" else needed):
        return False
    result.tell(COMPLETED, "True", "AllJobsCompleted", "jobset completed successfully", now)
    result.tell(RESTARTING, "False", "JobSetCompleted", "jobset completed successfully", now)
    result.status["terminalState"] = COMPLETED
    return True


def _expire(job_set: Manifest, live: Manifest, result: JobSetPlan, now: datetime) -> None:
    seconds = job_set["spec"].get("ttlSecondsAfterFinished")
    if seconds is None:
        return
    ends = [
        condition["lastTransitionTime"] for condition in live["conditions"] if condition["type"] in (COMPLETED, FAILED)
    ]
    left = (datetime.fromisoformat(max(ends)) + timedelta(seconds=seconds) - now).total_seconds()
    result.deletes_itself, result.again_in = left <= 0, left if left > 0 else None


def _matching(rules: Sequence[Manifest], failed: Sequence[Manifest]) -> tuple[Manifest | None, Manifest]:
    """Return the first rule that fits a failed Job, and the first Job that it fits."""
    for rule in rules:
        fitting = [job for job in failed if _fits(rule, job)]
        if fitting:
            return rule, _first(fitting)
    return None, _first(failed)


def _fits(rule: Manifest, job: Manifest) -> bool:
    failure = _failure(job)
    reasons, named = rule.get("onJobFailureReasons") or [], rule.get("targetReplicatedJobs") or []
    patterns = rule.get("onJobFailureMessagePatterns") or []
    return (
        (not reasons or failure.get("reason", "") in reasons)
        and (not patterns or any(re.search(pattern, failure.get("message", "")) for pattern in patterns))
        and (not named or labels(job).get(REPLICATED) in named)
    )


def _first(failed: Sequence[Manifest]) -> Manifest:
    return min(failed, key=lambda job: (_failure(job).get("lastTransitionTime", ""), job["metadata"]["name"]))


def _failure(job: Manifest) -> Manifest:
    conditions: list[Manifest] = (job.get("status") or {}).get("conditions") or []
    return next(
        (condition for condition in conditions if condition["type"] == "Failed" and condition["status"] == "True"), {}
    )


def _naming(message: str, job: Manifest) -> str:
    return f"{message} (first failed job: {job['metadata']['name']})"


def _may_start(job_set: Manifest, part: Manifest, counted: Sequence[Manifest]) -> bool:
    """Tell whether the parts that a part waits for have come so far."""
    sizes = {entry["name"]: replicas(entry) for entry in parts(job_set)}
    by_name = {entry["name"]: entry for entry in counted}
    for needed in part.get("dependsOn") or ():
        status = by_name[needed["name"]]
        fields = ("succeeded",) if needed["status"] == "Complete" else ("failed", "ready", "succeeded")
        if sum(status[field] for field in fields) < sizes[needed["name"]]:
            return False
    return True


def _has_started(part: Manifest, counted: Sequence[Manifest]) -> bool:
    status = next(part_status for part_status in counted if part_status["name"] == part["name"])
    return bool(replicas(part) == status["failed"] + status["ready"] + status["succeeded"])


def _are_all_ready(job_set: Manifest, counted: Sequence[Manifest]) -> bool:
    ready: int = sum(status["ready"] + status["succeeded"] for status in counted)
    return sum(map(replicas, parts(job_set))) == ready


def _is_in_order(job_set: Manifest) -> bool:
    return (job_set["spec"].get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"


def _is_suspended(job_set: Manifest) -> bool:
    return bool(job_set["spec"].get("suspend"))


def _has_ended(status: Manifest) -> bool:
    conditions = status.get("conditions") or ()
    return any(condition["type"] in (COMPLETED, FAILED) and condition["status"] == "True" for condition in conditions)


def _excluded(condition: Manifest, kind: str, value: str) -> Manifest:
    """End a condition that cannot be true beside another one."""
    pair = {condition["type"], kind}
    if value == "True" and condition["status"] == "True" and pair in EXCLUSIVE and len(pair) == 2:
        return {**condition, "status": "False"}
    return condition
