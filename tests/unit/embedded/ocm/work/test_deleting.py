"""How works go, and what goes with them."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.work.completed_works import CompletedWorkController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import START, advance
from tests.invariants.second_look import managed

from .conftest import HASH
from .objects import CLUSTER, config_map, work_manifest


async def test_a_deleted_work_takes_its_objects_along(stage):
    stage.post(config_map())
    async with stage.agent():
        await advance(1)
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)

    assert stage.work() is None
    assert stage.applied() is None
    assert stage.worker.get(ConfigMap, "cm", "default") is None


async def test_orphans_stay_and_have_no_owner(stage):
    stage.post(config_map(), deleteOption={"propagationPolicy": "Orphan"})
    async with stage.agent():
        await advance(1)
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)

    assert stage.work() is None
    assert stage.worker.get(ConfigMap, "cm", "default").metadata.owner_references == ()


async def test_an_object_of_two_works_stays_with_the_other(stage):
    stage.post(config_map())
    stage.post(config_map(), name="second")
    async with stage.agent():
        await advance(1)
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)

    [owner] = stage.worker.get(ConfigMap, "cm", "default").metadata.owner_references
    assert owner.name == f"{HASH}-second"


async def test_an_object_that_waits_for_somebody_holds_its_work(stage):
    held = config_map()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    stage.post(held)
    async with stage.agent():
        await advance(1)
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)
        waiting = stage.said()["Deleting"]
        stage.worker.change(ConfigMap, "cm", "default", metadata={"finalizers": None})
        await advance(5)

    assert waiting == ("True", "WorkDeleting", "ManifestWork is being deleted")
    assert stage.work() is None


async def test_a_worker_that_cannot_be_reached_holds_its_works(stage):
    stage.post(config_map())
    async with stage.agent():
        await advance(1)
        stage.worker.cut()
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(60)
        held = stage.work()
        stage.worker.heal()
        await advance(120)

    assert held is not None
    assert stage.work() is None
    assert stage.worker.get(ConfigMap, "cm", "default") is None


async def test_an_object_that_cannot_be_deleted_stays_on_record(stage):
    stage.post(config_map("one"), config_map("two"))
    async with stage.agent():
        await advance(1)
        stage.worker.fail_on("delete configmaps/default/one", errors.Forbidden("no"))
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(5)
        left = [each.name for each in stage.applied().status.applied_resources]
        stage.worker.heal()
        await advance(120)

    assert left == ["one"]
    assert stage.work() is None


async def test_a_work_that_vanishes_is_evicted_after_an_hour(stage):
    stage.post(config_map())
    async with stage.agent():
        await advance(1)
        stage.hub.change(work.ManifestWork, "w", CLUSTER, metadata={"finalizers": None})
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(3500)
        kept = stage.worker.get(ConfigMap, "cm", "default")
        await advance(200)

    assert kept is not None
    assert stage.applied() is None
    assert stage.worker.get(ConfigMap, "cm", "default") is None


async def test_a_work_that_comes_back_is_not_evicted(stage):
    stage.post(config_map())
    async with stage.agent():
        await advance(1)
        stage.hub.change(work.ManifestWork, "w", CLUSTER, metadata={"finalizers": None})
        stage.hub.remove(work.ManifestWork, "w", CLUSTER)
        await advance(60)
        dated = stage.applied().status.eviction_start_time
        stage.post(config_map())
        await advance(7200)

    assert dated is not None
    assert stage.applied().status.eviction_start_time is None
    assert stage.worker.get(ConfigMap, "cm", "default") is not None


@pytest.mark.embedded_only("the time of completion is the test's")
@pytest.mark.parametrize(
    ("labels", "ttl", "is_kept"),
    [
        pytest.param({}, 60, False, id="its time is over"),
        pytest.param({}, None, True, id="it has no time"),
        pytest.param({work.REPLICA_SET_LABEL: "ns.set"}, 60, True, id="a replica set looks after it"),
    ],
)
async def test_completed_works_are_deleted_when_their_time_is_over(stage, labels, ttl, is_kept):
    option = {"propagationPolicy": "Foreground"} | ({"ttlSecondsAfterFinished": ttl} if ttl else {})
    manifest = work_manifest("w", config_map(), labels=labels, deleteOption=option)
    stage.hub.add({**manifest, "status": {"conditions": [condition("Complete", since=timestamp(START))]}})
    hub = Cluster("hub", Client(stage.hub))
    async with managed(Manager(hub, [CompletedWorkController(hub, Metrics())])):
        await advance(50)
        before = stage.work()
        await advance(20)

    assert before is not None
    assert (stage.work() is not None) == is_kept
