"""Our checks become Ready with the nomination, in one write: each write makes Kueue ask every listed worker."""

import pytest

from fleetqueue.testing.virtual_time import settle

NOMINATION = "apply workloads/team-a/job/status"
WAITING = {"mk": "Pending", "ac": "Pending"}


@pytest.fixture
async def two_clusters(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()


def of_workload(writes):
    return [write for write in writes if "workloads/" in write]


@pytest.mark.usefixtures("two_clusters")
async def test_ready_and_nomination_are_one_write(env):
    async with env.beating():
        await env.connected()
        env.workload(checks=WAITING)
        await settle()

        assert of_workload(env.writes) == [NOMINATION]
        assert (env.state(), env.nominated()) == ("Ready", ["gpu-c1"])


@pytest.mark.usefixtures("two_clusters")
async def test_several_checks_of_ours_become_ready_at_once(env):
    env.placement("cpu", "c1")
    env.check("ac-cpu", "cpu")

    async with env.beating():
        await env.connected()
        env.workload(checks={"ac-cpu": "Pending", **WAITING})
        await settle()

        assert of_workload(env.writes) == [NOMINATION]
        assert (env.state("ac-cpu"), env.state()) == ("Ready", "Ready")


@pytest.mark.usefixtures("two_clusters")
async def test_a_check_of_somebody_else_is_waited_for_and_does_not_wait_for_ours(env):
    """Its controller may say Ready last, as MultiKueue does: two that wait for each other would hang the job."""
    async with env.beating():
        await env.connected()
        env.workload(checks={"provisioning": "Pending", **WAITING})
        await settle()
        assert (env.state(), env.nominated()) == ("Ready", [])

        env.change_workload(checks={"provisioning": "Ready", "mk": "Pending", "ac": "Ready"})
        await settle()

        assert env.nominated() == ["gpu-c1"]
        assert (env.state(), env.state("provisioning")) == ("Ready", "Ready")


@pytest.mark.usefixtures("two_clusters")
async def test_nothing_is_nominated_before_a_cluster_is_connected(env):
    async with env.beating():
        await settle()
        env.workload(checks=WAITING)
        await settle()
        assert (env.state(), env.nominated()) == ("Pending", [])

        await env.connected()
        await settle()

        assert (env.state(), env.nominated()) == ("Ready", ["gpu-c1"])


@pytest.mark.usefixtures("two_clusters")
async def test_a_workload_without_a_config_to_be_sent_by_is_answered_alone(env):
    async with env.beating():
        await env.connected()
        env.multikueue_check("mk-other", "nowhere")
        env.workload(checks={"mk-other": "Pending", "ac": "Pending"})
        await settle()

        assert (env.state(), env.nominated()) == ("Ready", [])
