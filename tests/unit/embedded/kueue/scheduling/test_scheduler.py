"""The scheduler on a cluster: what it writes, that it is quiet, and what it does where writes fail."""

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.pod_limits import RuntimeClass
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.fleets.faults import Failure
from fleetqueue.rules.workload_admission import applied
from fleetqueue.testing.virtual_time import advance

from .objects import CPU, NAMESPACE, pod_set, workload_manifest

pytestmark = pytest.mark.virtual_time

ADMITTED = {"QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted"}
WAITS = {"QuotaReserved": "False Pending"}
STATUS = "apply workloads/*/{}/status"


async def give_back(env, name):
    """Do what a job's controller does when its job has stopped."""
    raw = await env.workload(name)
    status = {field: value for field, value in raw["status"].items() if field != "admission"}
    for kind, reason in (("QuotaReserved", "Pending"), ("Admitted", "NoReservation")):
        status = admission_status.with_condition(status, kind, "False", reason, "by test", 1, clock.now())
    patch = applied(raw, status)
    await env.client.apply(kueue.Workload.resource, patch, subresource="status", manager=kueue.ADMISSION_MANAGER)


async def test_an_admission_is_one_write_in_the_name_of_kueue(env):
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="3"))
        await advance(1)

    raw = await env.workload("a")
    assert await env.told("a") == ADMITTED
    assert raw["metadata"]["generation"] == 1
    assert [
        each["manager"] for each in raw["metadata"]["managedFields"] if "status" in each.get("subresource", "")
    ] == ["kueue-admission"]
    assert await env.events() == ["a Admitted", "a QuotaReserved"]


async def test_who_waits_says_why_and_what_it_asks_for(env):
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="5"))
        await advance(1)

    raw = await env.workload("a")
    assert await env.told("a") == WAITS
    assert raw["status"]["resourceRequests"] == [{"name": "main", "resources": {"cpu": "5"}}]
    assert await env.events() == ["a Pending"]


async def test_a_scheduler_without_work_writes_nothing(env):
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="4"), workload_manifest("b", cpu="1"))
        await advance(5)
        before = env.writes()
        await advance(120)

        assert env.writes() == before > 0


async def test_a_scheduler_that_starts_again_writes_nothing(env):
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="4"), workload_manifest("b", cpu="1"))
        await advance(5)

    async with env.scheduling():
        await advance(5)

        assert env.cache.of_cluster_queue("q").reservation == {CPU: 4000}
        assert env.cache.of_cluster_queue("q").pending == 1
        assert env.writes() == 0


async def test_who_waits_is_admitted_when_there_is_room(env):
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="4"), workload_manifest("b", cpu="1"))
        await advance(5)
        await env.client.delete(kueue.Workload.resource, "a", NAMESPACE)
        await advance(2)

        assert await env.told("b") == ADMITTED


async def test_an_admission_that_fails_is_tried_again_and_gives_its_quota_back_meanwhile(env):
    env.way.failures.append(Failure(STATUS.format("a"), errors.ServerError("no"), times=3))
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="4"))
        await advance(5)

        assert await env.told("a") == ADMITTED
        assert env.cache.of_cluster_queue("q").reservation == {CPU: 4000}


async def test_an_admission_whose_answer_is_lost_counts_once(env):
    env.way.failures.append(Failure(STATUS.format("a"), errors.Unreachable("lost"), times=1, happens=True))
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="3"), workload_manifest("b", cpu="3"))
        await advance(5)

        assert (await env.told("a"), await env.told("b")) == (ADMITTED, WAITS)
        assert env.cache.of_cluster_queue("q").reservation == {CPU: 3000}


async def test_a_workload_that_is_deleted_before_its_admission_is_written_holds_nothing(env):
    env.way.slow = 0.5
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="4"))
        await advance(0.2)
        await env.client.delete(kueue.Workload.resource, "a", NAMESPACE)
        await advance(5)
        await env.add(workload_manifest("b", cpu="4"))
        await advance(5)

        assert await env.told("b") == ADMITTED


