"""Placed jobs leave a node that is lost, and the checks of them have teeth: each notices its mistake."""

import asyncio
from contextlib import contextmanager

import pytest

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.api.topology_names import REQUIRED
from fleetqueue.embedded.kueue.scheduling.cohorts import Queue
from fleetqueue.embedded.kueue.topology.flavor_topology import FlavorTopology
from fleetqueue.embedded.kueue.topology.requests import PlacementRequest
from fleetqueue.embedded.kueue.topology_pods import topology_ungater
from fleetqueue.embedded.kueue.topology_pods.ungating import ungated
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance
from tests.invariants import Broken

from . import node_failures, placed_jobs
from .fleet_template import template
from .happenings import create_placed_job, restore_nodes
from .placed_jobs import RACK
from .seeds import unlogged
from .world import World

pytestmark = pytest.mark.timeout(300)
JOBS = 12
"""More than the nodes of all workers hold."""
TOGETHER = placed_jobs.Ask({REQUIRED: HOSTNAME}, 2)
UNTIL_MOVED = 120
"""A node may be silent for 50 seconds, and its pods stay for 10 more."""


def nodes_are_never_full(patch):
    patch.setattr(FlavorTopology, "use", lambda self, usage, sign=1: None)


def quota_is_never_used_up(patch):
    patch.setattr(Queue, "add_all", lambda self, usage, sign=1: None)


def pods_choose_their_nodes(patch):
    patch.setattr(topology_ungater, "ungated", lambda pod, selector: ungated(pod, {}))


def nothing_is_required(patch):
    patch.setattr(PlacementRequest, "is_required", False)


@contextmanager
def running(made):
    """Run what lives in a copy of the fleet, in virtual time."""
    with unlogged(), clock.use(VirtualClock(0, made.moment)), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        yield runner


async def lived():
    """Let more jobs come than there is room for, and check all the time."""
    world = World(0)
    async with world.living(template()):
        await advance(20)
        for _ in range(JOBS):
            world.note(await create_placed_job(world))
        for _ in range(20):
            await advance(2)
            await world.check()


@pytest.mark.parametrize(
    ("mistake", "broken"),
    [
        pytest.param(nodes_are_never_full, "has 2 cpus, of which", id="a node is given away twice"),
        pytest.param(quota_is_never_used_up, "cohort fair has", id="a cohort is given away twice"),
        pytest.param(pods_choose_their_nodes, "that were assigned", id="pods are elsewhere than they were assigned"),
    ],
)
def test_a_mistake_is_noticed(monkeypatch, mistake, broken):
    made = template()
    mistake(monkeypatch)

    with running(made) as runner, pytest.raises(Broken, match=broken):
        runner.run(lived())


def test_pods_that_are_apart_although_they_must_be_together_are_noticed(monkeypatch):
    made = template()
    nothing_is_required(monkeypatch)

    with running(made) as runner, pytest.raises(Broken, match=f"must be in one {RACK}"):
        runner.run(crowded())


async def crowded():
    """Leave one cpu in each rack of a worker, and ask for two that are in one."""
    world = World(0)
    async with world.living(template()):
        await advance(20)
        worker = world.workers[0]
        for number, pods in enumerate((3, 3, 2)):
            made = placed_jobs.job(f"job-{number:02}", 600, "fair-a", placed_jobs.Ask({REQUIRED: RACK}, pods))
            await world.client(worker).create(Job.resource, made)
            await advance(10)
        await world.check()


@pytest.mark.parametrize("way", ["deleted", "tainted", "silent", "shut down"])
def test_a_node_that_is_lost_is_replaced(way):
    with running(template()) as runner:
        before, after = runner.run(moved(way))

    assert len(set(before)) == 1
    assert len(set(after)) == 1
    assert set(before).isdisjoint(after)
    assert len(after) == len(before) == TOGETHER.pods


async def moved(way):
    """Let a job lose its node; return where its pods were, and where they are then, without an eviction."""
    world = World(0)
    async with world.living(template()):
        await advance(20)
        worker, before = await placed_job(world)
        await node_failures.lose(world.client(worker), before[0], way)
        await advance(UNTIL_MOVED)
        await world.check()
        (workload,) = [raw for raw in world.objects(worker, kueue.Workload) if raw["spec"].get("queueName") == "fair-a"]
        assert not kueue.Workload.view(workload).is_true(kueue.EVICTED)
        assert [*workload["status"].get("schedulingStats", {}).get("evictions", ())] == []
        return before, nodes_of_pods(world, worker)


async def placed_job(world):
    """Create a job; return its worker, and the nodes of its pods."""
    await world.hub.create(Job.resource, placed_jobs.job("job-00", 600, "fair-a", TOGETHER, placed_jobs.SOON))
    await advance(20)
    (worker,) = [name for name in world.workers if nodes_of_pods(world, name)]
    return worker, nodes_of_pods(world, worker)


def test_pods_that_outlive_their_node_stay_where_they_are():
    """Kueue has replaced it by then, and fails only pods that wait for it."""
    with running(template()) as runner:
        before, after = runner.run(outlived())

    assert before == after


async def outlived():
    """Delete a node of a job, and bring it back before its pods are removed; return where these were, and are."""
    world = World(0)
    async with world.living(template()):
        await advance(20)
        worker, before = await placed_job(world)
        await node_failures.lose(world.client(worker), before[0], "deleted")
        await advance(10)
        await restore_nodes(world)
        await advance(60)
        await world.check()
        return before, nodes_of_pods(world, worker)


def nodes_of_pods(world, worker):
    """Return the nodes of the pods that live."""
    live = [pod for pod in map(Pod.view, world.objects(worker, Pod, "default")) if pod.is_active]
    return [pod.spec.node_name for pod in live if pod.name.startswith("job-")]
