"""Where admission is blocked, one after the other is admitted: each when the pods of all others are ready."""

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.fleets.faults import Failure
from fleetqueue.rules.workload_admission import applied
from fleetqueue.testing.virtual_time import advance

from .objects import NAMESPACE, local_queue_manifest, queue_manifest, workload_manifest

pytestmark = pytest.mark.virtual_time

ADMITTED = {"QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted"}
BLOCKED = {"QuotaReserved": "False Waiting"}
NOT_TOLD = {}


async def set_readiness(env, name, *, is_ready):
    """Do what a job's controller does when its pods become ready, or one of them fails."""
    raw = await env.workload(name)
    value, reason = ("True", "Started") if is_ready else ("False", "WaitForRecovery")
    status = admission_status.with_condition({}, kueue.PODS_READY, value, reason, "by test", 1, clock.now())
    manager = "kueue-job-controller-PodsReady"
    await env.client.apply(kueue.Workload.resource, applied(raw, status), subresource="status", manager=manager)


@pytest.fixture
async def blocking(env):
    await env.add(queue_manifest("r"), local_queue_manifest("r"))
    async with env.scheduling(blocks_until_ready=True):
        yield env


async def test_the_next_one_is_admitted_when_the_pods_of_the_first_are_ready(blocking):
    await blocking.add(workload_manifest("a"), workload_manifest("b"))
    await advance(5)

    assert await blocking.told("a") == ADMITTED
    assert await blocking.told("b") == BLOCKED
    [condition] = (await blocking.workload("b"))["status"]["conditions"]
    assert condition["message"] == "waiting for all admitted workloads to be in PodsReady condition"

    await set_readiness(blocking, "a", is_ready=True)
    await advance(1)

    assert await blocking.told("b") == ADMITTED


async def test_another_cluster_queue_is_blocked_too(blocking):
    await blocking.add(workload_manifest("a"), workload_manifest("b", to="r"))
    await advance(5)

    assert await blocking.told("b") == BLOCKED


async def test_who_does_not_fit_is_not_told_so_before_the_cycle_goes_on(blocking):
    await blocking.add(workload_manifest("a"), workload_manifest("b"), workload_manifest("c", to="r", cpu="9"))
    await advance(5)

    assert await blocking.told("c") == NOT_TOLD

    await set_readiness(blocking, "a", is_ready=True)
    await advance(1)

    assert await blocking.told("b") == ADMITTED
    assert await blocking.told("c") == {"QuotaReserved": "False Pending"}


async def test_pods_that_are_ready_no_more_block_again(blocking):
    await blocking.add(workload_manifest("a"))
    await set_readiness(blocking, "a", is_ready=True)
    await advance(1)
    await set_readiness(blocking, "a", is_ready=False)
    await blocking.add(workload_manifest("b"))
    await advance(5)

    assert await blocking.told("b") == BLOCKED


async def test_who_leaves_blocks_nobody(blocking):
    await blocking.add(workload_manifest("a"), workload_manifest("b"))
    await advance(5)
    await blocking.client.delete(kueue.Workload.resource, "a", NAMESPACE)
    await advance(1)

    assert await blocking.told("b") == ADMITTED


async def test_who_is_blocked_and_goes_lets_the_next_one_come(blocking):
    await blocking.add(workload_manifest("a"), workload_manifest("b"), workload_manifest("c"))
    await advance(5)
    await blocking.client.delete(kueue.Workload.resource, "b", NAMESPACE)
    await set_readiness(blocking, "a", is_ready=True)
    await advance(1)

    assert await blocking.told("c") == ADMITTED


async def test_it_is_said_once(blocking):
    await blocking.add(workload_manifest("a"), workload_manifest("b"))
    await advance(5)
    before = blocking.writes()
    await blocking.add(workload_manifest("c"))
    await advance(120)

    assert blocking.writes() == before


async def test_a_scheduler_that_starts_again_blocks_and_writes_nothing(env):
    async with env.scheduling(blocks_until_ready=True):
        await env.add(workload_manifest("a"), workload_manifest("b"))
        await advance(5)

    async with env.scheduling(blocks_until_ready=True):
        await advance(5)

        assert env.writes() == 0
        await set_readiness(env, "a", is_ready=True)
        await advance(1)
        assert await env.told("b") == ADMITTED


async def test_it_goes_on_where_it_could_not_be_said(blocking):
    await blocking.add(workload_manifest("a"))
    await advance(1)
    blocking.way.failures.append(Failure("apply workloads/*/b/status", errors.ServerError("no"), times=1))
    await blocking.add(workload_manifest("b"))
    await advance(5)
    assert await blocking.told("b") == NOT_TOLD

    await set_readiness(blocking, "a", is_ready=True)
    await advance(2)

    assert await blocking.told("b") == ADMITTED


async def test_who_preempts_in_an_earlier_turn_does_so_while_another_is_blocked(blocking):
    rules = {"withinClusterQueue": "LowerPriority"}
    await blocking.add(queue_manifest("p", preemption=rules), local_queue_manifest("p"))
    await blocking.add(workload_manifest("low", to="p", cpu="4"))
    await set_readiness(blocking, "low", is_ready=True)
    await blocking.add(workload_manifest("first"), workload_manifest("second"))
    await blocking.add(workload_manifest("high", to="p", cpu="4", priority=9), workload_manifest("third"))
    await advance(1)
    assert await blocking.told("second") == BLOCKED
    assert await blocking.told("low") == {**ADMITTED, "PodsReady": "True Started"}

    await set_readiness(blocking, "first", is_ready=True)
    await advance(1)

    assert await blocking.told("third") == BLOCKED
    assert await blocking.told("high") == NOT_TOLD
    assert (await blocking.told("low"))["Evicted"] == "True Preempted"


async def test_nobody_is_blocked_unless_it_is_asked_for(env):
    async with env.scheduling():
        await env.add(workload_manifest("a"), workload_manifest("b"))
        await advance(5)

        assert await env.told("b") == ADMITTED
