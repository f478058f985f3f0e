"""How works go, and what goes with them."""

from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.testing.virtual_time import advance

from .conftest import HASH
from .objects import CLUSTER, config_map


async def test_a_deleted_work_takes_its_objects_along(env):
    env.post(config_map())
    async with env.agent():
        await advance(1)
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)

    assert env.work() is None
    assert env.applied() is None
    assert env.worker.get(ConfigMap, "cm", "default") is None


async def test_orphans_stay_and_have_no_owner(env):
    env.post(config_map(), deleteOption={"propagationPolicy": "Orphan"})
    async with env.agent():
        await advance(1)
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)

    assert env.work() is None
    assert env.worker.get(ConfigMap, "cm", "default").metadata.owner_references == ()


async def test_an_object_of_two_works_stays_with_the_other(env):
    env.post(config_map())
    env.post(config_map(), name="second")
    async with env.agent():
        await advance(1)
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)

    [owner] = env.worker.get(ConfigMap, "cm", "default").metadata.owner_references
    assert owner.name == f"{HASH}-second"


async def test_an_object_that_waits_for_somebody_holds_its_work(env):
    held = config_map()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    env.post(held)
    async with env.agent():
        await advance(1)
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)
        waiting = env.said()["Deleting"]
        env.worker.change(ConfigMap, "cm", "default", metadata={"finalizers": None})
        await advance(5)

    assert waiting == ("True", "WorkDeleting", "ManifestWork is being deleted")
    assert env.work() is None


async def test_a_worker_that_cannot_be_reached_holds_its_works(env):
    env.post(config_map())
    async with env.agent():
        await advance(1)
        env.worker.cut()
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(60)
        held = env.work()
        env.worker.heal()
        await advance(120)

    assert held is not None
    assert env.work() is None
    assert env.worker.get(ConfigMap, "cm", "default") is None


async def test_an_object_that_cannot_be_deleted_stays_on_record(env):
    env.post(config_map("one"), config_map("two"))
    async with env.agent():
        await advance(1)
        env.worker.fail_on("delete configmaps/default/one", errors.Forbidden("no"))
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)
        left = [each.name for each in env.applied().status.applied_resources]
        env.worker.heal()
        await advance(120)

    assert left == ["one"]
    assert env.work() is None


async def test_a_work_that_vanishes_is_evicted_after_an_hour(env):
    env.post(config_map())
    async with env.agent():
        await advance(1)
        env.hub.change(work.ManifestWork, "w", CLUSTER, metadata={"finalizers": None})
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(3500)
        kept = env.worker.get(ConfigMap, "cm", "default")
        await advance(200)

    assert kept is not None
    assert env.applied() is None
    assert env.worker.get(ConfigMap, "cm", "default") is None


async def test_a_work_that_comes_back_is_not_evicted(env):
    env.post(config_map())
    async with env.agent():
        await advance(1)
        env.hub.change(work.ManifestWork, "w", CLUSTER, metadata={"finalizers": None})
        env.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(60)
        dated = env.applied().status.eviction_start_time
        env.post(config_map())
        await advance(7200)

    assert dated is not None
    assert env.applied().status.eviction_start_time is None
    assert env.worker.get(ConfigMap, "cm", "default") is not None
