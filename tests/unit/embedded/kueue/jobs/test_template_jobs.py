"""What Kueue reads from jobs that keep the templates of their pods, and what it writes into them."""

import pytest

from fleetqueue.api.fields import value_at
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.jobs.kubeflow import KUBEFLOW_INTEGRATIONS
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, of_pod_sets
from fleetqueue.embedded.kueue.jobs.ray import RAY_INTEGRATIONS

JOB_SETS = JobSetIntegration()
JAX, MPI, PADDLE, PYTORCH, TF, XGBOOST = KUBEFLOW_INTEGRATIONS
RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES = RAY_INTEGRATIONS


def template(name, **resources):
    container = {"name": name, "image": "i", **({"resources": {"requests": resources}} if resources else {})}
    return {"spec": {"containers": [container]}}


def ray_cluster(**more):
    groups = [{"groupName": "small", "replicas": 2, "template": template("worker")}]
    return {"headGroupSpec": {"template": template("head")}, "workerGroupSpecs": groups, **more}


def job(spec, **status):
    return {"metadata": {"name": "j", "namespace": "ns"}, "spec": spec, "status": status}


def replicas(**roles):
    return {role: {"replicas": count, "template": template(role)} for role, count in roles.items()}


JOBS = [
    pytest.param(
        JOB_SETS,
        job({"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": {"template": template("a")}}}]}),
        {"a": 2},
        id="JobSet",
    ),
    pytest.param(
        PYTORCH, job({"pytorchReplicaSpecs": replicas(Worker=3, Master=1)}), {"master": 1, "worker": 3}, id="PyTorchJob"
    ),
    pytest.param(
        TF, job({"tfReplicaSpecs": replicas(Worker=2, PS=1, Chief=1)}), {"chief": 1, "ps": 1, "worker": 2}, id="TFJob"
    ),
    pytest.param(XGBOOST, job({"xgbReplicaSpecs": replicas(Master=1)}), {"master": 1}, id="XGBoostJob"),
    pytest.param(PADDLE, job({"paddleReplicaSpecs": replicas(Worker=2)}), {"worker": 2}, id="PaddleJob"),
    pytest.param(JAX, job({"jaxReplicaSpecs": replicas(Worker=2)}), {"worker": 2}, id="JAXJob"),
    pytest.param(
        MPI, job({"mpiReplicaSpecs": replicas(Worker=2, Launcher=1)}), {"launcher": 1, "worker": 2}, id="MPIJob"
    ),
    pytest.param(RAY_CLUSTERS, job(ray_cluster()), {"head": 1, "small": 2}, id="RayCluster"),
    pytest.param(RAY_SERVICES, job({"rayClusterConfig": ray_cluster()}), {"head": 1, "small": 2}, id="RayService"),
    pytest.param(
        RAY_JOBS, job({"rayClusterSpec": ray_cluster()}), {"head": 1, "small": 2, "submitter": 1}, id="RayJob"
    ),
    pytest.param(
        RAY_JOBS,
        job({"rayClusterSpec": ray_cluster(), "submissionMode": "HTTPMode"}),
        {"head": 1, "small": 2},
        id="RayJob that nobody submits in the cluster",
    ),
]


@pytest.mark.parametrize(("integration", "raw", "pods"), JOBS)
def test_the_pod_sets_of_a_job_are_its_templates(integration, raw, pods):
    assert {made["name"]: made["count"] for made in integration.pod_sets(raw)} == pods


@pytest.mark.parametrize(("integration", "raw", "pods"), JOBS)
def test_a_started_job_has_what_its_pods_were_given_and_a_stopped_one_is_as_before(integration, raw, pods):
    before = of_pod_sets({"spec": {"podSets": integration.pod_sets(raw)}})
    infos = [PodSetInfo(name, count, node_selector={"zone": name}) for name, count in pods.items()]
    suspended = integration.suspended(raw)

    started = integration.started(suspended, infos)
    stop = integration.next_stop(started, before)

    selectors = [value_at(started, (*one.field, "spec", "nodeSelector")) for one in integration.templates(started)]
    assert selectors == [{"zone": name} for name in pods]
    assert integration.is_suspended(suspended)
    assert not integration.is_suspended(started)
    assert [made["template"] for made in integration.pod_sets(stop.wanted)] == [
        made["template"] for made in integration.pod_sets(raw)
    ]
    assert integration.is_suspended(stop.wanted)
    assert integration.next_stop(stop.wanted, before) is None


