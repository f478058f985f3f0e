"""Jobs of the kinds that only these scenarios have a sample of, and what they need beside them."""

from fleetqueue.api import job_kinds
from fleetqueue.api.scheme import Manifest

from ..job_samples import Sample, plain_condition, template  # noqa: TID252 - what the rooms share stands above them

RUNTIME = "rt"


def _counted(**counts: int) -> Manifest:
    every = {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
    return {"jobsStatus": [{"name": "node", **every, **counts}]}


def _train_job(cpu: int) -> Manifest:
    reference = {"apiGroup": job_kinds.TRAINER, "kind": "TrainingRuntime", "name": RUNTIME}
    return {"runtimeRef": reference, "trainer": {"resourcesPerNode": {"requests": {"cpu": str(cpu)}}}}


def training_runtime() -> Manifest:
    pods = template(1)
    pods["spec"] |= {"restartPolicy": "Never"}
    pods["spec"]["containers"][0]["name"] = "node"
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    node = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}}
    spec = {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [node]}}}
    resource = job_kinds.TrainingRuntime.resource
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": RUNTIME}, "spec": spec}


TRAIN_JOB = Sample(
    job_kinds.TRAIN_JOB,
    _train_job,
    runs=_counted(ready=2, active=2),
    stopped=_counted(suspended=1),
    succeeds={**_counted(succeeded=1), "conditions": [plain_condition("Complete")]},
    fails={**_counted(failed=1), "conditions": [plain_condition("Failed")]},
)


def _app_wrapper(cpu: int) -> Manifest:
    pods = template(cpu)
    pods["spec"] |= {"restartPolicy": "Never"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "w"},
        "spec": {"parallelism": 2, "template": pods},
    }
    return {"components": [{"podSets": [{"replicas": 2, "path": "template.spec.template"}], "template": job}]}


def _phase(phase: str, *true: str) -> Manifest:
    """Return what an AppWrapper's operator says in a phase, in which some conditions are true."""
    conditions = [
        plain_condition(kind, str(kind in true)) for kind in ("QuotaReserved", "ResourcesDeployed", "PodsReady")
    ]
    return {"phase": phase, "conditions": conditions}


APP_WRAPPER = Sample(
    job_kinds.APP_WRAPPER,
    _app_wrapper,
    runs=_phase("Running", "QuotaReserved", "ResourcesDeployed", "PodsReady"),
    stopped=_phase("Suspended"),
    succeeds=_phase("Succeeded", "ResourcesDeployed"),
    fails=_phase("Failed"),
)
