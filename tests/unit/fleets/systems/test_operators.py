"""Operators of other kinds of jobs as pods, each with no more rights than it needs."""

from dataclasses import replace

import pytest
import yaml

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod, secret
from fleetqueue.api.external_kinds import kind_of
from fleetqueue.api.job_kinds import AppWrapper, ClusterTrainingRuntime, SparkApplication, TrainJob
from fleetqueue.api.leaderworkerset_v1 import SET_NAME
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.scheme import Resource
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_environment import install_kueue
from fleetqueue.fleets.systems.kueue import CONFIG, KUEUE
from fleetqueue.fleets.systems.operators import (
    KUBERAY_OPERATOR,
    LEADER_WORKER_SETS,
    MPI_OPERATOR,
    OPERATORS,
    SPARK_OPERATOR,
    TRAINING_OPERATOR,
    operators,
)
from fleetqueue.fleets.systems.parts import DEPLOYMENTS, create_all, install, install_kinds
from fleetqueue.manifests import objects
from fleetqueue.runtime.counted_events import EVENTS
from fleetqueue.testing.builders import custom_kind, pod_template
from fleetqueue.testing.virtual_time import advance
from tests import job_kinds

pytestmark = pytest.mark.virtual_time

NAMESPACE = "default"
QUEUED = {kueue.QUEUE_LABEL: "user-queue-demo1"}
PODS = pod_template(requests={"cpu": "1"}, annotations={"fleetqueue.dev/run-for": "2s"})
RAY_CLUSTER = replace(job_kinds.RAY_CLUSTER, spec={**job_kinds.RAY_CLUSTER.spec, "suspend": False})
"""While one is suspended, nothing is said of it."""
FOO = Resource("example.com", "v1", "Foo", "foos")