@pytest.mark.parametrize(("integration", "raw", "pods"), JOBS)
def test_a_job_that_was_given_something_for_other_pods_does_not_start(integration, raw, pods):
    with pytest.raises(CannotStart, match=f"expecting {len(pods)} podset, got {len(pods) + 1}"):
        integration.started(raw, [PodSetInfo("x", 1)] * (len(pods) + 1))


def test_without_what_it_was_given_a_job_is_only_suspended():
    raw = job({"pytorchReplicaSpecs": replicas(Master=1), "runPolicy": {"suspend": False}})

    assert PYTORCH.next_stop(raw, []).wanted == PYTORCH.suspended(raw)


@pytest.mark.parametrize(
    ("integration", "status", "is_active", "is_ready"),
    [
        pytest.param(
            PYTORCH, {"replicaStatuses": {"Master": {"active": 1}, "Worker": {}}}, True, False, id="pods start"
        ),
        pytest.param(PYTORCH, {"conditions": [{"type": "Running", "status": "True"}]}, False, True, id="pods run"),
        pytest.param(PYTORCH, {"replicaStatuses": {"Master": None}}, False, False, id="no pods"),
        pytest.param(RAY_CLUSTERS, {"state": "ready"}, True, True, id="a cluster is ready"),
        pytest.param(RAY_CLUSTERS, {"state": "suspended"}, False, False, id="a cluster is suspended"),
        pytest.param(
            RAY_SERVICES, {"conditions": [{"type": "Ready", "status": "True"}]}, True, True, id="a service serves"
        ),
        pytest.param(RAY_JOBS, {"jobDeploymentStatus": "Initializing"}, True, False, id="a cluster is made"),
        pytest.param(RAY_JOBS, {"jobDeploymentStatus": "Suspended"}, False, False, id="a job is suspended"),
        pytest.param(RAY_JOBS, {}, False, False, id="a new job"),
        pytest.param(
            RAY_JOBS,
            {"jobDeploymentStatus": "Running", "rayClusterStatus": {"state": "ready"}},
            True,
            True,
            id="a job runs",
        ),
    ],
)
def test_whether_pods_are_left_and_whether_all_are_ready(integration, status, is_active, is_ready):
    raw = job({}, **status)

    assert (integration.is_active(raw), integration.pods_ready(raw)) == (is_active, is_ready)


def test_a_kubeflow_job_may_name_its_own_priority_class():
    policy = {"schedulingPolicy": {"priorityClass": "high"}}

    assert PYTORCH.priority_class(job({"runPolicy": policy})) == "high"
    assert PYTORCH.priority_class(job({})) == ""


def test_pods_are_numbered_by_the_label_of_their_kind():
    (master,) = XGBOOST.pod_sets(job({"xgbReplicaSpecs": replicas(Master=1)}))
    head, _ = RAY_CLUSTERS.pod_sets(job(ray_cluster()))

    assert master["topologyRequest"] == {"podIndexLabel": "training.kubeflow.org/replica-index"}
    assert "topologyRequest" not in head


def test_what_kuberay_adds_to_the_head_counts():
    spec = ray_cluster(enableInTreeAutoscaling=True, gcsFaultToleranceOptions={})

    head = RAY_CLUSTERS.pod_sets(job(spec))[0]["template"]["spec"]["containers"]

    assert [container["name"] for container in head] == ["head", "autoscaler"]
    assert head[0]["resources"]["requests"] == {"cpu": "200m", "memory": "256Mi"}
    assert head[1]["resources"]["requests"] == {"cpu": "500m", "memory": "512Mi"}


def test_a_head_that_asks_for_more_than_what_comes_after_it_keeps_that():
    raw = job({"headGroupSpec": {"template": template("head", cpu="1", memory="1Mi")}})
    raw["metadata"]["annotations"] = {"ray.io/ft-enabled": "TRUE"}

    head = RAY_CLUSTERS.pod_sets(raw)[0]["template"]["spec"]["containers"][0]

    assert head["resources"]["requests"] == {"cpu": "1", "memory": "256Mi"}


