"""Pods run on our nodes for as long as they ask, and stop when they are deleted."""

from datetime import timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.embedded.nodes.settings import NodeSettings
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

RUN_FOR = "fleetqueue.dev/run-for"


async def test_a_pod_runs_as_a_kubelet_says_it(env):
    async with env.running(env.kubelet()):
        await env.pod(node="node")

        status = (await env.get(Pod, "pod"))["status"]
        assert status["phase"] == "Running"
        assert status["startTime"] == "2026-01-01T00:00:00Z"
        assert (status["hostIP"], status["podIP"]) == ("172.18.0.1", "10.244.1.2")
        assert {one["type"]: one["status"] for one in status["conditions"]} == {
            "PodReadyToStartContainers": "True",
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
        }
        (container,) = status["containerStatuses"]
        assert container["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        assert container["ready"] is True


async def test_a_pod_on_another_node_is_left_alone(env):
    async with env.running(env.kubelet()):
        await env.pod(node="elsewhere")
        await env.pod("unplaced")

        assert env.writes == []


async def test_a_pod_of_a_job_ends_after_the_time_that_it_asks_for(env):
    async with env.running(env.kubelet()):
        await env.pod(node="node", owner="Job", annotations={RUN_FOR: "90s"})
        await advance(89)
        assert await env.phase() == "Running"
        await advance(2)

        status = (await env.get(Pod, "pod"))["status"]
        assert status["phase"] == "Succeeded"
        end = status["containerStatuses"][0]["state"]["terminated"]
        assert end == {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": "2026-01-01T00:00:00Z",
            "finishedAt": "2026-01-01T00:01:30Z",
        }
        ready = await env.condition("Ready")
        assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


async def test_a_pod_fails_that_is_asked_to(env):
    async with env.running(env.kubelet()):
        await env.pod(node="node", owner="Job", annotations={"fleetqueue.dev/fails": "true"})
        await advance(3)

        assert await env.phase() == "Failed"
        status = (await env.get(Pod, "pod"))["status"]
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


async def test_the_containers_of_a_training_job_begin_again_where_its_policy_says_so(env):
    fails = {RUN_FOR: "5s", "fleetqueue.dev/fails": "true"}
    async with env.running(env.kubelet()):
        await env.pod(node="node", owner="PyTorchJob", annotations=fails, restartPolicy="OnFailure")
        await advance(5.1)
        once = (await env.get(Pod, "pod"))["status"]["containerStatuses"][0]
        await advance(14)
        waits = (await env.get(Pod, "pod"))["status"]["containerStatuses"][0]
        await advance(2)
        twice = (await env.get(Pod, "pod"))["status"]["containerStatuses"][0]

        assert await env.phase() == "Running"
        assert [status["restartCount"] for status in (once, waits, twice)] == [1, 1, 2]
        assert once["state"] == {"running": {"startedAt": "2026-01-01T00:00:05Z"}}
        assert twice["lastState"]["terminated"] == {
            "exitCode": 1,
            "reason": "Error",
            "startedAt": "2026-01-01T00:00:05Z",
            "finishedAt": "2026-01-01T00:00:20Z",
        }


async def test_a_pod_of_a_training_job_that_does_not_begin_again_ends(env):
    async with env.running(env.kubelet()):
        await env.pod("good", node="node", owner="TFJob", annotations={RUN_FOR: "5s"}, restartPolicy="OnFailure")
        fails = {RUN_FOR: "5s", "fleetqueue.dev/fails": "true"}
        await env.pod("bad", node="node", owner="TFJob", annotations=fails, restartPolicy="Never")
        await advance(6)

        assert (await env.phase("good"), await env.phase("bad")) == ("Succeeded", "Failed")


SLEEPS = {"container": {"command": ["sleep", "15"]}}
FAILS = {"fleetqueue.dev/fails": "true"}


@pytest.mark.parametrize(
    ("pod", "phases"),
    [
        pytest.param({**SLEEPS, "restartPolicy": "Never"}, ("Running", "Succeeded"), id="its command ends"),
        pytest.param({**SLEEPS, "restartPolicy": "OnFailure"}, ("Running", "Succeeded"), id="a policy that lets it"),
        pytest.param(
            {**SLEEPS, "restartPolicy": "Never", "annotations": FAILS}, ("Running", "Failed"), id="it shall fail"
        ),
        pytest.param(
            {**SLEEPS, "restartPolicy": "OnFailure", "annotations": FAILS}, ("Running", "Running"), id="it begins again"
        ),
        pytest.param(
            {"annotations": {RUN_FOR: "15s"}, "restartPolicy": "Never"}, ("Running", "Succeeded"), id="an annotation"
        ),
        pytest.param(
            {**SLEEPS, "restartPolicy": "Never", "owner": "AppWrapper"}, ("Running", "Succeeded"), id="of a wrapper"
        ),
        pytest.param({"restartPolicy": "Never"}, ("Running", "Running"), id="it says no time"),
        pytest.param({**SLEEPS}, ("Running", "Running"), id="its policy is to run always"),
    ],
)
async def test_a_pod_of_no_job_ends_where_it_says_when_and_its_policy_lets_it(env, pod, phases):
    async with env.running(env.kubelet()):
        await env.pod(node="node", **pod)
        await advance(14)
        before = await env.phase()
        await advance(2)

        assert (before, await env.phase()) == phases


async def test_a_pod_of_no_job_runs_on_unless_it_asks_to_end(env):
    async with env.running(env.kubelet()):
        await env.pod("server", node="node")
        await env.pod("task", node="node", annotations={RUN_FOR: "1s"})
        await advance(3600)

        assert await env.phase("server") == "Running"
        assert await env.phase("task") == "Succeeded"


async def test_a_deleted_pod_stops_and_goes(env):
    async with env.running(env.kubelet()):
        await env.pod(node="node")
        await env.delete(Pod, "pod")

        assert await env.get(Pod, "pod") is None


async def test_a_deleted_pod_with_a_finalizer_says_that_it_failed_and_stays(env):
    async with env.running(env.kubelet()):
        await env.pod(node="node", finalizers=["test/hold"])
        await env.delete(Pod, "pod")

        found = await env.get(Pod, "pod")
        assert found["status"]["phase"] == "Failed"
        assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
        assert found["metadata"]["deletionGracePeriodSeconds"] == 0
        env.writes.clear()
        await advance(600)
        assert env.writes == []


async def test_the_general_way_takes_the_time_that_machines_take(env):
    async with env.running(env.kubelet(stages="general")):
        await env.pod(node="node")
        status = (await env.get(Pod, "pod"))["status"]
        assert (status["phase"], status["containerStatuses"][0]["state"]["waiting"]["reason"]) == (
            "Pending",
            "ContainerCreating",
        )
        await advance(5)
        assert await env.phase() == "Running"
        await env.delete(Pod, "pod")
        assert await env.phase() == "Running"
        await advance(5.1)

        assert await env.get(Pod, "pod") is None


async def test_no_pod_takes_longer_to_stop_than_its_grace(env):
    async with env.running(env.kubelet(stages="general")):
        await env.pod(node="node", terminationGracePeriodSeconds=0)
        await advance(5)
        await env.delete(Pod, "pod")

        assert await env.get(Pod, "pod") is None


async def conditions(env):
    return (await env.get(Pod, "pod"))["status"]["conditions"]


async def test_conditions_of_others_stay(env):
    async with env.running(env.kubelet()):
        await env.pod(node="node", annotations={RUN_FOR: "5s"})
        found = await conditions(env)
        other = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await env.set_status(Pod, "pod", conditions=[*found, other])
        await advance(6)

        assert (await env.condition("DisruptionTarget"))["status"] == "True"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(60, "True", id="its node was heard of afterwards"),
        pytest.param(-60, "False", id="somebody else says so of a pod whose node is well"),
    ],
)
async def test_a_pod_that_was_marked_while_its_node_was_silent_is_ready_again(env, seconds, expected):
    await env.node()
    async with env.running(env.kubelet()):
        await env.pod(node="node")
        unready = {"type": "Ready", "status": "False", "lastTransitionTime": timestamp(clock.now())}
        others = [one for one in await conditions(env) if one["type"] != "Ready"]
        await env.set_status(Pod, "pod", conditions=[*others, unready])

        heard = timestamp(clock.now() + timedelta(seconds=seconds))
        await env.set_status(
            Node, "node", conditions=[{"type": "Ready", "status": "True", "lastTransitionTime": heard}]
        )

        assert (await env.condition("Ready"))["status"] == expected


