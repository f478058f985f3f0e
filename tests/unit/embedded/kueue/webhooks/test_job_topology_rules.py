"""Where each kind of job is told what is wrong with the topology that it asks for."""

import pytest

from fleetqueue.api.job_kinds import (
    BATCH_JOB,
    JAX_JOB,
    JOB_SET,
    MPI_JOB,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    SPARK_APPLICATION,
)
from fleetqueue.embedded.kueue.jobs.topology_requests import UnreadableRequest
from fleetqueue.embedded.kueue.webhooks.job_topology_rules import topology_faults
from fleetqueue.embedded.kueue.wiring import INTEGRATIONS

PREFIX = "kueue.x-k8s.io/podset-"
SIZE = f"{PREFIX}slice-size"
TOO_LARGE = {f"{PREFIX}slice-required-topology": "rack", SIZE: "9"}
LEVELLESS = {f"{PREFIX}group-name": "g"}
UNREADABLE = {f"{PREFIX}unconstrained-topology": "?"}
BY_FRAMEWORK = {integration.framework: integration for integration in INTEGRATIONS}


def template(annotations):
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "c"}]}}


def job(spec, **metadata):
    return {"metadata": {"name": "j", "namespace": "ns", **metadata}, "spec": spec}


def batch_job(asked, **metadata):
    return job({"parallelism": 2, "template": template(asked)}, **metadata)


def job_set(*each):
    return job(
        {
            "replicatedJobs": [
                {"name": f"r{place}", "template": {"spec": {"template": template(annotations)}}}
                for place, annotations in enumerate(each)
            ]
        }
    )


def replicas(field, **roles):
    return job({field: {role: {"template": template(annotations)} for role, annotations in roles.items()}})


def ray(head, worker, **more):
    groups = [{"groupName": "w", "template": template(worker)}]
    return {"headGroupSpec": {"template": template(head)}, "workerGroupSpecs": groups, **more}


def spark(driver, executor):
    return job({"driver": {"annotations": driver}, "executor": {"annotations": executor, "instances": 2}})


@pytest.mark.parametrize(
    ("kind", "raw", "paths"),
    [
        pytest.param(BATCH_JOB, batch_job(TOO_LARGE), ["spec.template.metadata.annotations"], id="Job"),
        pytest.param(
            JOB_SET,
            job_set({}, TOO_LARGE),
            ["spec.replicatedJobs[1].template.spec.template.metadata.annotations"],
            id="JobSet",
        ),
        pytest.param(
            MPI_JOB,
            replicas("mpiReplicaSpecs", Worker=TOO_LARGE, Launcher={}),
            ["spec.mpiReplicaSpecs[Worker].template.metadata.annotations"],
            id="MPIJob",
        ),
        pytest.param(
            PYTORCH_JOB,
            replicas("pytorchReplicaSpecs", Worker=TOO_LARGE, Master=TOO_LARGE),
            [f"spec.pytorchReplicaSpecs[{role}].template.metadata.annotations" for role in ("Master", "Worker")],
            id="PyTorchJob",
        ),
        pytest.param(
            RAY_CLUSTER,
            job(ray(TOO_LARGE, TOO_LARGE)),
            [
                "spec.headGroupSpec.template.metadata.annotations",
                "spec.workerGroupSpecs[0].template.metadata.annotations",
            ],
            id="RayCluster",
        ),
        pytest.param(
            RAY_JOB,
            job({"rayClusterSpec": ray({}, TOO_LARGE)}),
            ["spec.rayClusterSpec.workerGroupSpecs[0].template.metadata.annotations"],
            id="RayJob",
        ),
        pytest.param(
            RAY_SERVICE,
            job({"rayClusterConfig": ray(TOO_LARGE, {})}),
            ["spec.rayClusterSpec.headGroupSpec.template.metadata.annotations"],
            id="RayService, told as if it were a RayJob",
        ),
        pytest.param(
            SPARK_APPLICATION,
            spark(TOO_LARGE, TOO_LARGE),
            ["spec.driver.annotations", "spec.executor.annotations"],
            id="SparkApplication",
        ),
    ],
)
def test_each_kind_is_told_where_its_template_is(kind, raw, paths):
    problems = topology_faults(BY_FRAMEWORK[kind.framework], raw)

    assert [problem.partition(": ")[0] for problem in problems] == [f"{path}[{SIZE}]" for path in paths]


@pytest.mark.parametrize("how", ["required", "preferred"])
def test_an_elastic_job_asks_for_no_level(how):
    raw = batch_job({f"{PREFIX}{how}-topology": "rack"}, annotations={"kueue.x-k8s.io/elastic-job": "true"})

    assert topology_faults(BY_FRAMEWORK[BATCH_JOB.framework], raw) == [
        f"spec.template.metadata.annotations.{PREFIX}{how}-topology: Forbidden: {how} topology is not supported with "
        "elastic jobs"
    ]


def test_a_group_of_one_replicated_job_is_refused():
    together = {f"{PREFIX}required-topology": "rack", f"{PREFIX}group-name": "g"}

    (problem,) = topology_faults(BY_FRAMEWORK[JOB_SET.framework], job_set(together, {}))

    assert "can only define groups of exactly 2 pod sets, got: 1 pod set(s)" in problem


def test_a_kubeflow_job_has_no_groups():
    together = {f"{PREFIX}required-topology": "rack", f"{PREFIX}group-name": "g"}

    assert topology_faults(BY_FRAMEWORK[JAX_JOB.framework], replicas("jaxReplicaSpecs", Worker=together)) == []


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        pytest.param(BATCH_JOB, batch_job(UNREADABLE), id="Job"),
        pytest.param(PYTORCH_JOB, replicas("pytorchReplicaSpecs", Worker=UNREADABLE), id="PyTorchJob"),
        pytest.param(RAY_CLUSTER, job(ray(UNREADABLE, {})), id="the head of a RayCluster"),
        pytest.param(RAY_JOB, job({"rayClusterSpec": ray({}, UNREADABLE)}), id="the workers of a RayJob"),
    ],
)
def test_what_cannot_be_read_is_judged_where_it_stands(kind, raw):
    (problem,) = topology_faults(BY_FRAMEWORK[kind.framework], raw)

    assert problem.endswith('Invalid value: "?": must be a boolean value')


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        pytest.param(JOB_SET, job_set(UNREADABLE), id="JobSet"),
        pytest.param(MPI_JOB, replicas("mpiReplicaSpecs", Worker=UNREADABLE), id="MPIJob"),
        pytest.param(RAY_CLUSTER, job(ray({}, UNREADABLE)), id="the workers of a RayCluster"),
        pytest.param(SPARK_APPLICATION, spark({}, UNREADABLE), id="SparkApplication"),
    ],
)
def test_of_some_kinds_nothing_is_judged_that_cannot_be_read(kind, raw):
    with pytest.raises(UnreadableRequest, match="ParseBool"):
        topology_faults(BY_FRAMEWORK[kind.framework], raw)
