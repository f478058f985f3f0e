"""What a RayJob needs next: the life from its cluster to its end, one step at a time. No I/O.

Nothing runs in the cluster. Where a Job submits, the Ray job runs and ends as that Job does; otherwise it runs for as
long as the RayJob says: by its annotation, or by a `sleep` in its entrypoint.

Mirrors: kuberay ray-operator/controllers/ray/rayjob_controller.go

Left out: jobs for a cluster that is there already (`clusterSelector`), deletion strategies, and the finalizer with
which KubeRay stops a job in Ray.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleetqueue.api.batch_v1 import COMPLETE, FAILED
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.plan import OperatorPlan, Seen, seconds_since
from fleetqueue.embedded.operators.ray_job_objects import INTERACTIVE, K8S_JOB, cluster_of, mode_of, submitter_of
from fleetqueue.embedded.operators.ray_names import dashboard_url
from fleetqueue.rules.run_times import asked_seconds, fails

ENDS: Final = ("SUCCEEDED", "FAILED", "STOPPED")
GRACE: Final = 300.0
"""Seconds that a RayJob may take to say that it is over after its job in Ray was."""
EXCEEDED: Final = "JobDeploymentStatusTransitionGracePeriodExceeded"
RESET: Final = (
    "rayClusterStatus",
    "rayClusterName",
    "dashboardURL",
    "jobId",
    "message",
    "reason",
    "rayJobInfo",
    "jobStatus",
)
"""What a suspended RayJob, or one that is tried again, does not say any more."""


class RayJobInfo(NamedTuple):
    """The job in Ray."""

    status: str
    message: str


RUNNING: Final = RayJobInfo("RUNNING", "Job is currently running.")
SUCCEEDED: Final = RayJobInfo("SUCCEEDED", "Job finished successfully.")
FAILURE: Final = RayJobInfo("FAILED", "Job entrypoint command failed with exit code 1")


def plan(seen: Seen) -> OperatorPlan:
    """Return the next step of a RayJob."""
    result = OperatorPlan(dict(seen.status))
    state, problem = seen.status.get("jobDeploymentStatus", ""), why_invalid(seen.job["spec"])
    if seen.job["spec"].get("clusterSelector"):
        return result
    if problem:
        if state != "ValidationFailed":
            result.say("InvalidRayJobSpec", f"{seen.key}: {problem}", warns=True)
        result.status.update(jobDeploymentStatus="ValidationFailed", reason="ValidationFailed", message=problem)
        return result
    step = STEPS.get(state)
    if step is not None:
        step(seen, result)
        _settle(seen, result)
    elif state in ("Complete", "Failed"):
        _shut_down(seen, result)
    return result


def why_invalid(spec: Manifest) -> str:
    """Say why a RayJob cannot be; empty where it can."""
    if spec.get("suspend") and not spec.get("shutdownAfterJobFinishes"):
        why = "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended"
        return f"The RayJob spec is invalid: {why}"
    if not spec.get("rayClusterSpec") and not spec.get("clusterSelector"):
        return "The RayJob spec is invalid: one of RayClusterSpec or ClusterSelector must be set"
    return ""


# Steps


def _begin(seen: Seen, result: OperatorPlan) -> None:
    """Choose the names first: so nothing is made twice."""
    if mode_of(seen.job) != INTERACTIVE:
        result.status.setdefault("jobId", seen.job["spec"].get("jobId") or f"{seen.name}-{seen.draw()}")
    result.status.setdefault("rayClusterName", f"{seen.name}-{seen.draw()}")
    result.status.update(jobDeploymentStatus="Initializing", startTime=timestamp(seen.now))


def _initialize(seen: Seen, result: OperatorPlan) -> None:
    if _suspends(seen, result) or _is_late(seen, result, "activeDeadlineSeconds", "DeadlineExceeded"):
        return
    if _is_late(seen, result, "preRunningDeadlineSeconds", "PreRunningDeadlineExceeded"):
        return
    cluster = _cluster(seen, result)
    state = ((cluster or {}).get("status") or {}).get("state")
    if state != "ready":
        if cluster is not None and cluster.get("status"):
            result.status["rayClusterStatus"] = cluster["status"]
        return
    address = dashboard_url(result.status["rayClusterName"], seen.namespace)
    result.status["dashboardURL"] = address
    if mode_of(seen.job) == INTERACTIVE:
        result.status["jobDeploymentStatus"] = "Waiting"
        return
    if mode_of(seen.job) == K8S_JOB and not seen.children["Job"]:
        result.create.append(submitter_of(seen.job, result.status["jobId"], address))
        result.say("CreatedRayJobSubmitter", f"Created Kubernetes Job {seen.key}")
    result.status["jobDeploymentStatus"] = "Running"


def _wait(seen: Seen, result: OperatorPlan) -> None:
    """Let people submit, and tell the id of what they have submitted."""
    if _is_late(seen, result, "preRunningDeadlineSeconds", "PreRunningDeadlineExceeded"):
        return
    if seen.job["spec"].get("jobId"):
        result.status.update(jobId=seen.job["spec"]["jobId"], jobDeploymentStatus="Running")


def _run(seen: Seen, result: OperatorPlan) -> None:
    if _suspends(seen, result) or _is_late(seen, result, "activeDeadlineSeconds", "DeadlineExceeded"):
        return
    if _is_overdue(seen, result):
        return
    cluster = _cluster(seen, result)
    info = _submitted(seen) if mode_of(seen.job) == K8S_JOB else _pretended(seen, result)
    if info is None:
        return
    if cluster is not None:
        result.status["rayClusterStatus"] = cluster.get("status") or {}
    result.status.update(jobStatus=info.status, message=info.message)
    times = {"startTime": timestamp(seen.now), **(result.status.get("rayJobInfo") or {})}
    if info.status in ENDS:
        times.setdefault("endTime", timestamp(seen.now))
        result.wait(GRACE - seconds_since(times["endTime"], seen.now))
    result.status["rayJobInfo"] = times
    if info.status in ENDS and _has_submitted(seen):
        result.again_in = None
        result.status["jobDeploymentStatus"] = "Failed" if info.status == "FAILED" else "Complete"
        if info.status == "FAILED":
            result.status["reason"] = "AppFailed"


def _stop(seen: Seen, result: OperatorPlan) -> None:
    """Take everything away before anything else; then wait to be resumed, or begin anew."""
    _delete_cluster(seen, result)
    for job in seen.children["Job"]:
        if result.remove(job):
            result.say("DeletedRayJobSubmitter", f"Deleted submitter K8s Job {seen.key}")
    if seen.children["RayCluster"] or seen.children["Job"]:
        return
    for name in RESET:
        result.status.pop(name, None)
    if result.status["jobDeploymentStatus"] == "Suspending":
        result.status["jobDeploymentStatus"] = "Suspended"
    else:
        del result.status["jobDeploymentStatus"]


def _resume(seen: Seen, result: OperatorPlan) -> None:
    if not seen.job["spec"].get("suspend"):
        result.status.pop("jobStatus", None)
        del result.status["jobDeploymentStatus"]


STEPS: Final[dict[str, Callable[[Seen, OperatorPlan], None]]] = {
    "": _begin,
    "Initializing": _initialize,
    "Waiting": _wait,
    "Running": _run,
    "Suspending": _stop,
    "Retrying": _stop,
    "Suspended": _resume,
}


def _settle(seen: Seen, result: OperatorPlan) -> None:
    """Count how it ended, and try again where it may."""
    status = result.status
    if status == seen.status:
        return
    state = status.get("jobDeploymentStatus")
    status["failed"] = status.get("failed", 0) + (state == "Failed")
    status["succeeded"] = status.get("succeeded", 0) + (state == "Complete" and status["jobStatus"] == "SUCCEEDED")
    limit = seen.job["spec"].get("backoffLimit")
    if state == "Failed" and limit is not None and status["failed"] <= limit:
        if status.get("reason") != "DeadlineExceeded":
            status["jobDeploymentStatus"] = "Retrying"
    if status.get("jobDeploymentStatus") in ("Complete", "Failed"):
        status["endTime"] = timestamp(seen.now)


def _shut_down(seen: Seen, result: OperatorPlan) -> None:
    """Take away the cluster of a job that is over; the Job that submitted it stays, for its logs."""
    if not seen.job["spec"].get("shutdownAfterJobFinishes"):
        return
    left = seen.job["spec"].get("ttlSecondsAfterFinished", 0) - seconds_since(seen.status["endTime"], seen.now)
    if left > 0:
        result.wait(left)
    else:
        _delete_cluster(seen, result)


# What steps share


def _suspends(seen: Seen, result: OperatorPlan) -> bool:
    if seen.job["spec"].get("suspend"):
        result.status["jobDeploymentStatus"] = "Suspending"
    return bool(seen.job["spec"].get("suspend"))


def _is_late(seen: Seen, result: OperatorPlan, field: str, reason: str) -> bool:
    """Fail a job that has taken longer than one of its deadlines."""
    limit, started = seen.job["spec"].get(field), seen.status["startTime"]
    if limit is None:
        return False
    left = limit - seconds_since(started, seen.now)
    if left > 0:
        result.wait(left)
        return False
    begun = f"{datetime.fromisoformat(started):%Y-%m-%d %H:%M:%S} +0000 UTC"
    message = f"The RayJob has passed the {field}. StartTime: {begun}. {field[0].upper()}{field[1:]}: {limit}"
    result.status.update(jobDeploymentStatus="Failed", reason=reason, message=message)
    return True


def _is_overdue(seen: Seen, result: OperatorPlan) -> bool:
    """End a RayJob whose job in Ray was over long ago, though who submitted it still tries."""
    ended = (seen.status.get("rayJobInfo") or {}).get("endTime")
    if not ended or seconds_since(ended, seen.now) < GRACE:
        return False
    state = "Failed" if seen.status.get("jobStatus") == "FAILED" else "Complete"
    message = (
        "JobDeploymentStatus does not transition to Complete or Failed within the grace period after JobStatus "
        "reaches a terminal state."
    )
    result.status.update(jobDeploymentStatus=state, reason=EXCEEDED, message=message)
    return True


def _cluster(seen: Seen, result: OperatorPlan) -> Manifest | None:
    """Return the job's cluster; where there is none, make it."""
    name = seen.status["rayClusterName"]
    cluster = seen.child("RayCluster", name)
    if cluster is None:
        result.create.append(cluster_of(seen.job, name))
        result.say("CreatedRayCluster", f"Created RayCluster {seen.namespace}/{name}")
    return cluster