async def test_addresses_are_given_once_and_again_when_they_are_free(env):
    nodes = (NodeSettings("a", number=1), NodeSettings("b", number=2))
    async with env.running(env.kubelet(*nodes)):
        for name, node in (("p1", "a"), ("p2", "a"), ("p3", "b")):
            await env.pod(name, node=node)
        assert [await ip(env, name) for name in ("p1", "p2", "p3")] == ["10.244.1.2", "10.244.1.3", "10.244.2.2"]
        await env.delete(Pod, "p1")
        await env.pod("p4", node="a")

        assert await ip(env, "p4") == "10.244.1.2"


async def test_a_restart_changes_nothing(env):
    await env.pod(node="node", owner="Job", annotations={RUN_FOR: "60s"})
    async with env.running(env.kubelet()):
        await advance(30)
    env.__init__(env.door.server)
    async with env.running(env.kubelet()):
        env.writes.clear()
        await advance(29)
        assert env.writes == []
        await advance(2)

        assert await env.phase() == "Succeeded"


async def test_a_write_that_fails_is_tried_again(env):
    async with env.running(env.kubelet()):
        env.fail_once("/pods/pod/status")
        await env.pod(node="node")
        await advance(1)

        assert await env.phase() == "Running"


async def test_a_second_look_writes_nothing(env):
    kubelet = env.kubelet()
    async with env.running(kubelet):
        await env.pod(node="node")
        env.writes.clear()
        kubelet.wake("default/pod")
        await settle()

        assert env.writes == []


async def ip(env, name):
    return (await env.get(Pod, name))["status"]["podIP"]