async def test_a_reason_that_cannot_be_written_is_written_later(env):
    env.way.failures.append(Failure(STATUS.format("a"), errors.Unreachable("no"), times=2))
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="5"))
        await advance(5)

        assert await env.told("a") == WAITS


async def test_a_preemptor_waits_for_its_victim_and_then_goes_first(env):
    async with env.scheduling():
        await env.add(workload_manifest("low", cpu="4"))
        await advance(2)
        await env.add(workload_manifest("high", cpu="4", priority=10), workload_manifest("other", cpu="1"))
        await advance(5)
        asked = await env.told("low"), await env.told("high")
        await give_back(env, "low")
        await advance(5)

        assert asked == ({**ADMITTED, "Evicted": "True Preempted", "Preempted": "True InClusterQueue"}, WAITS)
        assert await env.told("high") == ADMITTED
        assert (await env.told("low"))["QuotaReserved"] == "False Pending"
    assert [event for event in await env.events() if "reempted" in event] == [
        "high PreemptedWorkload",
        "low EvictedDueToPreempted",
        "low Preempted",
    ]


async def test_a_victim_is_asked_once(env):
    async with env.scheduling():
        await env.add(workload_manifest("low", cpu="4"))
        await advance(2)
        await env.add(workload_manifest("high", cpu="4", priority=10))
        await advance(2)
        before = (await env.workload("low"))["metadata"]["resourceVersion"]
        await env.add(workload_manifest("higher", cpu="1", priority=20))
        await advance(60)

        assert (await env.workload("low"))["metadata"]["resourceVersion"] == before


async def test_a_preemption_that_fails_is_tried_again(env):
    async with env.scheduling():
        await env.add(workload_manifest("low", cpu="4"))
        await advance(2)
        env.way.failures.append(Failure(STATUS.format("low"), errors.ServerError("no"), times=2))
        await env.add(workload_manifest("high", cpu="4", priority=10))
        await advance(5)

        assert (await env.told("low"))["Evicted"] == "True Preempted"
        message = (await env.workload("high"))["status"]["conditions"][0]["message"]
        assert message.endswith(". Pending the preemption of 1 workload(s)")


async def test_a_blocked_strict_queue_stays_quiet(env):
    await env.client.merge(kueue.ClusterQueue.resource, "q", "", {"spec": {"queueingStrategy": "StrictFIFO"}})
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="4"), workload_manifest("b", cpu="5"))
        await advance(5)
        cycles = env.metrics.reconciles.labels("kueue-scheduler", "done")._value.get()
        await advance(600)

        assert env.metrics.reconciles.labels("kueue-scheduler", "done")._value.get() == cycles


async def test_the_overhead_of_a_runtime_class_is_counted(env):
    slow = RuntimeClass.manifest("slow", handler="slow", overhead={"podFixed": {"cpu": "1"}})
    await env.client.create(RuntimeClass.resource, slow)
    async with env.scheduling():
        await env.add(workload_manifest("a", pod_set(requests={"cpu": "1"}, runtimeClassName="slow")))
        await advance(1)

        (given,) = (await env.workload("a"))["status"]["admission"]["podSetAssignments"]
        assert given["resourceUsage"] == {"cpu": "2"}


async def test_a_burst_is_admitted_in_the_order_of_the_queue(env):
    async with env.scheduling():
        for number in range(60):
            await env.add(workload_manifest(f"w{number:02d}", pod_set(requests={"cpu": "100m"}), priority=number))
        await advance(5)

        usage = env.cache.of_cluster_queue("q")
        assert (usage.pending, usage.admitted, usage.reservation) == (20, 40, {CPU: 4000})


async def test_numbers_tell_of_admissions_and_of_cycles(env):
    async with env.scheduling():
        await env.add(workload_manifest("a", cpu="4"), workload_manifest("b", cpu="1"))
        await advance(5)

        read = env.metrics.registry.get_sample_value
        assert read("kueue_admitted_workloads_total", labels("q", priority_class="")) == 1
        assert read("kueue_admission_attempts_total", {"result": "success", "replica_role": "standalone"}) == 1


def labels(queue, **more):
    return {"cluster_queue": queue, "replica_role": "standalone", **more}
