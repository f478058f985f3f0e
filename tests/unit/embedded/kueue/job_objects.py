"""Builders that speak of jobs."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.rules.workload_names import workload_name

from .scheduling.objects import NAMESPACE


def template(cpu="1", *, runs="1000s", labels=None, annotations=None, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"annotations": {"fleetqueue.dev/run-for": runs, **(annotations or {})}}
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": "Never", **spec}}


def job_manifest(name="j", *, queue="q", suspend=True, labels=None, annotations=None, pods=None, **spec):
    queued = {kueue.QUEUE_LABEL: queue} if queue else {}
    body = {"suspend": suspend, "template": pods or template(), **spec}
    return Job.manifest(name, NAMESPACE, labels={**queued, **(labels or {})}, annotations=annotations, spec=body)


async def workload_of(world, name="j"):
    """Return the Workload of a Job, as it is named."""
    job = await world.get("Job", name, NAMESPACE)
    return await world.workload(workload_name("Job", "batch", name, job["metadata"]["uid"]))
