"""Kueue reads its configuration only when it starts: who changes the ConfigMap alone has changed nothing yet."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.api.kueue_installation import KueuePod
from fleetqueue.testing.builders import kueue_deployment, kueue_pod
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"

pytestmark = pytest.mark.embedded_only("a real server has a clock of its own, by which pods and changes are dated")


@pytest.fixture
async def installed(scene):
    """A hub whose Kueue runs as a pod and leaves nominations to us; one cluster is selected."""
    scene.fleet("c1")
    scene.queue("c1", gpus=8)
    scene.placement("gpu", "c1")
    scene.check("ac", "gpu")
    scene.api.add(kueue_deployment())
    await advance(10)
    scene.api.add(kueue_pod())


@pytest.mark.usefixtures("installed")
async def test_a_dispatcher_reverted_without_a_restart_still_gets_its_nominations(scene):
    async with scene.beating():
        await scene.connected()
        assert scene.says("Dispatching") is None
        await advance(60)
        scene.dispatcher(kueue.ALL_AT_ONCE)
        await settle()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c1"]
        said = scene.says("Dispatching")
        assert (said.status, said.reason) == ("True", "KueueRestartNeeded")
        assert "multiKueue.dispatcherName is not in force yet; fleetqueue goes on nominating until then" in said.message
        assert "kubectl -n kueue-system rollout restart deployment kueue-controller-manager" in said.message
        assert scene.events("KueueRestartNeeded") == [said.message]


async def test_without_a_deployment_a_reverted_dispatcher_goes_on_in_doubt(scene):
    scene.fleet("c1")
    scene.queue("c1", gpus=8)
    scene.placement("gpu", "c1")
    scene.check("ac", "gpu")

    async with scene.beating():
        await scene.connected()
        scene.dispatcher(kueue.ALL_AT_ONCE)
        await settle()
        scene.workload()
        await settle()

        said = scene.says("Dispatching")
        assert scene.nominated() == ["gpu-c1"]
        assert (said.status, said.reason) == ("True", "KueueRestartNeeded")
        assert "nobody can see here whether Kueue was restarted since" in said.message


@pytest.mark.usefixtures("installed")
async def test_after_the_restart_kueue_dispatches_by_itself(scene):
    async with scene.beating():
        await scene.connected()
        await advance(60)
        scene.dispatcher(kueue.ALL_AT_ONCE)
        await advance(60)
        scene.api.add(kueue_pod("kueue-controller-manager-2"))
        await settle()
        both = scene.says("Dispatching").reason
        scene.api.remove(KueuePod, "kueue-controller-manager-1", KUEUE)
        await settle()
        scene.workload()
        await settle()

        assert both == "KueueRestartNeeded"
        assert scene.says("Dispatching").reason == "OtherDispatcher"
        assert scene.nominated() == []


@pytest.mark.usefixtures("installed")
async def test_a_dispatcher_set_without_a_restart_is_said_and_nobody_is_nominated(scene):
    scene.dispatcher(kueue.ALL_AT_ONCE)
    await advance(10)
    scene.api.remove(KueuePod, "kueue-controller-manager-1", KUEUE)
    scene.api.add(kueue_pod("kueue-controller-manager-2"))

    async with scene.beating():
        await scene.connected()
        await advance(60)
        scene.dispatcher(DISPATCHER_NAME)
        await settle()
        scene.workload()
        await settle()

        said = scene.says("Dispatching")
        assert (said.status, said.reason) == ("False", "KueueRestartNeeded")
        assert "fleetqueue does not dispatch before that" in said.message
        assert scene.nominated() == []


@pytest.mark.usefixtures("installed")
async def test_who_begins_after_the_change_nominates_in_doubt(scene):
    await advance(60)
    scene.dispatcher(kueue.ALL_AT_ONCE)
    await advance(60)

    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c1"]
        assert "what it runs with is not known; fleetqueue goes on" in scene.says("Dispatching").message


@pytest.mark.usefixtures("installed")
async def test_in_doubt_nothing_is_taken_back(scene):
    """Kueue's own dispatchers would nominate the draining cluster again at once, and so for ever."""
    await advance(60)
    scene.dispatcher(kueue.ALL_AT_ONCE)
    await advance(60)

    async with scene.beating():
        await scene.connected()
        scene.workload(nominated=["gpu-c1"])
        scene.copy("c1")
        scene.select()
        await advance(60)

        assert scene.lists() == ["gpu-c1"]
        assert scene.state() == "Ready"


@pytest.mark.usefixtures("installed")
async def test_a_change_that_matters_to_nobody_here_says_nothing(scene):
    async with scene.beating():
        await scene.connected()
        await advance(60)
        scene.api.writes.clear()
        scene.dispatcher(f"{DISPATCHER_NAME}, gcInterval: 5m")
        await settle()

        assert scene.says("Dispatching") is None
        assert scene.writes == []


@pytest.mark.usefixtures("installed")
async def test_copies_with_the_old_origin_still_hold_a_cluster(scene):
    async with scene.beating():
        await scene.connected()
        scene.copy("c1")
        await advance(60)
        scene.dispatcher(f"{DISPATCHER_NAME}, origin: another")
        await settle()
        scene.select()
        await advance(60)

        assert scene.lists() == ["gpu-c1"]
