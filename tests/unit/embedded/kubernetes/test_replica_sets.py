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


async def names(env):
    return [pod["metadata"]["name"] for pod in await env.pods()]


async def status(env):
    return (await env.get(ReplicaSet, "web"))["status"]


async def make(env, **spec):
    await env.add(ReplicaSet, "web", spec={**SPEC, **spec})
    await settle()


async def test_it_makes_its_pods_and_counts_them(env):
    async with env.running(ReplicaSetController):
        await make(env, replicas=2)
        first, _ = await names(env)
        await env.run_pod(first)
        await settle()

        assert await status(env) == {
            "replicas": 2,
            "fullyLabeledReplicas": 2,
            "readyReplicas": 1,
            "availableReplicas": 1,
            "terminatingReplicas": 0,
            "observedGeneration": 1,
        }
        (pod, _) = await env.pods()
        assert pod["metadata"]["labels"] == {"app": "web"}
        assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        assert sorted(await env.events("SuccessfulCreate")) == [f"Created pod: {name}" for name in await names(env)]


async def test_it_replaces_a_pod_that_ends_or_goes(env):
    async with env.running(ReplicaSetController):
        await make(env, replicas=2)
        first, second = await names(env)
        await env.end_pod(first, "Failed")
        await env.delete(Pod, second)
        await settle()

        alive = [pod for pod in await env.pods() if pod.get("status", {}).get("phase") != "Failed"]
        assert len(alive) == 2
        assert second not in await names(env)


async def test_it_shrinks_by_the_pod_that_costs_least(env):
    async with env.running(ReplicaSetController):
        await make(env, replicas=3)
        kept = (await names(env))[1]
        await env.run_pod(kept)
        await settle()
        await env.change(ReplicaSet, "web", spec={"replicas": 1})
        await settle()

        assert await names(env) == [kept]
        assert (await status(env))["observedGeneration"] == 2


async def test_a_pod_is_available_after_it_was_ready_for_a_while(env):
    async with env.running(ReplicaSetController):
        await make(env, replicas=1, minReadySeconds=30)
        await env.run_pod((await names(env))[0])
        await settle()
        assert "availableReplicas" not in await status(env)
        await advance(31)

        assert (await status(env))["availableReplicas"] == 1


async def test_a_second_look_writes_nothing(env):
    async with env.running(ReplicaSetController) as (controller,):
        await make(env, replicas=2)
        env.writes.clear()
        controller.wake("default/web")
        await settle()

        assert env.writes == []


async def test_pods_that_are_refused_are_said_and_tried_again(env):
    async with env.running(ReplicaSetController):
        env.refuse("POST /api/v1/namespaces/default/pods")
        await make(env, replicas=2)
        (condition,) = (await status(env))["conditions"]
        assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
        env.refuse("")
        await advance(5)

        assert len(await names(env)) == 2
        assert "conditions" not in await status(env)
