"""Jobs that are placed on nodes from end to end: our own Kueue, Kubernetes' controllers, a scheduler and nodes."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.job_objects import job_manifest, template, workload_of
from tests.unit.embedded.kueue.pods.objects import SETTINGS, ask, member, pods
from tests.unit.embedded.kueue.scheduling.objects import (
    NAMESPACE,
    group,
    local_queue_manifest,
    queue_manifest,
    quota,
)

from .objects import HOST

pytestmark = pytest.mark.virtual_time
ON_ONE_NODE = {"kueue.x-k8s.io/podset-required-topology": HOST}
POOL = {"example.com/pool": "racks"}


@pytest.fixture
async def nodes(world):
    """Three nodes of two cpus, and a queue whose pods are placed on them."""
    for name in ("n1", "n2", "n3"):
        capacity = {"cpu": "2", "memory": "8Gi", "pods": "10"}
        made = Node.manifest(name, labels={HOST: name, **POOL}, status={"capacity": capacity, "allocatable": capacity})
        await world.client.create(Node.resource, made)
    topology = Topology.manifest("nodes", spec={"levels": [{"nodeLabel": HOST}]})
    await world.client.create(Topology.resource, topology)
    flavor = kueue.ResourceFlavor.manifest("placed", spec={"nodeLabels": POOL, "topologyName": "nodes"})
    await world.add(flavor, queue_manifest("placed", group(placed=quota(6))), local_queue_manifest("placed"))
    await advance(15)
    ask(world)
    return world


async def places(world):
    """Return where the pods are that have a node."""
    found = (await pods(world)).items()
    return {
        name: raw["spec"]["nodeName"]
        for name, raw in found
        if raw["spec"].get("nodeName") and raw["status"]["phase"] in ("Pending", "Running")
    }


async def test_the_pods_of_a_job_run_where_they_were_assigned(nodes):
    async with nodes.managed(SETTINGS):
        await nodes.add(job_manifest(queue="placed", parallelism=2, pods=template(annotations=ON_ONE_NODE)))
        await advance(10)

        (node,) = set((await places(nodes)).values())
        (part,) = (await workload_of(nodes))["status"]["admission"]["podSetAssignments"]
        assert part["topologyAssignment"]["slices"][0]["valuesPerLevel"] == [{"universal": node}]


async def test_jobs_do_not_take_each_others_nodes(nodes):
    async with nodes.managed(SETTINGS):
        for name in ("a", "b", "c", "d"):
            await nodes.add(job_manifest(name, queue="placed", parallelism=2, pods=template(annotations=ON_ONE_NODE)))
        await advance(20)

        taken = sorted((await places(nodes)).values())
        assert taken == ["n1", "n1", "n2", "n2", "n3", "n3"]


async def test_the_pods_of_a_group_run_on_one_node(nodes):
    async with nodes.managed(SETTINGS):
        await nodes.add(*(member(name, queue="placed", annotations=ON_ONE_NODE) for name in ("a", "b")))
        await advance(10)

        assert len(set((await places(nodes)).values())) == 1
        assert sorted(await places(nodes)) == ["a", "b"]


async def test_pods_move_to_another_node_when_theirs_is_gone(nodes):
    async with nodes.managed(SETTINGS):
        await nodes.add(job_manifest(queue="placed", parallelism=2, pods=template(annotations=ON_ONE_NODE)))
        await advance(10)
        before = set((await places(nodes)).values())

        await nodes.client.delete(Node.resource, *before)
        await advance(120)

        after = await places(nodes)
        assert len(after) == 2
        assert len(set(after.values()) - before) == 1
        assert "unhealthyNodes" not in (await workload_of(nodes))["status"]


async def test_a_job_whose_pods_cannot_move_is_evicted_and_waits(nodes):
    async with nodes.managed(SETTINGS):
        for name in ("a", "b", "c"):
            await nodes.add(job_manifest(name, queue="placed", parallelism=2, pods=template(annotations=ON_ONE_NODE)))
        await advance(10)

        await nodes.client.delete(Node.resource, "n2")
        await advance(60)

        listed = (await nodes.client.list(kueue.Workload.resource, NAMESPACE)).items
        (lost,) = [raw for raw in listed if not kueue.Workload.view(raw).is_true(kueue.ADMITTED)]
        assert {raw["reason"] for raw in lost["status"]["schedulingStats"]["evictions"]} == {"NodeFailures"}
        assert sorted((await places(nodes)).values()) == ["n1", "n1", "n3", "n3"]
