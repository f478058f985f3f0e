"""Which pods each kind of job that was not submitted yet comes to, and what they ask for together."""

import pytest

from fleetqueue.admin.planned_pods import planned_pods
from fleetqueue.api import job_kinds
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_pods import DEPLOYMENT, GROUP_NAME, LEADER_WORKER_SET, POD, STATEFUL_SET
from fleetqueue.api.quantity import parse
from fleetqueue.api.queued_kinds import QUEUED_KINDS
from fleetqueue.testing.builders import pod_template

TEMPLATE = pod_template(requests={"cpu": "1"})
BARE = {"spec": {"containers": [{"name": "main"}]}}


def a_job(framework, metadata=None, /, **spec):
    resource = QUEUED_KINDS[framework]
    manifest = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**manifest, "metadata": {"name": "j", "namespace": "ns", **(metadata or {})}, "spec": spec}


def replicated(name, replicas, parallelism):
    return {"name": name, "replicas": replicas, "template": {"spec": batch(parallelism)}}


def batch(parallelism, **more):
    return {"parallelism": parallelism, "template": TEMPLATE, **more}


def roles(**counts):
    return {role: {"replicas": count, "template": TEMPLATE} for role, count in counts.items()}


def ray(head=TEMPLATE, **more):
    groups = [{"groupName": "small", "replicas": 2, "numOfHosts": 2, "template": TEMPLATE}]
    return {"headGroupSpec": {"template": head}, "workerGroupSpecs": groups, **more}


def wrapped(kind, **spec):
    return {"template": a_job(kind, **spec)}


RUNTIME = {
    "spec": {
        "mlPolicy": {"numNodes": 3},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": TEMPLATE},
                        },
                    }
                ]
            }
        },
    }
}
SPARK = {
    "driver": {"coreRequest": "1"},
    "executor": {"coreRequest": "2", "instances": 2},
}
GROUPS = {"size": 3, "workerTemplate": TEMPLATE}
CASES = [
    pytest.param(a_job("batch/job", **batch(3)), "3", id="Job"),
    pytest.param(a_job("batch/job", **batch(3, completions=2)), "2", id="a Job of fewer completions"),
    pytest.param(
        a_job("batch/job", {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"}}, **batch(3)),
        "1",
        id="a Job that may start with fewer pods",
    ),
    pytest.param(
        a_job("jobset.x-k8s.io/jobset", replicatedJobs=[replicated("a", 2, 2), replicated("b", 1, 1)]), "5", id="JobSet"
    ),
    pytest.param(a_job("kubeflow.org/jaxjob", jaxReplicaSpecs=roles(Worker=2)), "2", id="JAXJob"),
    pytest.param(a_job("kubeflow.org/mpijob", mpiReplicaSpecs=roles(Launcher=1, Worker=2)), "3", id="MPIJob"),
    pytest.param(a_job("kubeflow.org/paddlejob", paddleReplicaSpecs=roles(Master=1, Worker=1)), "2", id="PaddleJob"),
    pytest.param(a_job("kubeflow.org/pytorchjob", pytorchReplicaSpecs=roles(Master=1, Worker=3)), "4", id="PyTorchJob"),
    pytest.param(a_job("kubeflow.org/tfjob", tfReplicaSpecs=roles(Chief=1, PS=2, Worker=2)), "5", id="TFJob"),
    pytest.param(a_job("kubeflow.org/xgboostjob", xgbReplicaSpecs=roles(Master=1)), "1", id="XGBoostJob"),
    pytest.param(a_job("ray.io/raycluster", **ray()), "5", id="RayCluster"),
    pytest.param(a_job("ray.io/raycluster", **ray(enableInTreeAutoscaling=True)), "5500m", id="one that scales itself"),
    pytest.param(a_job("ray.io/rayservice", rayClusterConfig=ray()), "5", id="RayService"),
    pytest.param(a_job("ray.io/rayjob", rayClusterSpec=ray()), "5500m", id="RayJob"),
    pytest.param(
        a_job("ray.io/rayjob", rayClusterSpec=ray(), submissionMode="HTTPMode"), "5", id="a RayJob without a submitter"
    ),
    pytest.param(a_job("sparkoperator.k8s.io/sparkapplication", **SPARK), "5", id="SparkApplication"),
    pytest.param(
        a_job(
            "workload.codeflare.dev/appwrapper", components=[wrapped("batch/job", **batch(2)), wrapped("pod", **BARE)]
        ),
        "2",
        id="AppWrapper",
    ),
    pytest.param(a_job("pod", **TEMPLATE["spec"]), "1", id="Pod"),
    pytest.param(a_job(STATEFUL_SET, replicas=3, template=TEMPLATE), "3", id="StatefulSet"),
    pytest.param(a_job(DEPLOYMENT, replicas=3, template=TEMPLATE), "1", id="Deployment, by its pods"),
    pytest.param(a_job(LEADER_WORKER_SET, leaderWorkerTemplate=GROUPS), "3", id="LeaderWorkerSet, by its groups"),
    pytest.param(
        a_job(LEADER_WORKER_SET, leaderWorkerTemplate={**GROUPS, "leaderTemplate": BARE}), "2", id="one with leaders"
    ),
]


@pytest.mark.parametrize(("job", "cpu"), CASES)
def test_the_pods_of_each_kind_are_counted_as_kueue_counts_them(job, cpu):
    planned = planned_pods(job)

    assert (planned.needed.get("cpu"), planned.unjudged) == (parse(cpu), "")


def test_a_train_job_is_what_its_runtime_makes_of_it():
    job = a_job(job_kinds.TRAIN_JOB.framework, {"name": "t"}, runtimeRef={"name": "torch"})

    assert planned_pods(job, RUNTIME).needed == {"cpu": parse("3")}


def test_every_kind_of_kueues_is_counted():
    counted = {case.values[0]["kind"] for case in CASES} | {job_kinds.TRAIN_JOB.kind.resource.kind}

    assert counted == {resource.kind for resource in QUEUED_KINDS.values()}


@pytest.mark.parametrize(
    ("job", "why"),
    [
        pytest.param(
            {**a_job(POD), "apiVersion": "a.dev/v1", "kind": "Other"},
            "only its own controller knows Other",
            id="a framework of others",
        ),
        pytest.param(
            a_job(job_kinds.TRAIN_JOB.framework),
            "the runtime that it names is not there, or may not be read",
            id="no runtime",
        ),
        pytest.param(
            a_job("ray.io/rayjob", clusterSelector={"a": "b"}),
            "it uses a cluster that is there already, and has no pods of its own",
            id="a RayJob for a cluster that there is",
        ),
        pytest.param(
            a_job("workload.codeflare.dev/appwrapper", components=[{"template": {"kind": "Other"}}]),
            "nothing in it says which pods it comes to",
            id="an AppWrapper of an unknown kind",
        ),
        pytest.param(
            Pod.manifest("p", "ns", labels={GROUP_NAME: "g"}, spec=TEMPLATE["spec"]),
            "it is queued with all pods of its group",
            id="a pod of a group",
        ),
        pytest.param(a_job("batch/job", parallelism="many"), "its spec cannot be read", id="a spec of another form"),
    ],
)
def test_what_cannot_be_judged_is_told(job, why):
    assert planned_pods(job).unjudged == why
