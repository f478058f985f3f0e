"""Credentials that nothing uses any more: removed from the hub and from the worker, and nothing else is."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster, PlacementDecision
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.kueue_v1beta2 import AdmissionCheck, MultiKueueCluster
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.client.kubeconfig import parse
from fleetqueue.runtime.cluster import OURS, Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

OF_OCM = "cluster.open-cluster-management.io/api-resource"
DROPPED = {"decisions": []}
SELECTED = {"decisions": [{"clusterName": "c1", "reason": ""}]}


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


async def test_dropped_cluster_loses_its_credentials_after_a_while(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        world.api.change(PlacementDecision, "gpu-1", "kueue-system", status=DROPPED)
        await advance(59)
        assert world.secret("c1") is not None
        await advance(2)

        assert world.secret("c1") is None
        assert worker.objects() == []
        assert not world.is_marked("c1")
        assert world.said()[-1] == "CredentialsRemoved"
        assert world.expiry("c1") is None


async def test_draining_cluster_keeps_its_credentials(world):
    world.add_cluster("c1")
    world.select("c1")
    world.member("gpu-c1", "c1")

    async with at_work(world):
        await settle()
        world.api.change(PlacementDecision, "gpu-1", "kueue-system", status=DROPPED)
        await advance(20 * 3600)
        assert world.token("c1") == "c1-token-2"
        world.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(61)

        assert world.secret("c1") is None


async def test_cluster_that_comes_back_in_time_keeps_its_token(world):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        world.api.change(PlacementDecision, "gpu-1", "kueue-system", status=DROPPED)
        await advance(50)
        world.api.change(PlacementDecision, "gpu-1", "kueue-system", status=SELECTED)
        await advance(50)
        world.api.change(PlacementDecision, "gpu-1", "kueue-system", status=DROPPED)
        await advance(50)

        assert world.token("c1") == "c1-token-1"


async def test_deleted_check_ends_the_need(world):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        world.api.remove(AdmissionCheck, "check")
        await advance(61)

        assert world.secret("c1") is None


@pytest.mark.checklist("D-2")
@pytest.mark.parametrize("finalizers", [[], [OF_OCM]], ids=["gone at once", "deleting for a while"])
async def test_a_deleted_cluster_keeps_them_until_its_drain_has_ended(world, finalizers):
    worker = world.add_cluster("c1")
    world.api.change(ManagedCluster, "c1", metadata={"finalizers": finalizers})
    world.select("c1")
    world.member("gpu-c1", "c1")

    async with at_work(world):
        await settle()
        world.api.remove(ManagedCluster, "c1")
        await advance(3600)
        assert world.token("c1") == "c1-token-1"
        await advance(20 * 3600)
        assert world.token("c1") == "c1-token-2"  # renewed in time
        world.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(61)

        assert world.secret("c1") is None
        assert worker.objects() == []


async def test_a_deleted_cluster_keeps_them_also_for_a_member_that_somebody_else_made(world):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        world.member("by-hand", "c1")
        world.api.remove(ManagedCluster, "c1")
        await advance(3600)

        assert world.token("c1") == "c1-token-1"


async def test_a_member_that_is_deleted_for_a_moment_does_not_cost_a_gone_cluster_its_credentials(world):
    """Who drains it makes the member anew."""
    world.add_cluster("c1")
    world.select("c1")
    world.member("gpu-c1", "c1")

    async with at_work(world):
        await settle()
        world.api.remove(ManagedCluster, "c1")
        await settle()
        world.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(5)
        world.member("gpu-c1", "c1")
        await advance(3600)

        assert world.token("c1") == "c1-token-1"


async def test_a_gone_cluster_is_reached_where_it_was_reached_last(world):
    worker = world.add_cluster("c1", url="https://c1.elsewhere:6443")
    world.select("c1")
    world.member("gpu-c1", "c1")

    async with at_work(world):
        await settle()
        world.api.remove(ManagedCluster, "c1")
        worker.tokens.clear()  # so that a new one is issued
        await advance(400)

        assert world.token("c1") == "c1-token-1"  # the worker issues them by their number
        assert parse(world.secret("c1").text("kubeconfig")).server == "https://c1.elsewhere:6443"


async def test_a_lost_secret_of_a_gone_cluster_is_written_anew_while_it_drains(world):
    world.add_cluster("c1")
    world.select("c1")
    world.member("gpu-c1", "c1")
    world.api.change(MultiKueueCluster, "gpu-c1", metadata={"labels": OURS})

    async with at_work(world):
        await settle()
        world.api.remove(ManagedCluster, "c1")
        await settle()
        world.api.remove(Secret, "kueue-admin-c1-kubeconfig", "kueue-system")
        await settle()

        assert world.token("c1")


async def test_a_secret_that_only_is_called_like_ours_is_nobodys_need(world):
    world.member("by-hand", "c9")

    async with at_work(world):
        await advance(600)

        assert world.said() == []


async def test_cluster_that_is_gone_takes_its_admin_kubeconfig_with_it_soon(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        world.api.remove(ManagedCluster, "c1")
        await advance(11)

        assert worker.objects() == []
        assert world.secrets() == []


async def test_admin_kubeconfig_given_before_its_cluster_is_there_stays(world):
    world.add_cluster("c1")
    world.api.remove(ManagedCluster, "c1")

    async with at_work(world):
        await advance(3600)

    assert world.secrets() == ["c1-admin"]


async def test_unreachable_worker_is_cleaned_when_it_is_back(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        worker.api.cut()
        world.api.change(PlacementDecision, "gpu-1", "kueue-system", status=DROPPED)
        await advance(600)
        assert world.secret("c1") is None
        assert world.is_marked("c1")
        worker.api.heal()
        await advance(61)

        assert worker.objects() == []
        assert not world.is_marked("c1")


async def test_unreachable_worker_is_given_up_once_its_cluster_is_gone(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        worker.api.cut()
        world.api.remove(ManagedCluster, "c1")
        await advance(61)

        assert world.secrets() == []
        assert worker.api.get(ServiceAccount, "fleetqueue-multikueue", "kueue-system") is not None


async def test_leftovers_are_found_after_a_restart(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    async with at_work(world):
        await settle()
    world.api.remove(AdmissionCheck, "check")
    world.api.remove(ManagedCluster, "c1")

    restarted = type(world)(world.api, Cluster("hub", world.hub.client), world.new_api)
    restarted.workers = world.workers
    async with at_work(restarted):
        await advance(61)

    assert world.secrets() == []
    assert worker.objects() == []


async def test_crash_between_the_hub_and_the_worker_leaves_nothing_behind(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    async with at_work(world):
        await settle()
    world.api.remove(Secret, "kueue-admin-c1-kubeconfig", "kueue-system")
    world.api.remove(AdmissionCheck, "check")

    restarted = type(world)(world.api, Cluster("hub", world.hub.client), world.new_api)
    restarted.workers = world.workers
    async with at_work(restarted):
        await settle()

    assert worker.objects() == []
    assert not world.is_marked("c1")


async def test_objects_of_others_on_the_worker_are_left_alone(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        worker.api.change(ClusterRole, "fleetqueue-multikueue", metadata={"labels": None})
        world.api.remove(AdmissionCheck, "check")
        await advance(61)

    assert worker.objects() == ['ClusterRole "fleetqueue-multikueue"']


async def test_failed_delete_is_tried_again(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        world.api.fail_on("delete secrets/*", errors.ServerError("boom"), times=2)
        worker.api.fail_on("delete serviceaccounts/*", errors.ServerError("boom"), times=1)
        world.api.remove(AdmissionCheck, "check")
        await advance(180)

        assert world.secret("c1") is None
        assert worker.objects() == []
        assert not world.is_marked("c1")


async def test_second_look_at_an_unneeded_cluster_writes_nothing(world, follow):
    world.add_cluster("c1")
    controller = world.controller()
    await follow(controller)

    await controller.reconcile("c1")
    await controller.reconcile("c1")

    assert world.api.writes == []
