"""Jobs and pods as the Job controller sees them."""

from datetime import timedelta

from fleetqueue.api.batch_v1 import INDEX, TRACKING, Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Pod
from fleetqueue.testing.virtual_time import START


def at(seconds):
    return timestamp(START + timedelta(seconds=seconds))


def a_job(status=None, deleting=False, **spec):
    metadata = {"name": "job", "namespace": "default", "uid": "job-uid", "creationTimestamp": at(0)}
    if deleting:
        metadata["deletionTimestamp"] = at(0)
    return Job.view({"metadata": metadata, "spec": spec, "status": status or {}})


def a_pod(
    name, phase="Running", *, index=None, tracked=True, deleting=False, ended=None, code=1, ready=False, node="n"
):
    metadata = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": at(0)}
    if index is not None:
        metadata["annotations"] = {INDEX: str(index)}
    if tracked:
        metadata["finalizers"] = [TRACKING]
    if deleting:
        metadata["deletionTimestamp"] = at(0)
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
    if ended is not None:
        end = {"exitCode": 0 if phase == "Succeeded" else code, "finishedAt": at(ended)}
        status["containerStatuses"] = [{"name": "main", "state": {"terminated": end}}]
    return Pod.view({"metadata": metadata, "spec": {"nodeName": node}, "status": status})
