"""Pods that nobody else can remove."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.embedded.kubernetes.jobs import JobController
from fleetqueue.embedded.kubernetes.pod_garbage import PodGarbageController
from fleetqueue.embedded.kubernetes.pods import MOST_WAITING
from fleetqueue.embedded.kubernetes.settings import KubernetesSettings
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

HOLD = ["example.com/hold"]


def keeping(ended=12500):
    return {"PodGarbageController": {"settings": KubernetesSettings(ended_pods=ended)}}


async def add_pod(env, name="pod", node="", **more):
    spec = {"containers": [{"name": "main", "image": "x"}], **({"nodeName": node} if node else {})}
    await env.add(core.Pod, name, spec=spec, **more)


async def test_the_pods_of_a_node_that_is_gone_fail_and_go_after_a_while(env):
    await env.add(core.Node, "node")
    await add_pod(env, node="node", finalizers=HOLD)
    await add_pod(env, "free", node="node")
    async with env.running(PodGarbageController, **keeping()):
        await env.delete(core.Node, "node")
        await advance(39)
        before = await env.names(core.Pod)
        await advance(2)

        assert before == ["free", "pod"]
        assert await env.names(core.Pod) == ["pod"]
        found = await env.get(core.Pod, "pod")
        assert found["status"]["phase"] == "Failed"
        (condition,) = found["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "DeletionByPodGC")
        assert condition["message"] == "PodGC: node no longer exists"


async def test_a_node_that_comes_back_in_time_keeps_its_pods(env):
    await add_pod(env, node="late")
    async with env.running(PodGarbageController, **keeping()):
        await advance(30)
        await env.add(core.Node, "late")
        await advance(3600)

        assert (await env.names(core.Pod), env.writes) == (["pod"], [])


async def test_a_node_that_goes_a_second_time_is_waited_for_again(env):
    await add_pod(env, node="late")
    async with env.running(PodGarbageController, **keeping()):
        await advance(30)
        await env.add(core.Node, "late")
        await advance(3600)
        await env.delete(core.Node, "late")
        await advance(30)

        assert await env.names(core.Pod) == ["pod"]


async def test_a_pod_without_a_node_that_is_deleted_fails(env):
    await add_pod(env, finalizers=HOLD)
    async with env.running(PodGarbageController, **keeping()):
        await env.delete(core.Pod, "pod")
        await settle()

        assert (await env.get(core.Pod, "pod"))["status"]["phase"] == "Failed"
        env.writes.clear()
        await advance(3600)
        assert env.writes == []


async def test_the_oldest_ended_pods_beyond_a_number_go(env):
    async with env.running(PodGarbageController, **keeping(ended=2)):
        for name in "abcd":
            await add_pod(env, name, node="")
            await advance(1)
        for name in "dcb":
            await env.end_pod(name)
            await settle()

        assert await env.names(core.Pod) == ["a", "c", "d"]


async def test_a_huge_job_whose_pods_end_never_has_more_objects_than_its_bounds(env):
    kept, turns, ending = 20, 4, 60
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    await env.add(Job, "job", spec={"template": pods, "parallelism": 1_000_000, "completions": 1_000_000})
    async with env.running(JobController, PodGarbageController, **keeping(ended=kept)):
        counts = []
        for _ in range(turns):
            waiting = [pod for pod in await env.pods() if pod["status"]["phase"] == "Pending"]
            for pod in waiting[:ending]:
                await env.end_pod(pod["metadata"]["name"])
            await advance(60)
            counts.append((len(await env.pods()), len(await env.list(Event))))

        assert counts == [(MOST_WAITING + kept, counts[0][1])] * turns
        assert (await env.get(Job, "job"))["status"]["succeeded"] == turns * ending


async def test_a_terminating_pod_of_a_node_out_of_service_is_removed(env):
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    await env.add(core.Node, "node")
    await add_pod(env, node="node")
    async with env.running(PodGarbageController, **keeping()):
        await env.delete(core.Pod, "pod")
        await advance(60)
        before = await env.names(core.Pod)
        await env.change(core.Node, "node", spec={"taints": [taint]})
        await settle()

        assert (before, await env.names(core.Pod)) == (["pod"], [])


async def test_a_write_that_fails_is_made_later(env):
    await add_pod(env, node="gone")
    env.fail_once("DELETE")
    async with env.running(PodGarbageController, **keeping()):
        await advance(45)

        assert await env.names(core.Pod) == []