def _delete_cluster(seen: Seen, result: OperatorPlan) -> None:
    for cluster in seen.children["RayCluster"]:
        if result.remove(cluster):
            result.say("DeletedRayCluster", f"Deleted cluster {seen.namespace}/{cluster['metadata']['name']}")


def _submitted(seen: Seen) -> RayJobInfo | None:
    """Return how the job in Ray is, by the Job that submitted it; None where Ray does not know it yet."""
    for job in seen.children["Job"]:
        status = job.get("status") or {}
        if is_true(job, COMPLETE):
            return SUCCEEDED
        if status.get("failed") or is_true(job, FAILED):
            return FAILURE
        return RUNNING if status.get("ready") else None
    return None


def _pretended(seen: Seen, result: OperatorPlan) -> RayJobInfo:
    """Return how a job in Ray is that no Job has submitted."""
    annotations = seen.job["metadata"].get("annotations") or {}
    seconds = asked_seconds(annotations, args=(seen.job["spec"].get("entrypoint", ""),))
    started = (seen.status.get("rayJobInfo") or {}).get("startTime")
    end = (datetime.fromisoformat(started) if started else seen.now) + timedelta(seconds=seconds)
    if end > seen.now:
        result.wait((end - seen.now).total_seconds())
        return RUNNING
    return FAILURE if fails(annotations) else SUCCEEDED


def _has_submitted(seen: Seen) -> bool:
    """Tell whether nobody is still submitting."""
    return all(is_true(job, COMPLETE) or is_true(job, FAILED) for job in seen.children["Job"])
