"""Our checks become Ready with the nomination, in one write: each write makes Kueue ask every listed worker."""

import pytest

from fleetqueue.testing.virtual_time import settle

NOMINATION = "apply workloads/team-a/job/status"
WAITING = {"mk": "Pending", "ac": "Pending"}


@pytest.fixture
async def two_clusters(scene):
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c1", "c2")
    scene.check()


def of_workload(writes):
    return [write for write in writes if "workloads/" in write]


@pytest.mark.usefixtures("two_clusters")
async def test_ready_and_nomination_are_one_write(scene):
    async with scene.beating():
        await scene.connected()
        scene.workload(checks=WAITING)
        await settle()

        assert of_workload(scene.writes) == [NOMINATION]
        assert (scene.state(), scene.nominated()) == ("Ready", ["gpu-c1"])


@pytest.mark.usefixtures("two_clusters")
async def test_several_checks_of_ours_become_ready_at_once(scene):
    scene.placement("cpu", "c1")
    scene.check("ac-cpu", "cpu")

    async with scene.beating():
        await scene.connected()
        scene.workload(checks={"ac-cpu": "Pending", **WAITING})
        await settle()

        assert of_workload(scene.writes) == [NOMINATION]
        assert (scene.state("ac-cpu"), scene.state()) == ("Ready", "Ready")


@pytest.mark.usefixtures("two_clusters")
async def test_a_check_of_somebody_else_is_waited_for_and_does_not_wait_for_ours(scene):
    """Its controller may say Ready last, as MultiKueue does: two that wait for each other would hang the job."""
    async with scene.beating():
        await scene.connected()
        scene.workload(checks={"provisioning": "Pending", **WAITING})
        await settle()
        assert (scene.state(), scene.nominated()) == ("Ready", [])

        scene.change_workload(checks={"provisioning": "Ready", "mk": "Pending", "ac": "Ready"})
        await settle()

        assert scene.nominated() == ["gpu-c1"]
        assert (scene.state(), scene.state("provisioning")) == ("Ready", "Ready")


@pytest.mark.usefixtures("two_clusters")
async def test_nothing_is_nominated_before_a_cluster_is_connected(scene):
    async with scene.beating():
        await settle()
        scene.workload(checks=WAITING)
        await settle()
        assert (scene.state(), scene.nominated()) == ("Pending", [])

        await scene.connected()
        await settle()

        assert (scene.state(), scene.nominated()) == ("Ready", ["gpu-c1"])


@pytest.mark.usefixtures("two_clusters")
async def test_a_workload_without_a_config_to_be_sent_by_is_answered_alone(scene):
    async with scene.beating():
        await scene.connected()
        scene.multikueue_check("mk-other", "nowhere")
        scene.workload(checks={"mk-other": "Pending", "ac": "Pending"})
        await settle()

        assert (scene.state(), scene.nominated()) == ("Ready", [])
