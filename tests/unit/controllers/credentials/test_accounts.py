"""Hubs that share a worker: each has its own account there, and leaves that of the other alone."""

import pytest

from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.accounts import account_of
from fleetqueue.runtime.cluster import OURS, Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

from .conftest import World

FORMER = "fleetqueue-multikueue"
ONE, TWO = "uid-of-one", "uid-of-two"


def at_work(world, uid, **settings):
    return managed(Manager(world.hub, world.room(hub_uid=uid, **settings).controllers))


def name_of(uid):
    return account_of(uid, "kueue-system").name


@pytest.fixture
def worker(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    for uid in (ONE, TWO):
        worker.issues_for(name_of(uid))
    return worker


@pytest.fixture
def other(world, worker):
    """The other hub, which knows the same worker."""
    api = world.new_api()
    other = World(api, Cluster("other", Client(api)), world.new_api)
    other.add_cluster("c1", joined=False)
    other.workers["c1"] = worker
    other.give_admin_kubeconfig("c1")
    other.select("c1")
    return other


def accounts(worker):
    service_accounts = [account for account in worker.api.list(ServiceAccount) if account.name.startswith(FORMER)]
    return {account.name: account.metadata.annotations.get("fleetqueue.dev/hub", "") for account in service_accounts}


def again(world):
    """Return the same hub with another process of ours."""
    restarted = World(world.api, Cluster("hub", world.hub.client), world.new_api)
    restarted.workers = world.workers
    return restarted


def test_the_name_of_an_account_tells_its_hub():
    assert account_of("", "ns").name == FORMER
    assert name_of(ONE).startswith(f"{FORMER}-")
    assert name_of(ONE) != name_of(TWO)


async def test_each_hub_has_its_own_account_and_token(world, other, worker):
    async with at_work(world, ONE), at_work(other, TWO):
        await advance(900)

        assert accounts(worker) == {name_of(ONE): ONE, name_of(TWO): TWO}
        assert {world.token("c1"), other.token("c1")} == {"c1-token-1", "c1-token-2"}  # nobody had to ask twice


async def test_the_hub_that_leaves_takes_only_its_own(world, other, worker):
    async with at_work(world, ONE), at_work(other, TWO):
        await settle()
        world.decide_anew()
        await advance(61)

        assert accounts(worker) == {name_of(TWO): TWO}
        assert worker.api.get(ClusterRole, name_of(TWO)) is not None


async def test_the_account_of_the_former_name_goes_when_the_new_one_works(world, worker):
    async with at_work(world, ""):
        await settle()
        assert accounts(worker) == {FORMER: ""}
    upgraded = again(world)

    async with at_work(upgraded, ONE):
        await settle()
        assert sorted(accounts(worker)) == sorted([FORMER, name_of(ONE)])  # Kueue may still use it
        assert worker.owner(upgraded.token("c1")) == name_of(ONE)
        await advance(301)

        assert accounts(worker) == {name_of(ONE): ONE}
        assert worker.owner(upgraded.token("c1")) == name_of(ONE)


async def test_the_account_of_the_former_name_is_removed_only_once(world, other, worker):
    """Another hub of an older version may use it, and makes it again."""
    async with at_work(world, ""):
        await settle()
    async with at_work(again(world), ONE):
        await advance(301)
    async with at_work(other, ""):
        await settle()

    async with at_work(again(world), ONE):
        await advance(900)

    assert accounts(worker) == {FORMER: "", name_of(ONE): ONE}


async def test_an_account_of_the_former_name_that_another_hub_has_marked_stays(world, worker):
    async with at_work(world, ""):
        await settle()
    worker.api.change(ServiceAccount, FORMER, "kueue-system", metadata={"annotations": {"fleetqueue.dev/hub": TWO}})

    async with at_work(again(world), ONE):
        await advance(301)

    assert FORMER in accounts(worker)


async def test_an_upgraded_hub_that_is_not_needed_any_more_removes_both(world, worker):
    async with at_work(world, ""):
        await settle()
    upgraded = again(world)

    async with at_work(upgraded, ONE):
        await settle()
        upgraded.decide_anew()
        await advance(61)

        assert accounts(worker) == {}


async def test_hubs_of_the_same_origin_are_told(world, other, worker):
    async with at_work(world, ONE), at_work(other, TWO):
        await advance(301)

        assert "OriginShared" in world.said()
        assert f'another hub ({TWO}) sends jobs here with the same multiKueue.origin "multikueue"' in world.notes()
        assert "OriginShared" in other.said()


async def test_an_account_of_another_hand_is_no_hub(world, worker):
    worker.api.add(ServiceAccount.manifest("fleetqueue-kubeconfig", "kueue-system", labels=dict(OURS)))

    async with at_work(world, ONE):
        await advance(301)

        assert "OriginShared" not in world.said()