def configured(*frameworks, **more):
    """Kueue's configuration with these kinds of jobs beside Kubernetes' own."""
    gates = {"SparkApplicationIntegration": True}
    named = {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", *frameworks]}
    return yaml.safe_dump({**yaml.safe_load(CONFIG), "integrations": named, "featureGates": gates, **more})


def train_job():
    node = {"name": "node", "template": {"spec": {"template": PODS}}}
    runtime = ClusterTrainingRuntime.manifest("r", spec={"template": {"spec": {"replicatedJobs": [node]}}})
    return [(ClusterTrainingRuntime, runtime), (TrainJob, made(TrainJob, runtimeRef={"name": "r"}))]


def app_wrapper():
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": PODS}}
    return [(AppWrapper, made(AppWrapper, components=[{"template": job}]))]


def spark_application():
    section = {"coreRequest": "1", "annotations": PODS["metadata"]["annotations"]}
    sections = {"driver": section, "executor": {**section, "instances": 1}}
    whole = {"type": "Scala", "mode": "cluster", "sparkVersion": "4", "mainApplicationFile": "f", **sections}
    return [(SparkApplication, made(SparkApplication, **whole))]


def made(kind, **spec):
    return kind.manifest("x", NAMESPACE, labels=QUEUED, spec=spec)


def test_only_operators_of_kinds_that_are_named_are_installed():
    assert operators(configured()) == []
    assert operators(configured("kubeflow.org/tfjob", "ray.io/rayjob")) == [OPERATORS[0], OPERATORS[2]]


def test_all_are_installed_but_the_one_whose_kind_waits_for_a_gate():
    assert [one.part for one in OPERATORS if one not in operators(CONFIG)] == [SPARK_OPERATOR]


@pytest.mark.parametrize(
    ("framework", "manifests"),
    [
        pytest.param("trainer.kubeflow.org/trainjob", train_job(), id="TrainJob"),
        pytest.param("workload.codeflare.dev/appwrapper", app_wrapper(), id="AppWrapper"),
        pytest.param("sparkoperator.k8s.io/sparkapplication", spark_application(), id="SparkApplication"),
    ],
)
async def test_a_job_of_a_kind_that_is_named_is_queued_and_runs_to_its_end(framework, manifests):
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await install_kinds(client, "kueue", "jobset")
        await install_kueue(client, configured(framework))
        await advance(30)
        await create_all(client, objects("single-clusterqueue.yaml"))
        for kind, manifest in manifests:
            await client.create(kind.resource, manifest)
        await advance(90)

        (workload,) = [kueue.Workload.view(raw) for raw in (await client.list(kueue.Workload.resource)).items]

    assert workload.owner.kind == manifests[-1][0].resource.kind
    assert [one.reason for one in workload.status.conditions if one.type == "Finished"] == ["Succeeded"]


async def test_pods_of_others_are_made_while_the_operator_of_leader_worker_sets_is_away():
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await install_kinds(client, "leaderworkerset")
        await install(client, LEADER_WORKER_SETS)
        await advance(30)
        stopped = {"spec": {"replicas": 0}}
        await client.merge(DEPLOYMENTS, LEADER_WORKER_SETS.name, LEADER_WORKER_SETS.namespace, stopped)
        await advance(60)

        await client.create(Pod.resource, {**Pod.manifest("p", NAMESPACE), "spec": PODS["spec"]})
        labelled = Pod.manifest("q", NAMESPACE, labels={SET_NAME: "s"})
        with pytest.raises(errors.ServerError, match="failed calling webhook"):
            await client.create(Pod.resource, {**labelled, "spec": PODS["spec"]})


@pytest.mark.parametrize(
    ("system", "part", "kind", "component"),
    [
        ("training-operator", TRAINING_OPERATOR, job_kinds.KUBEFLOW[0], "pytorchjob-controller"),
        ("mpi-operator", MPI_OPERATOR, job_kinds.MPI_JOB, "mpi-job-controller"),
        ("kuberay", KUBERAY_OPERATOR, RAY_CLUSTER, "raycluster-controller"),
    ],
)
async def test_what_an_operator_says_of_a_job_is_written(system, part, kind, component):
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await install_kinds(client, system)
        await install(client, part)
        await advance(30)
        await create_all(client, kind.manifests(NAMESPACE))
        await advance(30)

        said = (await client.list(EVENTS, NAMESPACE)).items

    assert component in {event["source"].get("component") for event in said}


async def test_a_kind_that_is_named_in_external_frameworks_is_sent_once_the_hub_serves_it():
    config = configured(multiKueue={"externalFrameworks": [{"name": "Foo.v1.example.com"}]})
    async with EmbeddedFleet.open(1) as fleet:
        hub, worker = fleet.hub.client(), fleet.workers[0].client()
        await create_all(worker, [custom_kind(FOO)])
        for client, text in ((hub, config), (worker, configured())):
            await install_kinds(client, "kueue", "jobset")
            await install_kueue(client, text)
        await create_all(hub, rights_of_kueue())
        await advance(30)
        await connect(fleet)
        await create_all(hub, [custom_kind(FOO)])
        await advance(60)
        await submit(hub)
        await advance(20)

        copy = await worker.find(FOO, "x", NAMESPACE)

    assert copy is not None
    assert copy["spec"] == {}


def rights_of_kueue():
    """What whoever names an external framework has to give to Kueue."""
    rule = {"apiGroups": [FOO.group], "resources": ["foos", "foos/status"], "verbs": ["*"]}
    subject = {"kind": "ServiceAccount", "name": KUEUE.account, "namespace": KUEUE.namespace}
    reference = {"apiGroup": ClusterRole.resource.group, "kind": "ClusterRole", "name": "fooz"}
    yield ClusterRole.manifest("fooz", rules=[rule])
    yield ClusterRoleBinding.manifest("fooz", roleRef=reference, subjects=[subject])


async def connect(fleet):
    """Make queues on both clusters; the hub's sends to the worker."""
    hub, worker = fleet.hub.client(), fleet.workers[0].client()
    kubeconfig = secret("w", KUEUE.namespace, {"kubeconfig": fleet.workers[0].kubeconfig})
    parameters = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": "c"}
    check = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": parameters}
    source = {"clusterSource": {"kubeConfig": {"location": "w", "locationType": "Secret"}}}
    await create_all(
        hub,
        [
            kubeconfig,
            kueue.MultiKueueCluster.manifest("w", spec=source),
            kueue.MultiKueueConfig.manifest("c", spec={"clusters": ["w"]}),
            kueue.AdmissionCheck.manifest("mk", spec=check),
        ],
    )
    for client, checks in ((hub, [{"name": "mk"}]), (worker, [])):
        await create_all(client, queues(checks))


def queues(checks):
    quota = [{"name": "cpu", "nominalQuota": "9"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": quota}]}]
    strategy = {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}
    yield kueue.ResourceFlavor.manifest("default", spec={})
    yield kueue.ClusterQueue.manifest("q", spec={"namespaceSelector": {}, "resourceGroups": groups, **strategy})
    yield kueue.LocalQueue.manifest("q", NAMESPACE, spec={"clusterQueue": "q"})


async def submit(hub):
    """Play the user's controller: make a job and its Workload."""
    spec = {"managedBy": kueue.MULTIKUEUE_CONTROLLER}
    foo = await hub.create(FOO, kind_of(FOO).manifest("x", NAMESPACE, spec=spec))
    owner = {"apiVersion": FOO.api_version, "kind": FOO.kind, "name": "x", "uid": foo["metadata"]["uid"]}
    sets = [{"name": "main", "count": 1, "template": {"spec": PODS["spec"]}}]
    workload = kueue.Workload.manifest("x", NAMESPACE, spec={"queueName": "q", "podSets": sets})
    workload["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    await hub.create(kueue.Workload.resource, workload)
