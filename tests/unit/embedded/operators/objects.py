"""Builders that speak of Kubeflow's and Ray's jobs, and of their pods."""

from datetime import UTC, datetime
from itertools import count

from fleetqueue.api import job_kinds as kinds
from fleetqueue.embedded.operators.plan import Seen

NAMESPACE = "team-a"
QUEUE = "user-queue"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def template(runs="", fails=False):
    notes = {"fleetqueue.dev/run-for": runs} if runs else {}
    notes |= {"fleetqueue.dev/fails": "true"} if fails else {}
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {**({"metadata": {"annotations": notes}} if notes else {}), "spec": {"containers": [container]}}


def replica(pods=1, runs="", fails=False, **more):
    return {"replicas": pods, "template": template(runs, fails), **more}


def made(kind, spec, *, status=None, **metadata):
    """An object of a kind, as the API gives it."""
    raw = kind.manifest("j", NAMESPACE, spec=spec)
    raw["metadata"] |= {"uid": "uid-of-j", "resourceVersion": "1", "generation": 1, **metadata}
    return {**raw, "status": status} if status is not None else raw


def kubeflow(job_kind, status=None, policy=None, **roles):
    """`kubeflow(PYTORCH_JOB, Master=replica(), Worker=replica(2))`"""
    spec = {"runPolicy": policy or {}, job_kind.replicas[-1]: roles}
    return made(job_kind.kind, spec, status=status)


def ray_cluster_spec(pods=1, runs="", **more):
    groups = [{"groupName": "small", "replicas": pods, "minReplicas": 0, "maxReplicas": 9, "template": template(runs)}]
    return {"headGroupSpec": {"template": template(runs)}, "workerGroupSpecs": groups, **more}


def ray_job(status=None, metadata=None, **spec):
    spec = {"rayClusterSpec": ray_cluster_spec(), "shutdownAfterJobFinishes": True, "entrypoint": "python x.py", **spec}
    return made(kinds.RayJob, spec, status=status, **(metadata or {}))


def seen(job, *children, now=NOON):
    numbers = count(1)
    by_kind = {
        kind: [child for child in children if child["kind"] == kind] for kind in ("Pod", "Service", "Job", "RayCluster")
    }
    return Seen(job, by_kind, now, lambda: f"drawn{next(numbers)}")


def as_there(child, phase="Running", *, ready=True, restarts=0, code=None, deleting=False, container=""):
    """What was made, as the API shows it later."""
    metadata = {**child["metadata"], "uid": f"uid-of-{child['metadata']['name']}", "resourceVersion": "1"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    if child["kind"] != "Pod":
        return {**child, "metadata": metadata}
    state = {"terminated": {"exitCode": code}} if code is not None else {}
    name = container or child["spec"]["containers"][0]["name"]
    status = {
        "phase": phase,
        "conditions": [{"type": "Ready", "status": str(ready and phase == "Running")}],
        "containerStatuses": [{"name": name, "restartCount": restarts, "state": state}],
    }
    return {**child, "metadata": metadata, "status": status}


def told(status):
    return {one["type"]: f"{one['status']} {one['reason']}" for one in status.get("conditions") or ()}


def message(status, kind):
    return next(one["message"] for one in status["conditions"] if one["type"] == kind)


def names(manifests, kind="Pod"):
    return [manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == kind]
