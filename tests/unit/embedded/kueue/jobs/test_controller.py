"""Jobs under Kueue: they wait suspended, run as admitted, stop when evicted, and end with their Workload."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.integration import StopCause
from fleetqueue.embedded.kueue.jobs.job_writes import JobWrites
from fleetqueue.embedded.kueue.jobs.workload_matching import WorkloadMatching
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.settings import KueueSettings, PodsReadySettings
from fleetqueue.fleets.faults import Failure
from fleetqueue.rules.workload_names import workload_name
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.job_objects import job_manifest, template, workload_of
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE, pod_set, workload_manifest

pytestmark = pytest.mark.virtual_time


async def job(world, name="j"):
    return await world.get("Job", name, NAMESPACE)


async def told_of(world, name="j"):
    return await world.told((await workload_of(world, name))["metadata"]["name"])


async def evict(world, name="j"):
    await world.change(await workload_of(world, name), spec={"active": False})
    await advance(5)


async def test_a_job_gets_a_workload_runs_with_its_flavor_and_ends(world):
    async with world.managed():
        await world.add(job_manifest(pods=template(runs="10s")))
        await advance(3)
        running, workload = await job(world), await workload_of(world)
        await advance(30)

    pods = running["spec"]["template"]
    owner = workload["metadata"]["ownerReferences"][0]
    assert running["spec"]["suspend"] is False
    assert pods["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert pods["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"
    assert pods["metadata"]["labels"]["kueue.x-k8s.io/cluster-queue-name"] == "q"
    assert pods["metadata"]["labels"]["kueue.x-k8s.io/local-queue-name"] == "q"
    assert pods["metadata"]["annotations"]["kueue.x-k8s.io/workload"] == workload["metadata"]["name"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "j", True)
    assert workload["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    assert (await told_of(world))["Finished"] == "True Succeeded: Reached expected number of succeeded pods"
    assert "finalizers" not in (await workload_of(world))["metadata"]
    name = workload["metadata"]["name"]
    assert await world.events("j") == [
        f"CreatedWorkload: Created Workload: {NAMESPACE}/{name}",
        f"FinishedWorkload: Workload '{NAMESPACE}/{name}' is declared finished",
        "Started: Admitted by clusterQueue q",
    ]


async def test_a_failed_job_fails_its_workload(world):
    fails = template(runs="2s", annotations={"fleetqueue.dev/fails": "true"})
    async with world.managed():
        await world.add(job_manifest(pods=fails, backoffLimit=0))
        await advance(30)

    assert (await told_of(world))["Finished"].startswith("True Failed: ")


async def test_a_job_without_a_queue_is_left_alone(world):
    async with world.managed():
        await world.add(job_manifest(queue=""))
        await advance(3)

    assert (await world.client.list(kueue.Workload.resource)).items == []


async def test_jobs_without_a_queue_are_managed_where_that_is_wished(world):
    async with world.managed(KueueSettings(manages_jobs_without_queue=True)):
        await world.add(job_manifest(queue="", suspend=False))
        await advance(10)

    assert (await job(world))["spec"]["suspend"] is True
    assert (await told_of(world))["QuotaReserved"] == "False Inadmissible: LocalQueue  doesn't exist"


async def test_jobs_of_kueue_s_own_namespace_are_left_alone(world):
    hidden = job_manifest()
    hidden["metadata"]["namespace"] = "kueue-system"
    async with world.managed():
        await world.add(Namespace.manifest("kueue-system"), hidden)
        await advance(3)

    assert (await world.client.list(kueue.Workload.resource)).items == []


async def test_an_evicted_job_stops_is_as_before_and_gives_its_quota_back(world):
    async with world.managed():
        await world.add(job_manifest(parallelism=2))
        before = await job(world)
        await advance(10)
        running = await job(world)
        await evict(world)

    after, told = await job(world), await told_of(world)
    assert running["status"]["active"] == 2
    assert after["spec"] == before["spec"]
    assert "startTime" not in after["status"]
    assert "active" not in after["status"]
    assert "kueue.x-k8s.io/stopping" not in (after["metadata"].get("annotations") or {})
    assert told["QuotaReserved"] == "False Pending: The workload is deactivated"
    assert told["Requeued"] == "False Deactivated: The workload is deactivated"
    assert told["Admitted"] == "False NoReservation: The workload has no reservation"
    assert "Stopped: The workload is deactivated" in await world.events("j")


async def test_a_job_that_is_activated_again_runs_again(world):
    async with world.managed():
        await world.add(job_manifest())
        await advance(10)
        await evict(world)
        await world.change(await workload_of(world), spec={"active": True})
        await advance(5)

    told = await told_of(world)
    assert told["Requeued"] == "True Reactivated: The workload was reactivated"
    assert told["Evicted"] == "False QuotaReserved: Previously: The workload is deactivated"
    assert (await job(world))["spec"]["suspend"] is False


async def test_a_queue_that_is_drained_and_started_again_runs_its_job_again(world):
    async with world.managed():
        await world.add(job_manifest())
        await advance(10)
        queue = await world.get("ClusterQueue", "q")
        await world.change(queue, spec={"stopPolicy": "HoldAndDrain"})
        await advance(5)
        drained = await job(world)
        await world.change(queue, spec={"stopPolicy": "None"})
        await advance(5)

    assert drained["spec"]["suspend"] is True
    assert (await told_of(world))["Requeued"] == (
        "True ClusterQueueRestarted: The ClusterQueue was restarted after being stopped"
    )
    assert (await job(world))["spec"]["suspend"] is False


async def test_a_job_that_somebody_starts_is_stopped(world):
    async with world.managed():
        await world.add(job_manifest(pods=template("9")))
        await advance(3)
        await world.change(await job(world), spec={"suspend": False})
        await advance(3)

    assert (await job(world))["spec"]["suspend"] is True
    assert "Stopped: Not admitted by cluster queue" in await world.events("j")


async def test_a_waiting_job_that_changes_changes_its_workload(world):
    async with world.managed():
        await world.add(job_manifest(parallelism=2, pods=template("9")))
        await advance(3)
        before = await workload_of(world)
        await world.change(await job(world), spec={"parallelism": 3})
        await advance(3)

    after = await workload_of(world)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["podSets"][0]["count"] == 3
    name = after["metadata"]["name"]
    assert f"UpdatedWorkload: Updated not matching Workload for suspended job: {NAMESPACE}/{name}" in (
        await world.events("j")
    )


async def test_a_waiting_job_can_go_to_another_queue(world):
    async with world.managed():
        await world.add(job_manifest(queue="nowhere"))
        await advance(3)
        await world.change(await job(world), metadata={"labels": {kueue.QUEUE_LABEL: "q"}})
        await advance(3)

    assert (await job(world))["spec"]["suspend"] is False


async def test_a_running_job_that_changes_is_stopped_and_starts_anew(world):
    async with world.managed():
        await world.add(job_manifest(parallelism=2))
        await advance(10)
        before = await workload_of(world)
        await world.change(await job(world), spec={"parallelism": 3})
        await advance(15)

    after = await workload_of(world)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["podSets"][0]["count"] == 3
    assert (await job(world))["spec"]["suspend"] is False


async def test_a_deleted_workload_stops_its_job_and_a_new_one_is_made(world):
    async with world.managed():
        await world.add(job_manifest())
        await advance(10)
        before = await workload_of(world)
        await world.delete("Workload", before["metadata"]["name"], NAMESPACE)
        await advance(15)

    assert (await workload_of(world))["metadata"]["uid"] != before["metadata"]["uid"]
    assert "Stopped: Workload is deleted" in await world.events("j")


async def test_a_deleted_job_takes_its_workload_along(world):
    async with world.managed():
        await world.add(job_manifest())
        await advance(10)
        await world.delete("Job", "j", NAMESPACE)
        await advance(30)

    assert (await world.client.list(kueue.Workload.resource)).items == []


async def test_fewer_pods_run_where_a_job_says_that_it_can_do_with_them(world):
    fewer = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    async with world.managed():
        await world.add(job_manifest(annotations=fewer, parallelism=6))
        await advance(5)
        running = await job(world)
        await evict(world)

    assert running["spec"]["parallelism"] == 4
    assert (await job(world))["spec"]["parallelism"] == 6


async def test_pods_that_will_not_come_again_free_their_quota(world):
    async with world.managed():
        await world.add(job_manifest(parallelism=2, completions=2, completionMode="Indexed", pods=template(runs="5s")))
        await advance(4)
        raw = await job(world)
        await world.change(raw, status={"succeeded": 1, "completedIndexes": "0", "active": 1, "ready": 1})

    assert (await workload_of(world))["status"]["reclaimablePods"][0]["name"] == "main"


async def test_priorities_come_from_the_class_of_the_job_or_of_its_pods(world):
    await world.client.create(WorkloadPriorityClass.resource, {**WorkloadPriorityClass.manifest("high"), "value": 1000})
    await world.client.create(PriorityClass.resource, {**PriorityClass.manifest("pods"), "value": 7})
    async with world.managed():
        await world.add(
            job_manifest("a", labels={"kueue.x-k8s.io/priority-class": "high"}),
            job_manifest("b", pods=template(priorityClassName="pods", priority=7)),
        )
        await advance(3)

    high, low = await workload_of(world, "a"), await workload_of(world, "b")
    assert high["spec"]["priority"] == 1000
    assert high["spec"]["priorityClassRef"] == {
        "group": "kueue.x-k8s.io",
        "kind": "WorkloadPriorityClass",
        "name": "high",
    }
    assert low["spec"]["priority"] == 7
    assert low["spec"]["priorityClassRef"]["kind"] == "PriorityClass"


async def test_a_job_takes_the_workload_that_was_made_for_it(world):
    made = workload_manifest("prebuilt", pod_set(requests={"cpu": "1"}))
    wanted = job_manifest(annotations={kueue.PREBUILT_WORKLOAD: "prebuilt"})
    async with world.managed():
        await world.add(wanted)
        await advance(2)
        raw = await job(world)
        made["spec"]["podSets"][0]["template"]["spec"] = raw["spec"]["template"]["spec"]
        await world.add(made)
        await advance(10)

    workload = await world.workload("prebuilt")
    assert workload["metadata"]["ownerReferences"][0]["uid"] == raw["metadata"]["uid"]
    assert workload["metadata"]["labels"][kueue.JOB_UID_LABEL] == raw["metadata"]["uid"]
    assert (await job(world))["spec"]["suspend"] is False


async def test_a_prebuilt_workload_that_does_not_fit_is_finished(world):
    async with world.managed():
        await world.add(
            workload_manifest("prebuilt", cpu="2"), job_manifest(annotations={kueue.PREBUILT_WORKLOAD: "prebuilt"})
        )
        await advance(5)

    assert (await world.told("prebuilt"))["Finished"] == (
        "True OutOfSync: The prebuilt workload is out of sync with its user job"
    )


async def test_readiness_is_told_where_it_is_waited_for(world):
    async with world.managed(KueueSettings(pods_ready=PodsReadySettings(timeout=60))):
        await world.add(job_manifest())
        await advance(10)

    assert (await told_of(world))["PodsReady"] == (
        "True Started: All pods reached readiness and the workload is running"
    )


async def test_a_contradiction_ends_a_job_before_it_starts(world):
    async with world.managed():
        await world.add(job_manifest(pods=template(nodeSelector={"kubernetes.io/os": "other"})))
        await advance(5)

    told = await told_of(world)
    assert told.get("Finished", "").startswith("True FailedToStart") or told["QuotaReserved"].startswith("False")


async def test_all_is_quiet_when_a_job_runs(world):
    async with world.managed():
        await world.add(job_manifest(), job_manifest("k", pods=template("9")))
        await advance(20)
        before = await world.revision()
        await advance(300)
        after = await world.revision()
    async with world.managed():
        await advance(100)

    assert after == before
    assert await world.revision() == before


async def test_a_stop_that_fails_halfway_is_finished_later(world):
    async with world.managed():
        await world.add(job_manifest())
        await advance(10)
        world.way.failures.append(Failure("patch jobs/team/j/status", errors.ServerError("no"), times=2))
        await evict(world)
        await advance(20)

    after = await job(world)
    assert after["spec"]["suspend"] is True
    assert "nodeSelector" not in after["spec"]["template"]["spec"]
    assert "kueue.x-k8s.io/stopping" not in (after["metadata"].get("annotations") or {})


def test_names_are_those_of_kueue():
    assert workload_name("Job", "batch", "demo", "uid").startswith("job-demo-")
    assert len(workload_name("Job", "batch", "n" * 300, "uid")) == 253


async def test_a_job_is_not_judged_by_what_it_was_before_our_own_write(world):
    """A job that was just started looks suspended in a cache that lags; its quota would be given away."""
    cluster = Cluster("hub", world.client)
    writes = JobWrites(cluster, BatchJobIntegration(), cluster.events)
    await world.add(job_manifest())
    before = await job(world)

    stopped = await writes.stop(before | {"spec": {**before["spec"], "suspend": False}}, None, StopCause("R", "why"))

    assert writes.is_behind(before)
    assert not writes.is_behind(stopped)
    assert not writes.is_behind(before | {"metadata": {**before["metadata"], "uid": "another"}})


@pytest.mark.parametrize("comes_again", [False, True])
async def test_a_job_that_only_the_cache_still_shows_gets_no_workload(world, comes_again):
    """It would be swept away and made again, without end, for as long as the cache lags."""
    cluster = Cluster("hub", world.client)
    jobs, workloads = JobWrites(cluster, BatchJobIntegration(), cluster.events), WorkloadWrites(cluster, cluster.events)
    matching = WorkloadMatching(cluster, BatchJobIntegration(), KueueSettings(), jobs, workloads, cluster.events)
    await world.add(job_manifest())
    gone = await job(world)
    await world.delete("Job", "j", NAMESPACE)
    if comes_again:
        await world.add(job_manifest())

    await matching.create(gone)

    assert (await world.client.list(kueue.Workload.resource, NAMESPACE)).items == []
