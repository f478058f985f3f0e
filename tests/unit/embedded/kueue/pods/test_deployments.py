"""Deployments under Kueue: each of their pods waits for itself."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.job_objects import template
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE

from .objects import ask, is_gated, pod_manifest, pods

pytestmark = pytest.mark.virtual_time
SETTINGS = KueueSettings(frameworks=("batch/job", "pod", "deployment"))
PARENT = "kueue.x-k8s.io/pod-suspending-parent"


def deployment(replicas=2, *, queue="q", cpu="1", labels=None):
    pods = template(cpu, labels={"app": "d"}, restartPolicy="Always")
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "d"}}, "template": pods}
    queued = {kueue.QUEUE_LABEL: queue} if queue else {}
    return Deployment.manifest("d", NAMESPACE, labels={**queued, **(labels or {})}, spec=spec)


@pytest.fixture
async def asked(world):
    ask(world, SETTINGS)
    return world


async def change(world, **fields):
    await world.client.merge(Deployment.resource, "d", NAMESPACE, fields)
    await advance(10)


async def workloads(world):
    return (await world.client.list(kueue.Workload.resource, NAMESPACE)).items


async def test_each_pod_of_a_deployment_has_a_workload_of_its_own(asked):
    async with asked.managed(SETTINGS):
        await asked.client.create(Deployment.resource, deployment(cpu="3"))
        await advance(10)
        made, found = await workloads(asked), await pods(asked)
        status = (await asked.client.get(Deployment.resource, "d", NAMESPACE))["status"]

    assert sorted(each["metadata"]["ownerReferences"][0]["name"] for each in made) == sorted(found)
    assert sorted(is_gated(raw) for raw in found.values()) == [False, True]
    assert {raw["metadata"]["annotations"][PARENT] for raw in found.values()} == {"deployment"}
    assert {raw["metadata"].get("finalizers") for raw in found.values()} == {None}
    assert status["readyReplicas"] == 1


async def test_what_a_deployment_no_longer_needs_gives_its_quota_back(asked):
    async with asked.managed(SETTINGS):
        await asked.client.create(Deployment.resource, deployment())
        await advance(10)
        before = len(await workloads(asked))
        await change(asked, spec={"replicas": 1})
        await advance(30)

    assert before == 2
    assert len(await workloads(asked)) == len(await pods(asked)) == 1


async def test_the_priority_class_goes_on_to_the_pods(asked):
    labels = {"kueue.x-k8s.io/priority-class": "high"}
    await asked.client.create(Deployment.resource, deployment(labels=labels))
    made = await asked.client.get(Deployment.resource, "d", NAMESPACE)

    assert made["spec"]["template"]["metadata"]["labels"] == {
        "app": "d",
        "kueue.x-k8s.io/managed": "true",
        kueue.QUEUE_LABEL: "q",
        **labels,
    }


async def test_a_deployment_without_a_queue_runs(asked):
    async with asked.managed(SETTINGS):
        await asked.client.create(Deployment.resource, deployment(queue=""))
        await advance(10)

    assert {raw["status"]["phase"] for raw in (await pods(asked)).values()} == {"Running"}
    assert await workloads(asked) == []


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        pytest.param({kueue.QUEUE_LABEL: "other"}, '"other": field is immutable', id="another queue"),
        pytest.param({kueue.QUEUE_LABEL: None}, '"": field is immutable', id="no queue any more"),
        pytest.param(
            {"kueue.x-k8s.io/priority-class": "high"},
            '"high": WorkloadPriorityClass cannot be added to a non-suspended workload',
            id="a priority class while it runs",
        ),
    ],
)
async def test_what_may_not_change_while_pods_are_ready(asked, labels, says):
    async with asked.managed(SETTINGS):
        await asked.client.create(Deployment.resource, deployment())
        await advance(10)
        with pytest.raises(errors.Forbidden) as refused:
            await change(asked, metadata={"labels": labels})

    assert says in str(refused.value)


async def test_new_pods_of_a_deployment_that_waits_may_go_to_another_queue(asked):
    async with asked.managed(SETTINGS):
        await asked.client.create(Deployment.resource, deployment(cpu="9"))
        await advance(5)
        await change(asked, metadata={"labels": {kueue.QUEUE_LABEL: "other"}})
        await advance(20)

    assert "other" in {each["spec"]["queueName"] for each in await workloads(asked)}


async def test_where_only_deployments_are_named_other_pods_are_not_admitted(world):
    settings = KueueSettings(frameworks=("batch/job", "deployment"))
    ask(world, settings)
    async with world.managed(settings):
        await world.client.create(Deployment.resource, deployment(1))
        await world.add(pod_manifest())
        await advance(10)
        found = await pods(world)
        await world.delete("Pod", "p", NAMESPACE)

    assert is_gated(found.pop("p"))
    assert [raw["status"]["phase"] for raw in found.values()] == ["Running"]
    assert "p" not in await pods(world)
