"""The kinds that operators run, as jobs of users: what they are made of, and what they say."""

from typing import NamedTuple

import pytest

from fleetqueue.api import job_kinds as kinds

from .objects import kubeflow, made, ray_cluster_spec, ray_job, replica, template


class Case(NamedTuple):
    job_kind: kinds.JobKind
    job: dict
    pods: list[str]
    """How the names of its pods begin."""
    success: str = ""
    failure: str = ""

    @property
    def kind(self):
        return self.job_kind.kind


def training(job_kind, leader, runs, fails):
    """A job whose leader, if it has one, decides about its end."""
    roles = {leader: replica(1, runs, fails, restartPolicy="Never")} if leader else {}
    return kubeflow(job_kind, **roles, Worker=replica(2, runs, fails and not leader, restartPolicy="Never"))


def ending(runs="20s", fails=False):
    """The kinds whose jobs end."""
    workers = ["j-worker-0", "j-worker-1"]
    mpi = kubeflow(kinds.MPI_JOB, policy={"backoffLimit": 0}, Launcher=replica(1, runs, fails), Worker=replica(2))
    submitter = template(runs, fails)
    submitter["spec"]["restartPolicy"] = "Never"
    return (
        Case(
            kinds.JAX_JOB,
            training(kinds.JAX_JOB, "", runs, fails),
            workers,
            "JAXJob team-a/j successfully completed.",
            "JAXJob j is failed because 2 Worker replica(s) failed.",
        ),
        Case(
            kinds.PADDLE_JOB,
            training(kinds.PADDLE_JOB, "Master", runs, fails),
            ["j-master-0", *workers],
            "PaddleJob j is successfully completed.",
            "PaddleJob j is failed because 1 Master replica(s) failed.",
        ),
        Case(
            kinds.PYTORCH_JOB,
            training(kinds.PYTORCH_JOB, "Master", runs, fails),
            ["j-master-0", *workers],
            "PyTorchJob j is successfully completed.",
            "PyTorchJob j is failed because 1 Master replica(s) failed.",
        ),
        Case(
            kinds.TF_JOB,
            training(kinds.TF_JOB, "Chief", runs, fails),
            ["j-chief-0", *workers],
            "TFJob team-a/j successfully completed.",
            "TFJob team-a/j has failed because 1 Chief replica(s) failed.",
        ),
        Case(
            kinds.XGBOOST_JOB,
            training(kinds.XGBOOST_JOB, "Master", runs, fails),
            ["j-master-0", *workers],
            "XGBoostJob j is successfully completed.",
            "XGBoostJob j is failed because 1 Master replica(s) failed.",
        ),
        Case(
            kinds.MPI_JOB,
            mpi,
            ["j-launcher-", *workers],
            "MPIJob team-a/j successfully completed.",
            "Job has reached the specified backoff limit: ",
        ),
        Case(
            kinds.RAY_JOB,
            ray_job(submitterPodTemplate=submitter, submitterConfig={"backoffLimit": 0}),
            ["j-", "j-", "j-"],
            "Job finished successfully.",
            "Job entrypoint command failed with exit code 1",
        ),
    )


def serving():
    """The kinds whose jobs run until they are stopped."""
    spec = {"rayClusterConfig": ray_cluster_spec(2), "serveConfigV2": "applications: []"}
    return (
        Case(kinds.RAY_CLUSTER, made(kinds.RayCluster, ray_cluster_spec(2)), ["j-head-", *["j-small-worker-"] * 2]),
        Case(kinds.RAY_SERVICE, made(kinds.RayService, spec), ["j-", "j-", "j-"]),
    )


def each(cases):
    return [pytest.param(case, id=case.kind.__name__) for case in cases]
