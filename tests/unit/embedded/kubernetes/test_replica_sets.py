"""A ReplicaSet keeps as many pods as it asks for."""

import pytest

from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.replica_sets import ReplicaSet, ReplicaSetController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}
SPEC = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


async def names(scene):
    return [pod["metadata"]["name"] for pod in await scene.pods()]


async def status(scene):
    return (await scene.get(ReplicaSet, "web"))["status"]


async def make(scene, **spec):
    await scene.add(ReplicaSet, "web", spec={**SPEC, **spec})
    await settle()


async def test_it_makes_its_pods_and_counts_them(scene):
    async with scene.running(ReplicaSetController):
        await make(scene, replicas=2)
        first, _ = await names(scene)
        await scene.run_pod(first)
        await settle()

        assert await status(scene) == {
            "replicas": 2,
            "fullyLabeledReplicas": 2,
            "readyReplicas": 1,
            "availableReplicas": 1,
            "terminatingReplicas": 0,
            "observedGeneration": 1,
        }
        (pod, _) = await scene.pods()
        assert pod["metadata"]["labels"] == {"app": "web"}
        assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        assert sorted(await scene.events("SuccessfulCreate")) == [f"Created pod: {name}" for name in await names(scene)]


async def test_it_replaces_a_pod_that_ends_or_goes(scene):
    async with scene.running(ReplicaSetController):
        await make(scene, replicas=2)
        first, second = await names(scene)
        await scene.end_pod(first, "Failed")
        await scene.delete(Pod, second)
        await settle()

        alive = [pod for pod in await scene.pods() if pod.get("status", {}).get("phase") != "Failed"]
        assert len(alive) == 2
        assert second not in await names(scene)


async def test_it_shrinks_by_the_pod_that_costs_least(scene):
    async with scene.running(ReplicaSetController):
        await make(scene, replicas=3)
        kept = (await names(scene))[1]
        await scene.run_pod(kept)
        await settle()
        await scene.change(ReplicaSet, "web", spec={"replicas": 1})
        await settle()

        assert await names(scene) == [kept]
        assert (await status(scene))["observedGeneration"] == 2


async def test_a_pod_is_available_after_it_was_ready_for_a_while(scene):
    async with scene.running(ReplicaSetController):
        await make(scene, replicas=1, minReadySeconds=30)
        await scene.run_pod((await names(scene))[0])
        await settle()
        assert "availableReplicas" not in await status(scene)
        await advance(31)

        assert (await status(scene))["availableReplicas"] == 1


async def test_a_second_look_writes_nothing(scene):
    async with scene.running(ReplicaSetController) as (controller,):
        await make(scene, replicas=2)
        scene.writes.clear()
        controller.wake("default/web")
        await settle()

        assert scene.writes == []


async def test_pods_that_are_refused_are_said_and_tried_again(scene):
    async with scene.running(ReplicaSetController):
        scene.refuse("POST /api/v1/namespaces/default/pods")
        await make(scene, replicas=2)
        (condition,) = (await status(scene))["conditions"]
        assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
        scene.refuse("")
        await advance(5)

        assert len(await names(scene)) == 2
        assert "conditions" not in await status(scene)
