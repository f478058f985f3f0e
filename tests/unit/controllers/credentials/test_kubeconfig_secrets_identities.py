"""Which cluster a credential opens: asked through the credential, and written on its secret."""

import pytest

from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.kueue_v1beta2 import MultiKueueCluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

UID, REPLACED_BY = "fleetqueue.dev/cluster-uid", "fleetqueue.dev/replaced-by"


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


def annotations(world):
    return world.secret("c1").metadata.annotations


@pytest.fixture
def worker(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    return worker


async def test_a_secret_says_which_cluster_it_opens(world, worker):
    async with at_work(world):
        await settle()

        assert annotations(world)[UID] == "uid-of-c1"


async def test_a_secret_from_before_is_completed_with_the_same_token(world, worker):
    async with at_work(world):
        await settle()
        world.api.change(Secret, "kueue-admin-c1-kubeconfig", "kueue-system", metadata={"annotations": {UID: None}})
        await settle()

        assert annotations(world)[UID] == "uid-of-c1"
        assert world.token("c1") == "c1-token-1"


async def test_a_rebuilt_cluster_that_nobody_uses_simply_gets_a_new_credential(world, worker):
    async with at_work(world):
        await settle()
        worker.uid = "another"
        worker.tokens.clear()
        await advance(400)

        assert annotations(world)[UID] == "another"


async def test_the_way_to_the_old_cluster_stays_open_while_jobs_run_through_it(world, worker):
    async with at_work(world):
        await settle()
        world.member("gpu-c1", "c1")
        await settle()
        before = world.token("c1")
        worker.uid = "another"
        await advance(400)

        assert world.token("c1") == before
        assert annotations(world)[UID] == "uid-of-c1"
        assert annotations(world)[REPLACED_BY] == "another"
        assert "c1 is another cluster than before" in world.notes()
        world.api.remove(MultiKueueCluster, "gpu-c1")
        await settle()
        assert annotations(world)[UID] == "another"
        assert REPLACED_BY not in annotations(world)
