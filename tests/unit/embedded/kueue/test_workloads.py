"""The life of Workloads on a cluster: checks, evictions, deactivation, deadlines, queues that stop, the end."""

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.settings import KueueSettings, PodsReadySettings
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.virtual_time import advance

from .scheduling.objects import NAMESPACE, condition, local_queue_manifest, queue_manifest, workload_manifest

pytestmark = pytest.mark.virtual_time

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "somebody", "uid": "uid-of-somebody"}


def check_manifest(name="ac"):
    status = {"conditions": [condition("Active", "True")]}
    return kueue.AdmissionCheck.manifest(name, spec={"controllerName": "example.com/check"}, status=status)


def with_checks(*checks):
    listed = [{"name": check} if isinstance(check, str) else check for check in checks]
    return {"spec": {"admissionChecksStrategy": {"admissionChecks": listed}}}


async def answer(world, name, state, message="because", **more):
    """Do what the controller of a check does."""
    raw = await world.workload(name)
    said = {"state": state, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z", **more}
    checks = [{**check, **said} for check in raw["status"]["admissionChecks"]]
    await world.change(raw, status={"admissionChecks": checks})


@pytest.fixture
async def checked(world):
    await world.add(check_manifest())
    await world.client.merge(kueue.ClusterQueue.resource, "q", "", with_checks("ac"))
    return world


async def test_a_workload_gets_the_checks_of_its_queue_and_is_admitted_when_they_are_ready(checked):
    async with checked.managed():
        await checked.add(workload_manifest("a"))
        await advance(2)
        waiting = await checked.told("a")
        checks = (await checked.workload("a"))["status"]["admissionChecks"]
        await answer(checked, "a", "Ready")

    assert waiting == {"QuotaReserved": "True QuotaReserved: Quota reserved in ClusterQueue q"}
    assert [(check["name"], check["state"]) for check in checks] == [("ac", "Pending")]
    assert (await checked.told("a"))["Admitted"] == "True Admitted: The workload is admitted"
    assert any(event.startswith("Admitted: Admitted by ClusterQueue q, wait") for event in await checked.events("a"))


async def test_a_check_that_is_no_longer_asked_for_goes(checked):
    async with checked.managed():
        await checked.add(workload_manifest("a"))
        await advance(2)
        await checked.change(await checked.get("ClusterQueue", "q"), spec={"admissionChecksStrategy": None})

    assert "admissionChecks" not in (await checked.workload("a"))["status"]
    assert (await checked.told("a"))["Admitted"].startswith("True")


async def test_a_check_that_wants_another_try_evicts_and_is_reset(checked):
    async with checked.managed():
        await checked.add(workload_manifest("a"))
        await advance(2)
        await answer(checked, "a", "Retry", "not yet")

    told = await checked.told("a")
    check = (await checked.workload("a"))["status"]["admissionChecks"][0]
    said = 'Evicted due to AdmissionCheck in Retry state: "ac" (not yet)'
    assert told["Evicted"] == f"True AdmissionCheck: {said}"
    assert check["state"] == "Pending"
    assert check["message"] == "Reset to Pending after eviction. Previously: Retry"
    assert check["retryCount"] == 1
    assert f"EvictedDueToAdmissionCheck: {said}" in await checked.events("a")


async def test_a_rejection_deactivates(checked):
    async with checked.managed():
        await checked.add(workload_manifest("a"))
        await advance(2)
        await answer(checked, "a", "Rejected", "no")

    raw, told = await checked.workload("a"), await checked.told("a")
    said = 'AdmissionCheck in Rejected state: "ac" (no)'
    assert raw["spec"]["active"] is False
    assert told["Evicted"] == (f"True DeactivatedDueToAdmissionCheck: The workload is deactivated due to {said}")
    assert "DeactivationTarget" not in told
    assert f"AdmissionCheckRejected: Deactivated due to {said}" in await checked.events("a")
    assert raw["status"]["schedulingStats"]["evictions"] == [
        {"reason": "Deactivated", "underlyingCause": "AdmissionCheck", "count": 1}
    ]


async def test_a_deactivated_workload_is_evicted(world):
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(2)
        await world.change(await world.workload("a"), spec={"active": False})

    assert (await world.told("a"))["Evicted"] == "True Deactivated: The workload is deactivated"
    assert "EvictedDueToDeactivated: The workload is deactivated" in await world.events("a")


@pytest.mark.parametrize(
    ("arranged", "says"),
    [
        pytest.param([], "LocalQueue other doesn't exist", id="no LocalQueue"),
        pytest.param([local_queue_manifest("other")], "ClusterQueue other doesn't exist", id="no ClusterQueue"),
        pytest.param(
            [local_queue_manifest("other", to="q", stop="Hold")], "LocalQueue other is inactive", id="it is stopped"
        ),
        pytest.param(
            [local_queue_manifest("other"), queue_manifest("other", stopPolicy="Hold")],
            "ClusterQueue other is inactive",
            id="the ClusterQueue is stopped",
        ),
    ],
)
async def test_a_workload_says_which_queue_keeps_it(world, arranged, says):
    async with world.managed():
        await world.add(*arranged, workload_manifest("a", to="other"))
        await advance(3)

    assert await world.told("a") == {"QuotaReserved": f"False Inadmissible: {says}"}


async def test_a_queue_that_comes_later_lets_it_in(world):
    async with world.managed():
        await world.add(workload_manifest("a", to="other"))
        await advance(3)
        await world.add(local_queue_manifest("other", to="q"))
        await advance(3)

    assert (await world.told("a"))["Admitted"].startswith("True")


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
async def test_a_queue_that_is_drained_evicts(world, kind):
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(2)
        namespace = NAMESPACE if kind == "LocalQueue" else ""
        await world.change(await world.get(kind, "q", namespace), spec={"stopPolicy": "HoldAndDrain"})

    assert (await world.told("a"))["Evicted"] == f"True {kind}Stopped: The {kind} is stopped"


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
async def test_a_queue_that_is_stopped_takes_quota_from_who_is_not_admitted(checked, kind):
    async with checked.managed():
        await checked.add(workload_manifest("a"))
        await advance(2)
        namespace = NAMESPACE if kind == "LocalQueue" else ""
        await checked.change(await checked.get(kind, "q", namespace), spec={"stopPolicy": "Hold"})

    told = await checked.told("a")
    assert told["QuotaReserved"] in (
        f"False Inadmissible: {kind} q is stopped",
        f"False Inadmissible: {kind} q is inactive",
    )
    assert "Evicted" not in told


async def test_a_workload_that_runs_too_long_is_deactivated(world):
    async with world.managed():
        await world.add(workload_manifest("a", maximumExecutionTimeSeconds=60))
        await advance(59)
        before = await world.told("a")
        await advance(4)

    told = await world.told("a")
    assert "Evicted" not in before
    assert told["Evicted"] == (
        "True DeactivatedDueToMaximumExecutionTimeExceeded: "
        "The workload is deactivated due to exceeding the maximum execution time"
    )
    assert "MaximumExecutionTimeExceeded: The maximum execution time (60s) exceeded" in await world.events("a")


async def test_pods_that_are_not_ready_in_time_cost_the_admission(world):
    async with world.managed(KueueSettings(pods_ready=PodsReadySettings(timeout=30, first_back_off=10))):
        await world.add(workload_manifest("a"))
        await advance(35)

    raw, told = await world.workload("a"), await world.told("a")
    assert told["Evicted"] == f"True PodsReadyTimeout: Exceeded the PodsReady timeout {NAMESPACE}/a"
    assert raw["status"]["requeueState"]["count"] == 1
    assert raw["status"]["schedulingStats"]["evictions"] == [
        {"reason": "PodsReadyTimeout", "underlyingCause": "WaitForStart", "count": 1}
    ]


async def test_who_was_queued_too_often_is_deactivated(world):
    async with world.managed(KueueSettings(pods_ready=PodsReadySettings(timeout=30, limit=0))):
        await world.add(workload_manifest("a"))
        await advance(35)

    assert (await world.told("a"))["Evicted"] == (
        "True DeactivatedDueToRequeuingLimitExceeded: "
        "The workload is deactivated due to exceeding the maximum number of re-queuing retries"
    )


async def test_a_workload_without_its_job_is_finished_and_let_go(world):
    orphan = workload_manifest("a")
    orphan["metadata"] |= {"labels": {kueue.JOB_UID_LABEL: "gone"}, "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    async with world.managed():
        await world.add(orphan)
        await advance(2)

    raw = await world.workload("a")
    assert (await world.told("a"))["Finished"] == "True OwnerNotFound: The workload's owner no longer exists"
    assert "finalizers" not in raw["metadata"]


async def test_a_deleted_workload_without_an_owner_goes(world):
    held = workload_manifest("a")
    held["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
    async with world.managed():
        await world.add(held)
        await world.delete("Workload", "a", NAMESPACE)

    with pytest.raises(errors.NotFound):
        await world.workload("a")


async def test_a_finished_workload_is_deleted_after_its_time(world):
    finished = workload_manifest("a")
    async with world.managed(KueueSettings(keep_finished=60)):
        await world.add(finished)
        await advance(2)
        raw = await world.workload("a")
        told = [*raw["status"]["conditions"], condition("Finished", "True", "Succeeded", at=clock.now())]
        await world.change(raw, status={"conditions": told})
        kept = await world.told("a")
        await advance(60)

    assert "Finished" in kept
    with pytest.raises(errors.NotFound):
        await world.workload("a")
    assert "Deleted: Deleted finished workload due to elapsed retention" in await world.events("a")


async def test_a_gate_keeps_a_workload_out_until_it_is_taken_away(world):
    gated = workload_manifest("a")
    gated["metadata"]["annotations"] = {"kueue.x-k8s.io/admission-gated-by": "example.com/gate"}
    async with world.managed():
        await world.add(gated)
        await advance(2)
        held = await world.told("a")
        await world.change(gated, metadata={"annotations": None})
        await advance(2)

    assert held == {"QuotaReserved": "False AdmissionGated: Admission is gated by: example.com/gate"}
    assert (await world.told("a"))["Admitted"].startswith("True")
    assert "AdmissionGateCleared: Admission gate cleared, workload is now admissible" in await world.events("a")
    assert "AdmissionGated: Workload admission is gated by: example.com/gate" in await world.events("a")


async def test_a_manager_is_quiet_when_all_is_said(checked):
    async with checked.managed():
        await checked.add(workload_manifest("a"), workload_manifest("b", cpu="9"))
        await advance(5)
        before = await checked.revision()
        await advance(600)
        after = await checked.revision()
    async with checked.managed():
        await advance(600)

    assert after == before
    assert await checked.revision() == before


async def test_an_eviction_that_could_not_be_written_is_written_later(world):
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(2)
        world.way.failures.append(Failure("* workloads/team/a/status", errors.ServerError("no"), times=3))
        await world.change(await world.workload("a"), spec={"active": False})
        await advance(10)

    raw = await world.workload("a")
    assert (await world.told("a"))["Evicted"].startswith("True Deactivated")
    assert raw["status"]["schedulingStats"]["evictions"][0]["count"] == 1
