"""Groups of pods under Kueue: all of a group waits until all of it was admitted; failed pods are replaced."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE, workload_manifest

from .objects import SETTINGS, ask, is_gated, member, pod, pods

pytestmark = pytest.mark.virtual_time
FAILS = {"fleetqueue.dev/fails": "true"}


@pytest.fixture
async def asked(world):
    ask(world)
    return world


async def phases(world):
    return {name: raw["status"]["phase"] for name, raw in (await pods(world)).items()}


async def test_a_group_waits_until_it_is_complete_runs_and_ends(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a", runs="20s"))
        await advance(5)
        alone, none_yet = await pod(asked, "a"), (await asked.client.list(kueue.Workload.resource)).items
        await asked.add(member("b", runs="20s"))
        await advance(5)
        running, workload = await pods(asked), await asked.workload("g")
        await advance(60)

    assert is_gated(alone)
    assert none_yet == []
    assert "ErrWorkloadCompose: 'g' group has fewer runnable pods than expected" in await asked.events("a")
    assert [each["count"] for each in workload["spec"]["podSets"]] == [2]
    assert [owner["name"] for owner in workload["metadata"]["ownerReferences"]] == ["a", "b"]
    assert {name: raw["status"]["phase"] for name, raw in running.items()} == {"a": "Running", "b": "Running"}
    assert running["a"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert (await asked.told("g"))["Finished"] == "True Succeeded: Pods succeeded: 2/2."
    assert [raw["metadata"].get("finalizers") for raw in (await pods(asked)).values()] == [None, None]


async def test_a_group_of_two_roles_is_one_workload(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a", count=3), member("b", count=3, cpu="500m"), member("c", count=3, cpu="500m"))
        await advance(10)
        workload = await asked.workload("g")

    assert sorted(each["count"] for each in workload["spec"]["podSets"]) == [1, 2]
    assert set((await phases(asked)).values()) == {"Running"}


async def test_a_group_that_does_not_fit_waits_as_a_whole(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a", cpu="3"), member("b", cpu="3"))
        await advance(10)

    assert [is_gated(raw) for raw in (await pods(asked)).values()] == [True, True]


async def test_a_pod_too_many_is_deleted(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a"), member("b"))
        await advance(5)
        await asked.add(member("c"))
        await advance(10)

    assert await phases(asked) == {"a": "Running", "b": "Running"}
    assert "ExcessPodDeleted: Excess pod deleted" in await asked.events("c")


async def test_a_failed_pod_waits_for_its_replacement(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a", runs="300s"), member("b", runs="5s", annotations=FAILS))
        await advance(20)
        waits, failed = await asked.told("g"), await pod(asked, "b")
        await asked.add(member("c", runs="60s"))
        await advance(10)
        replaced, running = await pod(asked, "b"), await phases(asked)
        told = await asked.told("g")
        await advance(400)

    assert waits["WaitingForReplacementPods"] == "True PodsFailed: Some Failed pods need replacement"
    assert failed["metadata"]["finalizers"] == ["kueue.x-k8s.io/managed"]
    assert "finalizers" not in replaced["metadata"]
    assert running == {"a": "Running", "b": "Failed", "c": "Running"}
    assert told["WaitingForReplacementPods"] == "False PodsReady: No pods need replacement"
    assert (await asked.told("g"))["Finished"] == "True Succeeded: Pods succeeded: 2/2."


async def test_a_group_that_is_not_retriable_ends_with_its_pods(asked):
    once = {"kueue.x-k8s.io/retriable-in-group": "false"}
    async with asked.managed(SETTINGS):
        await asked.add(member("a", runs="5s", annotations=once), member("b", runs="5s", annotations={**once, **FAILS}))
        await advance(30)

    assert (await asked.told("g"))["Finished"] == "True Succeeded: Pods succeeded: 1/2."


async def test_the_copy_of_a_group_starts_when_all_its_pods_are_there(asked):
    marks = {"kueue.x-k8s.io/prebuilt-workload-name": "w", "kueue.x-k8s.io/retriable-in-group": "false"}
    copied = {"of": "w", "runs": "5s", "annotations": marks, "origin": "multikueue"}
    async with asked.managed(SETTINGS):
        await asked.add(member("a"), member("b"))
        await advance(5)
        await asked.add(workload_manifest("w", *(await asked.workload("g"))["spec"]["podSets"]))
        await asked.add(member("c", **copied))
        await advance(20)
        alone, told = await pod(asked, "c"), await asked.told("w")
        await asked.add(member("d", **copied))
        await advance(20)

    assert is_gated(alone)
    assert told["Admitted"].startswith("True")
    assert (await asked.told("w"))["Finished"] == "True Succeeded: Pods succeeded: 2/2."


async def test_a_pod_that_succeeded_gives_its_quota_back(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a", cpu="2", runs="10s"), member("b", cpu="2"))
        await advance(30)
        workload = await asked.workload("g")

    assert [each["count"] for each in workload["status"]["reclaimablePods"]] == [1]


async def test_a_fast_group_is_admitted_by_its_first_pod(asked):
    fast = {"kueue.x-k8s.io/pod-group-fast-admission": "true"}
    async with asked.managed(SETTINGS):
        await asked.add(member("a", count=3, annotations=fast))
        await advance(5)
        workload, first = await asked.workload("g"), await phases(asked)
        await asked.add(member("b", count=3, annotations=fast))
        await advance(5)

    assert [each["count"] for each in workload["spec"]["podSets"]] == [3]
    assert first == {"a": "Running"}
    assert await phases(asked) == {"a": "Running", "b": "Running"}


async def test_an_evicted_group_stops_and_waits_for_replacements(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a"), member("b"))
        await advance(10)
        await asked.change(await asked.workload("g"), spec={"active": False})
        await advance(30)
        told, stopped = await asked.told("g"), await pods(asked)
        await asked.change(await asked.workload("g"), spec={"active": True})
        await asked.add(member("c"), member("d"))
        await advance(30)

    assert told["QuotaReserved"] == "False Pending: The workload is deactivated"
    assert told["WaitingForReplacementPods"] == "True Deactivated: The workload is deactivated"
    assert ["deletionTimestamp" in raw["metadata"] for raw in stopped.values()] == [True, True]
    assert await phases(asked) == {"c": "Running", "d": "Running"}


async def test_a_group_whose_workload_is_deleted_goes(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a"), member("b"))
        await advance(10)
        await asked.delete("Workload", "g", NAMESPACE)
        await advance(30)

    assert await pods(asked) == {}
    assert (await asked.client.list(kueue.Workload.resource)).items == []


async def test_a_workload_of_somebody_else_is_not_taken(asked):
    other = workload_manifest("g")
    async with asked.managed(SETTINGS):
        await asked.add(other, member("a"), member("b"))
        await advance(10)
        refused = [is_gated(raw) for raw in (await pods(asked)).values()]
        await asked.delete("Workload", "g", NAMESPACE)
        await advance(10)

    note = (
        'WorkloadNameConflict: A Workload named "g" already exists but is not a pod group workload; '
        "this pod group cannot be admitted"
    )
    assert refused == [True, True]
    assert note in await asked.events("a")
    assert await phases(asked) == {"a": "Running", "b": "Running"}


async def test_a_group_that_changed_while_it_waits_is_asked_for_anew(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a", cpu="3"), member("b", cpu="3"))
        await advance(5)
        for name in ("a", "b"):
            await asked.client.merge(
                Pod.resource, name, NAMESPACE, {"metadata": {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "60"}}}
            )
        await advance(5)
        workload = await asked.workload("g")

    assert workload["spec"]["maximumExecutionTimeSeconds"] == 60


async def test_all_is_quiet_when_a_group_runs_and_another_waits(asked):
    async with asked.managed(SETTINGS):
        await asked.add(member("a"), member("b"), member("x", of="h", cpu="9"), member("y", of="h", cpu="9"))
        await advance(20)
        before = await asked.revision()
        await advance(300)
        after = await asked.revision()

    assert after == before


async def test_a_start_that_fails_halfway_is_finished_later(asked):
    failure = Failure("patch pods/team/b", errors.ServerError("no"), times=2)
    async with asked.managed(SETTINGS):
        asked.way.failures.append(failure)
        await asked.add(member("a"), member("b"))
        await advance(60)

    assert failure.times == 0
    assert await phases(asked) == {"a": "Running", "b": "Running"}


async def test_an_eviction_that_fails_halfway_is_finished_later(asked):
    failure = Failure("delete pods/team/b", errors.ServerError("no"), times=2)
    async with asked.managed(SETTINGS):
        await asked.add(member("a"), member("b"))
        await advance(10)
        asked.way.failures.append(failure)
        await asked.change(await asked.workload("g"), spec={"active": False})
        await advance(60)

    assert failure.times == 0
    assert ["deletionTimestamp" in raw["metadata"] for raw in (await pods(asked)).values()] == [True, True]
    assert (await asked.told("g"))["QuotaReserved"].startswith("False Pending")
