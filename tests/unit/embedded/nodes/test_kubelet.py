"""Pods run on our nodes for as long as they ask, and stop when they are deleted."""

import pytest

from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.nodes.settings import NodeSettings
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

RUN_FOR = "fleetqueue.dev/run-for"


async def test_a_pod_runs_as_a_kubelet_says_it(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod(node="node")

        status = (await scene.get(Pod, "pod"))["status"]
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


async def test_a_pod_on_another_node_is_left_alone(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod(node="elsewhere")
        await scene.pod("unplaced")

        assert scene.writes == []


async def test_a_pod_of_a_job_ends_after_the_time_that_it_asks_for(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod(node="node", owner="Job", annotations={RUN_FOR: "90s"})
        await advance(89)
        assert await scene.phase() == "Running"
        await advance(2)

        status = (await scene.get(Pod, "pod"))["status"]
        assert status["phase"] == "Succeeded"
        end = status["containerStatuses"][0]["state"]["terminated"]
        assert end == {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": "2026-01-01T00:00:00Z",
            "finishedAt": "2026-01-01T00:01:30Z",
        }
        ready = await scene.condition("Ready")
        assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


async def test_a_pod_fails_that_is_asked_to(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod(node="node", owner="Job", annotations={"fleetqueue.dev/fails": "true"})
        await advance(3)

        assert await scene.phase() == "Failed"
        status = (await scene.get(Pod, "pod"))["status"]
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


async def test_a_pod_of_no_job_runs_on_unless_it_asks_to_end(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod("server", node="node")
        await scene.pod("task", node="node", annotations={RUN_FOR: "1s"})
        await advance(3600)

        assert await scene.phase("server") == "Running"
        assert await scene.phase("task") == "Succeeded"


async def test_a_deleted_pod_stops_and_goes(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod(node="node")
        await scene.delete(Pod, "pod")

        assert await scene.get(Pod, "pod") is None


async def test_a_deleted_pod_with_a_finalizer_says_that_it_failed_and_stays(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod(node="node", finalizers=["test/hold"])
        await scene.delete(Pod, "pod")

        found = await scene.get(Pod, "pod")
        assert found["status"]["phase"] == "Failed"
        assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
        assert found["metadata"]["deletionGracePeriodSeconds"] == 0
        scene.writes.clear()
        await advance(600)
        assert scene.writes == []


async def test_the_general_way_takes_the_time_that_machines_take(scene):
    async with scene.running(scene.kubelet(stages="general")):
        await scene.pod(node="node")
        status = (await scene.get(Pod, "pod"))["status"]
        assert (status["phase"], status["containerStatuses"][0]["state"]["waiting"]["reason"]) == (
            "Pending",
            "ContainerCreating",
        )
        await advance(5)
        assert await scene.phase() == "Running"
        await scene.delete(Pod, "pod")
        assert await scene.phase() == "Running"
        await advance(5.1)

        assert await scene.get(Pod, "pod") is None


async def test_no_pod_takes_longer_to_stop_than_its_grace(scene):
    async with scene.running(scene.kubelet(stages="general")):
        await scene.pod(node="node", terminationGracePeriodSeconds=0)
        await advance(5)
        await scene.delete(Pod, "pod")

        assert await scene.get(Pod, "pod") is None


async def test_conditions_of_others_stay(scene):
    async with scene.running(scene.kubelet()):
        await scene.pod(node="node", annotations={RUN_FOR: "5s"})
        found = (await scene.get(Pod, "pod"))["status"]["conditions"]
        other = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await scene.set_status(Pod, "pod", conditions=[*found, other])
        await advance(6)

        assert (await scene.condition("DisruptionTarget"))["status"] == "True"


async def test_addresses_are_given_once_and_again_when_they_are_free(scene):
    nodes = (NodeSettings("a", number=1), NodeSettings("b", number=2))
    async with scene.running(scene.kubelet(*nodes)):
        for name, node in (("p1", "a"), ("p2", "a"), ("p3", "b")):
            await scene.pod(name, node=node)
        assert [await ip(scene, name) for name in ("p1", "p2", "p3")] == ["10.244.1.2", "10.244.1.3", "10.244.2.2"]
        await scene.delete(Pod, "p1")
        await scene.pod("p4", node="a")

        assert await ip(scene, "p4") == "10.244.1.2"


async def test_a_restart_changes_nothing(scene):
    await scene.pod(node="node", owner="Job", annotations={RUN_FOR: "60s"})
    async with scene.running(scene.kubelet()):
        await advance(30)
    scene.__init__(scene.door.server)
    async with scene.running(scene.kubelet()):
        scene.writes.clear()
        await advance(29)
        assert scene.writes == []
        await advance(2)

        assert await scene.phase() == "Succeeded"


async def test_a_write_that_fails_is_tried_again(scene):
    async with scene.running(scene.kubelet()):
        scene.fail_once("/pods/pod/status")
        await scene.pod(node="node")
        await advance(1)

        assert await scene.phase() == "Running"


async def test_a_second_look_writes_nothing(scene):
    kubelet = scene.kubelet()
    async with scene.running(kubelet):
        await scene.pod(node="node")
        scene.writes.clear()
        kubelet.wake("default/pod")
        await settle()

        assert scene.writes == []


async def ip(scene, name):
    return (await scene.get(Pod, name))["status"]["podIP"]
