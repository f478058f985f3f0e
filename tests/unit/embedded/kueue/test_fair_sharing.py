"""A whole manager that shares fairly: what it admits and preempts, and what it tells of shares."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.quantity import parse
from fleetqueue.embedded.kueue.settings import AdmissionFairSharingSettings, FairSharingSettings, KueueSettings
from fleetqueue.testing.virtual_time import advance

from .scheduling.objects import NAMESPACE, group, local_queue_manifest, queue_manifest, quota, workload_manifest

pytestmark = pytest.mark.virtual_time

SHARING = KueueSettings(fair_sharing=FairSharingSettings())


async def add_fair_queues(world):
    borrower = queue_manifest("borrower", group(default=quota(1)), cohort="team", fairSharing={"weight": "2"})
    await world.client.create(kueue.Cohort.resource, kueue.Cohort.manifest("team", spec={"parentName": "company"}))
    await world.add(queue_manifest("lender", cohort="company"), borrower, local_queue_manifest("borrower"))


async def shares(world):
    """Return what is told of the shares of the borrowing queue and its cohort."""
    cohort = await world.client.get(kueue.Cohort.resource, "team")
    told = [
        (each.get("status") or {}).get("fairSharing") for each in (await world.get("ClusterQueue", "borrower"), cohort)
    ]
    return [each and each["weightedShare"] for each in told]


async def test_shares_are_told_where_they_are_fair(world):
    async with world.managed(SHARING):
        await add_fair_queues(world)
        await advance(2)
        before = await shares(world)
        await world.add(workload_manifest("a", cpu="3", to="borrower"))
        await advance(3)
        borrowing = await shares(world)
        await world.delete("Workload", "a", NAMESPACE)
        await advance(3)

    assert before == [0, 0]
    assert borrowing == [200, 400]
    assert await shares(world) == [0, 0]


async def test_shares_are_taken_back_where_they_are_no_longer_fair(world):
    async with world.managed(SHARING):
        await add_fair_queues(world)
        await advance(3)
    async with world.managed():
        await advance(3)

    assert await shares(world) == [None, None]


HALVING = KueueSettings(admission_fair_sharing=AdmissionFairSharingSettings(half_life=60, sampling_interval=60))
BY_USAGE = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


async def consumed(world, name="q"):
    """Return what a LocalQueue is said to have consumed, and when that was said."""
    status = (await world.get("LocalQueue", name, NAMESPACE))["status"]["fairSharing"]
    assert status["weightedShare"] == 0
    return status["admissionFairSharingStatus"]["consumedResources"], status["admissionFairSharingStatus"]["lastUpdate"]


async def test_what_a_local_queue_consumes_is_sampled_again_and_again(world):
    async with world.managed(HALVING):
        await world.change(await world.get("ClusterQueue", "q"), spec=BY_USAGE)
        await advance(3)
        first, since = await consumed(world)
        await world.add(workload_manifest("a", cpu="4"))
        await advance(20)
        early = await consumed(world)
        await advance(600)
        later, at = await consumed(world)

    assert first == {"cpu": "0"}
    assert early == (first, since)
    assert list(later) == ["cpu"]
    assert 3990 < parse(later["cpu"]) * 1000 <= 4000
    assert at > since


async def test_what_was_consumed_outlives_a_manager(world):
    async with world.managed(HALVING):
        await world.add(workload_manifest("a", cpu="4"))
        await advance(600)
        before, _ = await consumed(world)
    async with world.managed(HALVING):
        await advance(3)
        after, _ = await consumed(world)
    async with world.managed():
        await advance(3)

    assert parse(after["cpu"]) == parse(before["cpu"]) > 3
    assert await consumed(world) is not None


async def test_who_has_consumed_less_is_admitted_first(world):
    queues = queue_manifest("shared", group(default=quota(2)), **BY_USAGE)
    async with world.managed(HALVING):
        await world.add(queues, *(local_queue_manifest(name, to="shared") for name in ("heavy", "light")))
        await world.add(workload_manifest("first", cpu="2", to="heavy"))
        await advance(2)
        await world.add(workload_manifest("second", cpu="2", to="heavy"))
        await advance(2)
        await world.add(workload_manifest("third", cpu="2", to="light"))
        await advance(2)
        await world.delete("Workload", "first", NAMESPACE)
        await advance(3)

    assert (await world.told("third"))["QuotaReserved"].startswith("True")
    assert (await world.told("second"))["QuotaReserved"].startswith("False")


async def test_who_has_more_is_preempted_for_who_has_less(world):
    rules = {"preemption": {"reclaimWithinCohort": "Any"}}
    names = ("has", "wants")
    async with world.managed(SHARING):
        await world.add(*(queue_manifest(name, group(default=quota(0)), cohort="c", **rules) for name in names))
        await world.add(queue_manifest("lender", cohort="c"), *(local_queue_manifest(name) for name in names))
        await world.add(*(workload_manifest(f"old-{number}", to="has", cpu="2") for number in range(2)))
        await advance(2)
        await world.add(workload_manifest("new", to="wants", cpu="2"))
        await advance(3)

    told = [await world.told(f"old-{number}") for number in range(2)]
    (preempted,) = [each["Preempted"] for each in told if "Preempted" in each]
    assert preempted.startswith("True InCohortFairSharing: Preempted to accommodate a workload (UID: ")
    assert preempted.endswith("due to Fair Sharing within the cohort; preemptor path: /c/wants; preemptee path: /c/has")
    assert (await world.told("new"))["QuotaReserved"].endswith("Pending the preemption of 1 workload(s)")
