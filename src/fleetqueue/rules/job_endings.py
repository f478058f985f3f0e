"""How each kind of job tells that it has ended: Kueue finishes its Workload then, MultiKueue takes its copy away."""

from typing import NamedTuple

from fleetqueue.api.batch_v1 import COMPLETE, FAILED
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.fields import value_at
from fleetqueue.api.jobset_v1alpha2 import COMPLETED
from fleetqueue.api.jobset_v1alpha2 import FAILED as JOB_SET_FAILED
from fleetqueue.api.scheme import Manifest


class Ending(NamedTuple):
    reason: str
    message: str


def job_ending(job: Manifest) -> Ending | None:
    return _by_conditions(job, COMPLETE, FAILED)


def job_set_ending(job: Manifest) -> Ending | None:
    return _by_conditions(job, COMPLETED, JOB_SET_FAILED)


def kubeflow_ending(job: Manifest) -> Ending | None:
    return _by_conditions(job, "Succeeded", "Failed")


def train_job_ending(job: Manifest) -> Ending | None:
    return _by_conditions(job, COMPLETE, FAILED)


def app_wrapper_ending(job: Manifest) -> Ending | None:
    """Return how an AppWrapper ended; one that failed has not, before what it made is gone."""
    phase = value_at(job, ("status", "phase"))
    if phase == "Succeeded":
        return Ending("Succeeded", "AppWrapper finished successfully")
    has_failed = phase == "Failed" and not is_true(job, "ResourcesDeployed")
    return Ending("Failed", "AppWrapper failed") if has_failed else None


def spark_application_ending(job: Manifest) -> Ending | None:
    state = value_at(job, ("status", "applicationState")) or {}
    if state.get("state") not in ("COMPLETED", "FAILED", "SUBMISSION_FAILED"):
        return None
    return Ending("Succeeded" if state["state"] == "COMPLETED" else "Failed", state.get("errorMessage", ""))


def ray_job_ending(job: Manifest) -> Ending | None:
    status = job.get("status") or {}
    if status.get("jobDeploymentStatus") not in ("Failed", "Complete"):
        return None
    return Ending("Succeeded" if status.get("jobStatus") == "SUCCEEDED" else "Failed", status.get("message", ""))


def no_ending(job: Manifest) -> Ending | None:
    """Return the ending of what is to run for ever."""
    return None


def _by_conditions(job: Manifest, succeeded: str, failed: str) -> Ending | None:
    for condition in value_at(job, ("status", "conditions")) or ():
        if condition["type"] in (succeeded, failed) and condition["status"] == "True":
            return Ending("Failed" if condition["type"] == failed else "Succeeded", condition.get("message", ""))
    return None