def test_who_submits_has_the_image_of_the_head_and_what_kuberay_gives_it():
    submitter = RAY_JOBS.pod_sets(job({"rayClusterSpec": ray_cluster()}))[-1]["template"]["spec"]

    assert submitter["restartPolicy"] == "Never"
    assert submitter["containers"][0]["image"] == "i"
    assert submitter["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}


def test_a_sidecar_submits_from_the_head():
    raw = job({"rayClusterSpec": ray_cluster(), "submissionMode": "SidecarMode"})

    assert [container["name"] for container in RAY_JOBS.pod_sets(raw)[0]["template"]["spec"]["containers"]] == [
        "head",
        "ray-job-submitter",
    ]


def elastic_ray_job(**more):
    """One that has made a RayCluster."""
    raw = job({"rayClusterSpec": ray_cluster(**more), "submissionMode": "HTTPMode"}, rayClusterName="c")
    return {**raw, "metadata": {**raw["metadata"], "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}}


def made_cluster(**group):
    """What finds the RayCluster, with one group."""
    groups = [{"groupName": "small", "template": template("worker"), **group}]
    return lambda kind, name, namespace: {
        "metadata": {"name": name, "generation": 4},
        "spec": {**ray_cluster(), "workerGroupSpecs": groups},
    }


@pytest.mark.parametrize(
    ("raw", "group", "pods"),
    [
        pytest.param(
            elastic_ray_job(enableInTreeAutoscaling=True),
            {"replicas": 3, "numOfHosts": 2},
            {"head": 1, "small": 6},
            id="that Ray scales",
        ),
        pytest.param(
            elastic_ray_job(enableInTreeAutoscaling=True),
            {},
            {"head": 1, "small": 2},
            id="whose cluster does not say its size",
        ),
        pytest.param(elastic_ray_job(), {"replicas": 3}, {"head": 1, "small": 2}, id="that Ray does not scale"),
    ],
)
def test_the_size_of_an_elastic_ray_job(raw, group, pods):
    integration = RAY_JOBS.looking_up(made_cluster(**group))

    assert {made["name"]: made["count"] for made in integration.pod_sets(raw)} == pods


def test_of_an_elastic_ray_job_is_noted_how_large_it_is_and_which_generation_its_cluster_has():
    integration = RAY_JOBS.looking_up(made_cluster(replicas=3))

    noted = integration.annotated(elastic_ray_job(enableInTreeAutoscaling=True))["metadata"]["annotations"]

    assert noted == {
        "kueue.x-k8s.io/elastic-job": "true",
        "kueue.x-k8s.io/raycluster-generation": "4",
        "kueue.x-k8s.io/raycluster-podset-replica-sizes": '[{"name":"head","count":1},{"name":"small","count":3}]',
    }


def test_before_it_has_a_cluster_no_generation_is_noted():
    noted = RAY_JOBS.annotated(elastic_ray_job())["metadata"]["annotations"]

    assert noted["kueue.x-k8s.io/raycluster-generation"] == ""


def test_of_a_ray_job_that_is_not_elastic_nothing_is_noted():
    raw = job({"rayClusterSpec": ray_cluster()})

    assert RAY_JOBS.annotated(raw) == raw


def test_a_ray_job_for_a_cluster_that_is_there_is_none_of_ours():
    assert RAY_JOBS.skips(job({"clusterSelector": {"ray.io/cluster": "c"}}))
    assert not RAY_JOBS.skips(job({"rayClusterSpec": ray_cluster()}))


def test_a_ray_job_that_cannot_be_is_on_hold():
    assert RAY_JOBS.is_on_hold(job({}, jobDeploymentStatus="ValidationFailed"))
    assert not RAY_JOBS.is_on_hold(job({}, jobDeploymentStatus="Running"))


def test_the_workers_beside_a_launcher_that_works_are_counted_from_one():
    raw = job({"runLauncherAsWorker": True, "mpiReplicaSpecs": replicas(Worker=2, Launcher=1)})

    made = MPI.completed(raw)

    worker = ("spec", "mpiReplicaSpecs", "Worker", "template", "metadata", "annotations")
    assert value_at(made, worker) == {"kueue.x-k8s.io/pod-index-offset": "1"}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"mpiReplicaSpecs": replicas(Worker=2, Launcher=1)}, id="the launcher only launches"),
        pytest.param({"runLauncherAsWorker": True, "mpiReplicaSpecs": replicas(Worker=2)}, id="no launcher"),
        pytest.param(
            {
                "runLauncherAsWorker": True,
                "mpiReplicaSpecs": {
                    **replicas(Worker=2),
                    "Launcher": {
                        "template": {
                            **template("l"),
                            "metadata": {"annotations": {"kueue.x-k8s.io/podset-group-name": "g"}},
                        }
                    },
                },
            },
            id="both are one group",
        ),
    ],
)
def test_else_workers_are_counted_from_nought(spec):
    assert MPI.completed(job(spec)) == job(spec)
