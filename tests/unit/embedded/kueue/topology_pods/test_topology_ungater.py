"""Pods at the topology gate while their Workload is admitted."""

import pytest
from prometheus_client import generate_latest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.topology_pods.topology_ungater import TopologyUngater
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.pods.objects import pods
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE

from .objects import HOST, INDEX, admitted_status, alone, asked_set, placed, pod

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def asked(world):
    """A Workload of two pods that was admitted on two nodes."""
    part = placed(("n1", 1), ("n2", 1))
    sets = [asked_set(part, podIndexLabel=INDEX)]
    made = kueue.Workload.manifest(
        "w", NAMESPACE, spec={"queueName": "q", "podSets": sets}, status=admitted_status(part)
    )
    await world.add(made)
    return world


def at_the_gate(name, **said):
    raw = pod(name, **said)
    raw["metadata"]["annotations"]["fleetqueue.dev/run-for"] = "1000s"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": raw["metadata"], "spec": raw["spec"]}


async def places(world):
    return {
        name: raw["spec"].get("nodeSelector", {}).get(HOST)
        for name, raw in (await pods(world)).items()
        if not raw["spec"].get("schedulingGates")
    }


async def test_only_workloads_that_are_placed_are_looked_at(world):
    unplaced = {name: value for name, value in placed(("n1", 1)).items() if name != "topologyAssignment"}
    await world.add(
        kueue.Workload.manifest(
            "w", NAMESPACE, spec={"queueName": "q", "podSets": [asked_set(unplaced)]}, status=admitted_status(unplaced)
        )
    )
    made = []

    async with alone(world, lambda *told: made.append(TopologyUngater(*told)) or made[0]):
        looks = generate_latest(made[0].metrics.registry).decode()

    assert f'controller="{TopologyUngater.name}",result=' not in looks


async def test_pods_leave_the_gate_for_their_nodes(asked):
    await asked.add(at_the_gate("b", index=1))

    async with alone(asked, TopologyUngater):
        assert await places(asked) == {"b": "n2"}

        await asked.add(at_the_gate("a", index=0))
        await advance(2)
        assert await places(asked) == {"a": "n1", "b": "n2"}


async def test_a_pod_takes_the_place_of_one_that_ended(asked):
    await asked.add(at_the_gate("a", index=0))
    async with alone(asked, TopologyUngater):
        await asked.change((await pods(asked))["a"], status={"phase": "Failed"})
        await asked.add(at_the_gate("c", index=0))
        await advance(2)

        assert (await places(asked))["c"] == "n1"


async def test_a_restarted_ungater_counts_who_left_the_gate_before(asked):
    await asked.add(at_the_gate("a"), at_the_gate("b"))
    async with alone(asked, TopologyUngater):
        assert sorted((await places(asked)).values()) == ["n1", "n2"]

    await asked.add(at_the_gate("c"))
    async with alone(asked, TopologyUngater):
        assert sorted(await places(asked)) == ["a", "b"]


@pytest.mark.parametrize("happens", [False, True])
async def test_a_pod_whose_write_was_not_answered_gets_its_place_all_the_same(asked, happens):
    await asked.add(at_the_gate("a"), at_the_gate("b"))
    asked.way.fail_on("patch pods/*", errors.Unreachable("lost"), times=1, happens=happens)

    async with alone(asked, TopologyUngater):
        await advance(10)

        assert asked.way.failures[0].times == 0
        assert sorted((await places(asked)).values()) == ["n1", "n2"]


async def test_a_pod_that_was_not_started_by_kueue_stays(asked):
    lost = at_the_gate("a")
    del lost["metadata"]["annotations"]["kueue.x-k8s.io/workload"]
    await asked.add(lost)

    async with alone(asked, TopologyUngater):
        assert await places(asked) == {}
