"""Who is woken by what."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import work_v1 as work
from fleetqueue.embedded.ocm.work.applied_works import (
    AppliedWorkController,
    UnmanagedAppliedWorkController,
    WorkFinalizerController,
)
from fleetqueue.embedded.ocm.work.availability import AvailabilityController
from fleetqueue.embedded.ocm.work.manifest_works import ManifestWorkController
from fleetqueue.embedded.ocm.work.replica_sets import ManifestWorkReplicaSetController
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import running
from fleetqueue.testing.waking import woken

from .conftest import HASH
from .objects import CLUSTER, config_map, work_manifest


@pytest.fixture
async def agent(env):
    """The controllers of an agent, by their class; their caches are filled, and nothing is worked on."""
    hub, worker, controllers = env.controllers()
    for controller in controllers:
        controller.subscribe()
    async with running(hub.run()), running(worker.run()):
        await hub.synced()
        await worker.synced()
        found = {type(controller): controller for controller in controllers}
        for controller in controllers:
            await woken(controller)
        yield found


def finalized(name="w"):
    manifest = work_manifest(name, config_map())
    manifest["metadata"]["finalizers"] = [work.WORK_FINALIZER]
    return manifest


async def test_a_work_is_applied_when_it_asks_for_something_else_and_not_when_something_is_said_of_it(env, agent):
    applying = agent[ManifestWorkController]
    env.hub.add(finalized())
    new = await woken(applying)
    env.hub.change(work.ManifestWork, "w", CLUSTER, status={"conditions": [condition("Applied")]})
    said = await woken(applying)
    env.change(workload={"manifests": [config_map(a="2")]})
    asked = await woken(applying)
    env.hub.change(work.ManifestWork, "w", CLUSTER, metadata={"labels": {"a": "b"}})
    labelled = await woken(applying)

    assert (new, said, asked, labelled) == ({"w"}, set(), {"w"}, {"w"})


async def test_what_is_said_of_a_work_lets_its_objects_be_looked_at(env, agent):
    env.hub.add(finalized())
    await woken(agent[AvailabilityController])
    env.hub.change(work.ManifestWork, "w", CLUSTER, status={"conditions": [condition("Applied")]})

    assert await woken(agent[AvailabilityController]) == {"w"}


async def test_a_record_on_the_worker_wakes_its_work_and_those_who_look_after_it(env, agent):
    spec = {"hubHash": HASH, "agentID": HASH, "manifestWorkName": "w"}
    env.worker.add(work.AppliedManifestWork.manifest(f"{HASH}-w", spec=spec))

    assert await woken(agent[WorkFinalizerController]) == {"w"}
    assert await woken(agent[AppliedWorkController]) == {f"{HASH}-w"}
    assert await woken(agent[UnmanagedAppliedWorkController]) == {f"{HASH}-w"}


async def test_a_replica_set_is_woken_by_its_placement_its_decisions_and_its_works(api, hub, follow):
    controller = ManifestWorkReplicaSetController(hub, Metrics())
    spec = {"placementRefs": [{"name": "p"}], "manifestWorkTemplate": {"workload": {"manifests": [config_map()]}}}
    api.add(work.ManifestWorkReplicaSet.manifest("set", "ns", spec=spec))
    await follow(controller)
    first = await woken(controller)
    labels = {cluster.PLACEMENT_LABEL: "p", cluster.DECISION_GROUP_INDEX_LABEL: "0"}
    seen = []
    for manifest in (
        cluster.Placement.manifest("p", "ns", spec={}),
        cluster.Placement.manifest("other", "ns", spec={}),
        cluster.PlacementDecision.manifest("d", "ns", labels=labels),
        work_manifest("set", config_map(), labels={work.REPLICA_SET_LABEL: "ns.set"}),
        work_manifest("other", config_map()),
    ):
        api.add(manifest)
        seen.append(await woken(controller))

    assert first == {"ns/set"}
    assert seen == [{"ns/set"}, set(), {"ns/set"}, {"ns/set"}, set()]
