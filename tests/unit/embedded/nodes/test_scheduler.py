"""Pods get nodes: the least loaded that fits; and a reason where none does."""

import pytest

from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.embedded.nodes.fitting import needs_of
from fleetqueue.embedded.nodes.scheduler import NodeUsage
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

GPU = "nvidia.com/gpu"


async def test_a_pod_gets_a_node(env):
    await env.node()

    async with env.running(env.scheduler()):
        await env.pod()

        assert await env.where() == "node"
        assert (await env.condition("PodScheduled"))["status"] == "True"
        assert await env.events("Scheduled") == ["Successfully assigned default/pod to node"]


async def test_the_least_loaded_is_taken_and_then_the_first_by_name(env):
    for name in ("b", "a"):
        await env.node(name)

    async with env.running(env.scheduler()):
        for number in range(4):
            await env.pod(f"pod{number}", requests={"cpu": "1"})

        assert [await env.where(f"pod{number}") for number in range(4)] == ["a", "b", "a", "b"]


async def test_many_pods_at_once_do_not_chase_one_gpu(env):
    await env.node("a", **{GPU: "1"})
    await env.node("b", **{GPU: "1"})
    for number in range(3):
        await env.pod(f"pod{number}", requests={GPU: "1"})

    async with env.running(env.scheduler()):
        assert sorted([str(await env.where(f"pod{number}")) for number in range(3)]) == ["None", "a", "b"]


async def test_a_pod_that_fits_nowhere_says_why(env):
    await env.node("a")
    await env.node("b", taints=[{"key": "k", "effect": "NoSchedule"}])

    async with env.running(env.scheduler()):
        await env.pod(requests={GPU: "1"})

        why = (
            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s). no new claims "
            "to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
        )
        condition = await env.condition("PodScheduled")
        assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", why)
        assert await env.events("FailedScheduling") == [why]
        assert await env.phase() == "Pending"


async def test_a_waiting_pod_is_placed_when_a_node_changes(env):
    await env.node()

    async with env.running(env.scheduler()):
        await env.pod(requests={GPU: "1"})
        await env.set_status(Node, "node", allocatable={GPU: "3"})

        assert await env.where() == "node"
        assert (await env.condition("PodScheduled"))["status"] == "True"


@pytest.mark.parametrize("how", ["ends", "goes"])
async def test_a_waiting_pod_is_placed_when_another_is_over(env, how):
    await env.node()

    async with env.running(env.scheduler()):
        await env.pod("first", requests={"cpu": "4"})
        await env.pod("second", requests={"cpu": "4"})
        assert await env.where("second") is None
        if how == "ends":
            await env.set_status(Pod, "first", phase="Succeeded")
        else:
            await env.set_status(Pod, "first", phase="Failed")
            await env.delete(Pod, "first")

        assert await env.where("second") == "node"


async def test_the_more_important_pod_comes_first(env):
    await env.pod("small", requests={"cpu": "4"})
    await env.pod("great", requests={"cpu": "4"}, priority=10)
    await env.node()

    async with env.running(env.scheduler()):
        assert await env.where("great") == "node"
        assert await env.where("small") is None


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"schedulerName": "other"}, id="another scheduler's"),
        pytest.param({"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}, id="gated"),
    ],
)
async def test_pods_that_are_not_ours_to_place_are_left_alone(env, spec):
    await env.node()

    async with env.running(env.scheduler()):
        await env.pod(**spec)

        assert env.writes == []


async def test_a_second_look_writes_nothing(env):
    await env.node()
    scheduler = env.scheduler()

    async with env.running(scheduler):
        await env.pod("placed")
        await env.pod("waiting", requests={GPU: "1"})
        env.writes.clear()
        scheduler.wake("round")
        await settle()

        assert env.writes == []


async def test_a_binding_that_fails_gives_its_place_back_and_comes_again(env):
    await env.node()

    async with env.running(env.scheduler()):
        env.fail_once("/pods/pod")
        await env.pod(requests={"cpu": "4"})
        await advance(1)

        assert await env.where() == "node"


async def test_after_a_restart_what_runs_still_counts(env):
    await env.node()
    await env.pod("first", node="node", requests={"cpu": "3"})

    async with env.running(env.scheduler()):
        await env.pod("second", requests={"cpu": "2"})

        assert await env.where("second") is None


def a_pod(node="", cpu="1", phase="Pending", uid="u"):
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    spec = {"nodeName": node, "containers": [container]}
    return Pod.view({"metadata": {"name": "pod", "uid": uid}, "spec": spec, "status": {"phase": phase}})


@pytest.fixture
def usage():
    return NodeUsage()


def cpu(usage, node="n"):
    return usage.of(node).get("cpu", 0)


def test_a_bound_pod_takes_what_it_asks_for(usage):
    usage.change(None, a_pod("n"))

    assert (cpu(usage), usage.of("n")["pods"]) == (1, 1)


def test_one_that_waits_takes_nothing(usage):
    usage.change(None, a_pod())

    assert cpu(usage) == 0


@pytest.mark.parametrize("after", [None, a_pod("n", phase="Succeeded"), a_pod("n", phase="Failed")])
def test_what_has_ended_or_gone_gives_it_back(usage, after):
    usage.change(None, a_pod("n"))

    assert usage.change(a_pod("n"), after)
    assert cpu(usage) == 0


def test_an_assumed_pod_takes_its_place_until_the_cache_shows_it(usage):
    pod = a_pod()
    usage.assume(pod, "n", needs_of(pod))
    usage.change(pod, pod)
    assert usage.is_assumed(pod)
    assert cpu(usage) == 1
    usage.change(pod, a_pod("n"))

    assert not usage.is_assumed(pod)
    assert cpu(usage) == 1


def test_a_refused_binding_gives_it_back(usage):
    pod = a_pod()
    usage.assume(pod, "n", needs_of(pod))
    usage.forget(pod)

    assert cpu(usage) == 0


def test_another_pod_of_the_same_name_is_another_one(usage):
    usage.change(None, a_pod("n", uid="a"))
    usage.change(a_pod("n", uid="a"), a_pod("m", uid="b"))

    assert (cpu(usage, "n"), cpu(usage, "m")) == (0, 1)
