"""An operator: for each TrainingRun it makes a Job in a queue of Kueue, and tells on the TrainingRun how it ended."""

from typing import Any

import kopf
from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.batch_v1 import Job
from lightkube.types import PatchType

QUEUE = "kueue.x-k8s.io/queue-name"
TrainingRun = create_namespaced_resource("example.dev", "v1", "TrainingRun", "trainingruns")


def job_for(name: str, spec: Any) -> dict[str, Any]:
    """Build the Job of a TrainingRun. It waits, suspended, until Kueue lets it run."""
    container = {"name": "main", "image": spec["image"], "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"fleetqueue.dev/run-for": spec.get("runFor", "1s")}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    metadata = {"name": name, "labels": {QUEUE: spec["queue"]}}
    return {"metadata": metadata, "spec": {"suspend": True, "template": template}}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False
    settings.networking.error_backoffs = [0.1, 0.2, 0.5, 1, 2]


@kopf.on.login()
def login(**kwargs: Any) -> Any:
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.create("example.dev", "v1", "trainingruns")
def make_job(name: str, namespace: str, spec: Any, patch: kopf.Patch, **_: Any) -> None:
    job = job_for(name, spec)
    kopf.adopt(job)
    with Client(namespace=namespace) as client:
        client.create(Job.from_dict(job))
    patch.status["phase"] = "Waiting"


@kopf.on.event("batch", "v1", "jobs")
def tell_the_end(namespace: str, body: Any, **_: Any) -> None:
    owners = [one["name"] for one in body["metadata"].get("ownerReferences", ()) if one["kind"] == "TrainingRun"]
    true = {one["type"] for one in body.get("status", {}).get("conditions", ()) if one["status"] == "True"}
    ended = true & {"Complete", "Failed"}
    for name in owners if ended else ():
        run = TrainingRun(metadata=ObjectMeta(name=name), status={"phase": ended.pop()})
        with Client(namespace=namespace) as client:
            client.patch(TrainingRun.Status, name, run, patch_type=PatchType.MERGE)
