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
async def installed(env):
    """A hub whose Kueue runs as a pod and leaves nominations to us; one cluster is selected."""
    env.fleet("c1")
    env.queue("c1", gpus=8)
    env.placement("gpu", "c1")
    env.check("ac", "gpu")
    env.api.add(kueue_deployment())
    await advance(10)
    env.api.add(kueue_pod())


@pytest.mark.usefixtures("installed")
async def test_a_dispatcher_reverted_without_a_restart_still_gets_its_nominations(env):
    async with env.beating():
        await env.connected()
        assert env.says("Dispatching") is None
        await advance(60)
        env.dispatcher(kueue.ALL_AT_ONCE)
        await settle()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c1"]
        condition = env.says("Dispatching")
        assert (condition.status, condition.reason) == ("True", "KueueRestartNeeded")
        assert (
            "multiKueue.dispatcherName is not in force yet; fleetqueue goes on nominating until then"
            in condition.message
        )
        assert "kubectl -n kueue-system rollout restart deployment kueue-controller-manager" in condition.message
        assert env.events("KueueRestartNeeded") == [condition.message]


async def test_without_a_deployment_a_reverted_dispatcher_goes_on_in_doubt(env):
    env.fleet("c1")
    env.queue("c1", gpus=8)
    env.placement("gpu", "c1")
    env.check("ac", "gpu")

    async with env.beating():
        await env.connected()
        env.dispatcher(kueue.ALL_AT_ONCE)
        await settle()
        env.workload()
        await settle()

        condition = env.says("Dispatching")
        assert env.nominated() == ["gpu-c1"]
        assert (condition.status, condition.reason) == ("True", "KueueRestartNeeded")
        assert "nobody can see here whether Kueue was restarted since" in condition.message


@pytest.mark.usefixtures("installed")
async def test_after_the_restart_kueue_dispatches_by_itself(env):
    async with env.beating():
        await env.connected()
        await advance(60)
        env.dispatcher(kueue.ALL_AT_ONCE)
        await advance(60)
        env.api.add(kueue_pod("kueue-controller-manager-2"))
        await settle()
        both = env.says("Dispatching").reason
        env.api.remove(KueuePod, "kueue-controller-manager-1", KUEUE)
        await settle()
        env.workload()
        await settle()

        assert both == "KueueRestartNeeded"
        assert env.says("Dispatching").reason == "OtherDispatcher"
        assert env.nominated() == []


@pytest.mark.usefixtures("installed")
async def test_a_dispatcher_set_without_a_restart_is_said_and_nobody_is_nominated(env):
    env.dispatcher(kueue.ALL_AT_ONCE)
    await advance(10)
    env.api.remove(KueuePod, "kueue-controller-manager-1", KUEUE)
    env.api.add(kueue_pod("kueue-controller-manager-2"))

    async with env.beating():
        await env.connected()
        await advance(60)
        env.dispatcher(DISPATCHER_NAME)
        await settle()
        env.workload()
        await settle()

        condition = env.says("Dispatching")
        assert (condition.status, condition.reason) == ("False", "KueueRestartNeeded")
        assert "fleetqueue does not dispatch before that" in condition.message
        assert env.nominated() == []


@pytest.mark.usefixtures("installed")
async def test_who_begins_after_the_change_nominates_in_doubt(env):
    await advance(60)
    env.dispatcher(kueue.ALL_AT_ONCE)
    await advance(60)

    async with env.beating():
        await env.connected()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c1"]
        assert "what it runs with is not known; fleetqueue goes on" in env.says("Dispatching").message


@pytest.mark.usefixtures("installed")
async def test_in_doubt_nothing_is_taken_back(env):
    """Kueue's own dispatchers would nominate the draining cluster again at once, and so for ever."""
    await advance(60)
    env.dispatcher(kueue.ALL_AT_ONCE)
    await advance(60)

    async with env.beating():
        await env.connected()
        env.workload(nominated=["gpu-c1"])
        env.copy("c1")
        env.select()
        await advance(60)

        assert env.lists() == ["gpu-c1"]
        assert env.state() == "Ready"


@pytest.mark.usefixtures("installed")
async def test_a_change_that_matters_to_nobody_here_says_nothing(env):
    async with env.beating():
        await env.connected()
        await advance(60)
        env.api.writes.clear()
        env.dispatcher(f"{DISPATCHER_NAME}, gcInterval: 5m")
        await settle()

        assert env.says("Dispatching") is None
        assert env.writes == []


@pytest.mark.usefixtures("installed")
async def test_copies_with_the_old_origin_still_hold_a_cluster(env):
    async with env.beating():
        await env.connected()
        env.copy("c1")
        await advance(60)
        env.dispatcher(f"{DISPATCHER_NAME}, origin: another")
        await settle()
        env.select()
        await advance(60)

        assert env.lists() == ["gpu-c1"]
