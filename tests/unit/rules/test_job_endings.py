"""How a job of each kind tells that it has ended."""

import pytest

from fleetqueue.rules.job_endings import (
    app_wrapper_ending,
    job_ending,
    job_set_ending,
    kubeflow_ending,
    no_ending,
    ray_job_ending,
    spark_application_ending,
    train_job_ending,
)


def with_condition(kind, status="True"):
    return {
        "status": {
            "conditions": [{"type": "Created", "status": "True"}, {"type": kind, "status": status, "message": "why"}]
        }
    }


def in_state(state):
    return {"status": {"applicationState": {"state": state, "errorMessage": "why"}}}


@pytest.mark.parametrize(
    ("ending", "job", "reason"),
    [
        pytest.param(job_ending, with_condition("Complete"), "Succeeded", id="Job, complete"),
        pytest.param(job_ending, with_condition("Failed"), "Failed", id="Job, failed"),
        pytest.param(job_ending, with_condition("FailureTarget"), None, id="Job, about to fail"),
        pytest.param(job_set_ending, with_condition("Completed"), "Succeeded", id="JobSet, completed"),
        pytest.param(job_set_ending, with_condition("Failed"), "Failed", id="JobSet, failed"),
        pytest.param(kubeflow_ending, with_condition("Succeeded"), "Succeeded", id="Kubeflow, succeeded"),
        pytest.param(kubeflow_ending, with_condition("Failed"), "Failed", id="Kubeflow, failed"),
        pytest.param(kubeflow_ending, with_condition("Succeeded", "False"), None, id="Kubeflow, not yet"),
        pytest.param(kubeflow_ending, {}, None, id="Kubeflow, new"),
        pytest.param(
            ray_job_ending,
            {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "why"}},
            "Succeeded",
            id="RayJob, complete",
        ),
        pytest.param(
            ray_job_ending,
            {"status": {"jobDeploymentStatus": "Failed", "jobStatus": "RUNNING", "message": "why"}},
            "Failed",
            id="RayJob, failed",
        ),
        pytest.param(ray_job_ending, {"status": {"jobStatus": "SUCCEEDED"}}, None, id="RayJob, its cluster still goes"),
        pytest.param(train_job_ending, with_condition("Complete"), "Succeeded", id="TrainJob, complete"),
        pytest.param(train_job_ending, with_condition("Failed"), "Failed", id="TrainJob, failed"),
        pytest.param(train_job_ending, with_condition("Suspended"), None, id="TrainJob, suspended"),
        pytest.param(spark_application_ending, in_state("COMPLETED"), "Succeeded", id="SparkApplication, completed"),
        pytest.param(spark_application_ending, in_state("FAILED"), "Failed", id="SparkApplication, failed"),
        pytest.param(spark_application_ending, in_state("SUBMISSION_FAILED"), "Failed", id="SparkApplication, refused"),
        pytest.param(spark_application_ending, in_state("FAILING"), None, id="SparkApplication, about to fail"),
        pytest.param(no_ending, with_condition("Failed"), None, id="what runs for ever"),
    ],
)
def test_how_a_job_has_ended(ending, job, reason):
    assert ending(job) == ((reason, "why") if reason else None)


def wrapper(phase, **conditions):
    told = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return {"status": {"phase": phase, "conditions": told}}


@pytest.mark.parametrize(
    ("job", "ending"),
    [
        pytest.param({}, None, id="new"),
        pytest.param(wrapper("Running", ResourcesDeployed="True"), None, id="running"),
        pytest.param(
            wrapper("Succeeded", ResourcesDeployed="True"),
            ("Succeeded", "AppWrapper finished successfully"),
            id="succeeded",
        ),
        pytest.param(wrapper("Failed", ResourcesDeployed="True"), None, id="failed, and not cleaned up"),
        pytest.param(wrapper("Failed", ResourcesDeployed="False"), ("Failed", "AppWrapper failed"), id="failed"),
    ],
)
def test_how_an_app_wrapper_has_ended(job, ending):
    assert app_wrapper_ending(job) == ending
