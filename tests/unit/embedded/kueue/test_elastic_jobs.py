"""Elastic jobs under Kueue: they grow by a second Workload, and what fails halfway is done by the next who looks."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.fleets.faults import Failure
from fleetqueue.rules.workload_names import workload_name
from fleetqueue.testing.virtual_time import advance

from .job_objects import job_manifest, template
from .scheduling.objects import NAMESPACE

pytestmark = pytest.mark.virtual_time

GATE = {"name": "kueue.x-k8s.io/elastic-job"}


def elastic(parallelism):
    """As Kueue's webhook leaves it, which is not there."""
    pods = template(schedulingGates=[GATE])
    return job_manifest(annotations={"kueue.x-k8s.io/elastic-job": "true"}, pods=pods, parallelism=parallelism)


async def resize(world, parallelism):
    await world.change(await world.get("Job", "j", NAMESPACE), spec={"parallelism": parallelism})
    await advance(3)


async def slices(world):
    """Return the names of the Workloads, from the oldest to the newest."""
    found = [raw["metadata"] for raw in (await world.client.list(kueue.Workload.resource, NAMESPACE)).items]
    return [metadata["name"] for metadata in sorted(found, key=lambda metadata: metadata["creationTimestamp"])]


async def gates(world):
    """Return how many pods wait at the gate, and how many do not."""
    pods = (await world.client.list(Pod.resource, NAMESPACE)).items
    waiting = [raw for raw in pods if GATE in (raw["spec"].get("schedulingGates") or ())]
    return len(waiting), len(pods) - len(waiting)


async def test_a_slice_is_named_after_the_generation_of_its_job(world):
    async with world.managed():
        await world.add(elastic(1))
        await advance(3)
        await resize(world, 2)

    job = await world.get("Job", "j", NAMESPACE)
    first, second = await slices(world)
    named = [workload_name("Job", "batch", "j", job["metadata"]["uid"], version) for version in ("1", "3")]
    assert [first, second] == named
    assert (await world.workload(second))["metadata"]["annotations"] == {
        "kueue.x-k8s.io/elastic-job": "true",
        "kueue.x-k8s.io/workload-slice-name": first,
        "kueue.x-k8s.io/workload-slice-replacement-for": f"{NAMESPACE}/{first}",
    }


async def test_the_slice_that_was_replaced_says_for_whom_and_is_counted(world):
    async with world.managed():
        await world.add(elastic(1))
        await advance(3)
        await resize(world, 2)

    first, second = await slices(world)
    uid = (await world.workload(second))["metadata"]["uid"]
    job = (await world.get("Job", "j", NAMESPACE))["metadata"]["uid"]
    why = f"Replaced to accommodate a workload (UID: {uid}, JobUID: {job}) due to workload slice aggregation"
    assert (await world.told(first))["Finished"] == f"True WorkloadSliceReplaced: {why}"
    assert f"WorkloadSliceReplaced: {why}" in await world.events(first)
    labels = {"cluster_queue": "q", "replica_role": "standalone"}
    assert world.metrics.registry.get_sample_value("kueue_replaced_workload_slices_total", labels) == 1


async def test_a_slice_that_the_scheduler_could_not_finish_is_finished_with_the_job(world):
    async with world.managed():
        await world.add(elastic(1))
        await advance(3)
        first = (await slices(world))[0]
        world.way.failures.append(
            Failure(f"apply workloads/{NAMESPACE}/{first}/status", errors.ServerError("no"), times=1)
        )
        await resize(world, 2)
        await advance(10)

    assert (await world.told(first))["Finished"] == (
        "True WorkloadSliceReplaced: Replaced to accommodate a new workload slice"
    )
    assert await gates(world) == (0, 2)


async def test_pods_wait_at_the_gate_for_what_was_not_given_yet(world):
    async with world.managed():
        await world.add(elastic(2))
        await advance(3)
        await resize(world, 5)

    assert await gates(world) == (3, 2)


async def test_a_gate_that_could_not_be_taken_away_is_taken_away_later(world):
    async with world.managed():
        world.way.failures.append(Failure(f"patch pods/{NAMESPACE}/", errors.ServerError("no"), times=2))
        await world.add(elastic(2))
        await advance(20)

    assert await gates(world) == (0, 2)


async def test_nobody_writes_when_nothing_changes(world):
    async with world.managed():
        await world.add(elastic(2))
        await advance(3)
        await resize(world, 3)
        await advance(10)
        before = await world.revision()
        await advance(600)

    assert await world.revision() == before
