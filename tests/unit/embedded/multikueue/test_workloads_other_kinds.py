"""Kinds that are sent, and some that are not; Kueue is played by the test."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.external_kinds import kind_of
from fleetqueue.api.job_kinds import RayService, SparkApplication, TrainJob
from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.multikueue.external_frameworks import external_adapters
from fleetqueue.testing.builders import custom_kind

from .objects import NAMESPACE, QUEUE, hub_workload

pytestmark = pytest.mark.fleet(scenario="api")
FOO = Resource("example.com", "v1", "Foo", "fooz")
NAME = "Foo.v1.example.com"


def sent(kind, name="x", **spec):
    return kind.manifest(name, NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec=spec)


def submit(env, kind, manifest):
    """Make a job and its Workload on the hub, with quota."""
    env.hub.add(manifest)
    name = manifest["metadata"]["name"]
    made = hub_workload(name, env.hub.get(kind, name, NAMESPACE).uid)
    made["metadata"]["ownerReferences"][0] |= {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
    env.hub.add(made)
    env.reserve(name)


async def test_a_train_job_loses_the_status_of_its_last_worker_where_the_next_says_nothing(env):
    await env.serve("trainer")
    env.arrange()
    spec = {"suspend": True, "managedBy": kueue.MULTIKUEUE_CONTROLLER, "runtimeRef": {"name": "r"}}
    old = {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 1}
    async with env.multikueue(frameworks=("trainer.kubeflow.org/trainjob",)):
        submit(env, TrainJob, {**sent(TrainJob, **spec), "status": {"jobsStatus": [old]}})
        await env.fleet.settle()
        env.admit("cluster1", "x")
        await env.fleet.advance(5)

    assert env.check("x").state == "Ready"
    assert "status" not in env.hub.raw(TrainJob, "x", NAMESPACE)


async def test_what_a_ray_service_serves_is_changed_on_its_worker_while_it_runs(env):
    await env.serve("kuberay")
    env.arrange()
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    cluster = {"suspend": True, "headGroupSpec": head}
    async with env.multikueue(frameworks=("ray.io/rayservice",)):
        spec = {"managedBy": kueue.MULTIKUEUE_CONTROLLER, "rayClusterConfig": cluster}
        submit(env, RayService, sent(RayService, **spec))
        await env.fleet.settle()
        env.admit("cluster1", "x")
        await env.fleet.advance(5)
        before = env.fleet["cluster1"].raw(RayService, "x", NAMESPACE)
        env.hub.change(RayService, "x", NAMESPACE, spec={"serveConfigV2": "applications: []"})
        await env.fleet.advance(5)

    after = env.fleet["cluster1"].raw(RayService, "x", NAMESPACE)
    assert "serveConfigV2" not in before["spec"]
    assert after["spec"] == {**before["spec"], "serveConfigV2": "applications: []"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_spark_application_is_not_sent(env):
    await env.serve("spark-operator")
    env.arrange()
    sections = {"driver": {}, "executor": {}, "mainApplicationFile": "f", "sparkVersion": "4", "type": "Scala"}
    async with env.multikueue(frameworks=("sparkoperator.k8s.io/sparkapplication",)):
        submit(env, SparkApplication, sent(SparkApplication, suspend=True, **sections))
        await env.fleet.settle()

    why = 'No multikueue adapter found for owner kind "sparkoperator.k8s.io/v1beta2, Kind=SparkApplication"'
    assert env.check("x").state == "Rejected"
    assert env.check("x").message == f'{why}, Previously: "Pending"'


@pytest.fixture
async def fooz(env):
    """Clusters that serve a kind of which Kueue knows nothing but its name."""
    for cluster in env.fleet:
        cluster.add(custom_kind(FOO))
    await env.fleet.advance(2)
    env.arrange()
    return env


async def test_a_job_of_an_external_framework_is_sent_as_it_is_and_its_status_comes_back(fooz):
    foo = kind_of(FOO)
    spec = {"managedBy": kueue.MULTIKUEUE_CONTROLLER, "size": 3}
    external = await external_adapters(fooz.hub.client(), [NAME])
    async with fooz.multikueue(external=external):
        submit(fooz, foo, sent(foo, **spec))
        await fooz.fleet.settle()
        fooz.admit("cluster1", "x")
        await fooz.fleet.settle()
        copy = fooz.fleet["cluster1"].raw(foo, "x", NAMESPACE)
        fooz.fleet["cluster1"].change(foo, "x", NAMESPACE, status={"state": "Running"})
        await fooz.fleet.advance(2)
        running = fooz.hub.raw(foo, "x", NAMESPACE)["status"]
        fooz.fleet["cluster1"].change(foo, "x", NAMESPACE, status={"state": "Done"})
        fooz.tell("cluster1", "x", Finished="Succeeded")
        await fooz.fleet.advance(5)

    assert copy["spec"] == {"size": 3}
    assert copy["metadata"]["labels"][kueue.ORIGIN_LABEL] == "multikueue"
    assert running == {"state": "Running"}
    assert fooz.hub.raw(foo, "x", NAMESPACE)["status"] == {"state": "Done"}
    assert fooz.workload("x").is_finished
    assert [worker.list(foo) for worker in fooz.workers] == [[], []]


async def test_a_job_of_an_external_framework_that_is_somebody_elses_is_refused(fooz):
    foo = kind_of(FOO)
    async with fooz.multikueue(external=await external_adapters(fooz.hub.client(), [NAME])):
        submit(fooz, foo, sent(foo, managedBy="me"))
        await fooz.fleet.settle()

    why = 'Expecting .spec.managedBy to be "kueue.x-k8s.io/multikueue" not "me"'
    assert why in fooz.check("x").message


async def test_only_kinds_that_the_hub_serves_are_sent(fooz):
    adapters = await external_adapters(fooz.hub.client(), ["Odd.v1.example.com", "odd", NAME])

    assert [(adapter.framework, adapter.kind.resource) for adapter in adapters] == [(NAME, FOO)]
