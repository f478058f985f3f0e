"""Builders that speak of JobSets and their Jobs."""

from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.embedded.jobset.children import job_of
from fleetqueue.embedded.jobset.defaults import completed

NAMESPACE = "team"


def part(name="workers", *, replicas=2, runs="1000s", fails=False, **more):
    notes = {"fleetqueue.dev/run-for": runs, **({"fleetqueue.dev/fails": "true"} if fails else {})}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    pods = {"metadata": {"annotations": notes}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": pods}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **more}


def job_set(*parts, name="s", labels=None, status=None, **spec):
    made = JobSet.manifest(name, NAMESPACE, labels=labels, spec={"replicatedJobs": [*(parts or (part(),))], **spec})
    made["metadata"]["uid"] = "uid-of-s"
    made = completed(made)
    return {**made, "status": status} if status is not None else made


def child(raw, name="workers", index=0, *, ready=0, ended="", at="2026-01-01T00:00:00Z", suspended=False):
    """One of its Jobs, as it may stand."""
    found = next(each for each in raw["spec"]["replicatedJobs"] if each["name"] == name)
    job = job_of(raw, found, index)
    job["spec"]["suspend"] = suspended
    job["metadata"] |= {"uid": f"uid-{name}-{index}", "resourceVersion": "1"}
    job["status"] = {"active": ready, "ready": ready}
    if ended:
        told = {
            "type": ended,
            "status": "True",
            "reason": "BackoffLimitExceeded",
            "message": "m",
            "lastTransitionTime": at,
        }
        job["status"] = {"conditions": [told]}
    return job
