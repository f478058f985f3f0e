"""A Workload is offered to all nominated clusters, and the first that admits it runs its job."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from tests.invariants.standing_by import REASON

from .objects import NAMESPACE, job_manifest

pytestmark = pytest.mark.fleet(parts=False)


async def test_a_workload_is_offered_to_all_and_runs_on_the_first_that_admits_it(stage):
    stage.arrange()
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
        offered = stage.has_copy()
        nominated = stage.workload().status.nominated_cluster_names
        stage.admit("cluster2")
        await stage.fleet.settle()

    assert offered == ["cluster1", "cluster2"]
    assert nominated == ("cluster1", "cluster2")
    assert stage.has_copy() == ["cluster2"]
    assert stage.has_job() == ["cluster2"]
    assert stage.workload().status.cluster_name == "cluster2"
    assert stage.workload().status.nominated_cluster_names == ()
    assert (stage.check().state, stage.check().message) == ("Ready", 'The workload was admitted on "cluster2"')


async def test_a_workload_that_was_dispatched_is_left_in_peace(stage):
    stage.arrange()
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
        stage.admit("cluster1")
        await stage.fleet.advance(10)
        stage.hub.writes.clear()
        stage.fleet["cluster1"].writes.clear()
        await stage.fleet.advance(3600)

    assert stage.hub.writes == []
    assert stage.fleet["cluster1"].writes == []


async def test_the_copies_say_where_they_come_from(stage):
    stage.arrange()
    async with stage.multikueue(origin="hub-7"):
        stage.submit()
        await stage.fleet.settle()
        stage.admit("cluster1")
        await stage.fleet.settle()

    workload, job = stage.workload(cluster="cluster1"), stage.job(cluster="cluster1")
    assert workload.metadata.labels == {kueue.ORIGIN_LABEL: "hub-7"}
    assert (workload.metadata.finalizers, workload.metadata.owner_references) == ((), ())
    assert job.metadata.labels[kueue.ORIGIN_LABEL] == "hub-7"
    assert job.metadata.annotations == {kueue.PREBUILT_WORKLOAD: "j"}
    assert (job.spec.suspend, job.spec.managed_by) == (True, "")


async def test_somebody_elses_job_is_not_touched_and_told_of(stage):
    stage.arrange("cluster1")
    stage.fleet["cluster1"].add(job_manifest(managedBy=None))
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
        stage.admit("cluster1")
        await stage.fleet.settle()
        told = [event for event in stage.hub.list(Event)]
        stage.fleet["cluster1"].remove(Job, "j", NAMESPACE)
        await stage.fleet.advance(11)

    assert len(told) == 1
    assert stage.check().state == "Ready"
    assert kueue.ORIGIN_LABEL in stage.job(cluster="cluster1").metadata.labels


async def test_two_clusters_that_are_one_worker_do_not_fight(stage):
    stage.arrange("cluster1")
    stage.connect_as("again", "cluster1")
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
        stage.admit("cluster1")
        await stage.fleet.advance(10)
        stage.hub.writes.clear()
        await stage.fleet.advance(600)

    assert stage.hub.writes == []
    assert stage.workload().status.cluster_name == "cluster1"
    assert stage.has_job() == ["cluster1"]


async def test_what_was_deleted_while_we_were_away_is_found(stage):
    stage.arrange()
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
    stage.hub.change(kueue.Workload, "j", NAMESPACE, metadata={"finalizers": None})
    stage.hub.remove(kueue.Workload, "j", NAMESPACE)
    before = stage.has_copy()
    async with stage.multikueue():
        await stage.fleet.advance(61)

    assert before == ["cluster1", "cluster2"]
    assert stage.has_copy() == []


async def test_an_external_dispatcher_nominates(stage):
    stage.arrange()
    async with stage.multikueue(dispatcher="example.com/dispatcher"):
        stage.submit()
        await stage.fleet.settle()
        before = stage.has_copy()
        status = {**stage.hub.raw(kueue.Workload, "j", NAMESPACE)["status"], "nominatedClusterNames": ["cluster2"]}
        stage.hub.apply_as("kueue-admission", kueue.Workload, "j", NAMESPACE, status=status)
        await stage.fleet.settle()
        after = stage.has_copy()
        stage.admit("cluster2")
        await stage.fleet.settle()

    assert (before, after) == ([], ["cluster2"])
    assert stage.workload().status.cluster_name == "cluster2"
    assert stage.workload().status.nominated_cluster_names == ()


@pytest.mark.breaks(REASON, why="Kueue's own dispatchers say nothing of a job that no cluster has taken yet")
@pytest.mark.fleet(parts=False, workers=4)
async def test_the_incremental_dispatcher_adds_some_every_five_minutes(stage):
    stage.arrange()
    async with stage.multikueue(dispatcher=kueue.INCREMENTAL):
        stage.submit()
        await stage.fleet.settle()
        first = stage.workload().status.nominated_cluster_names
        await stage.fleet.advance(299)
        still = stage.workload().status.nominated_cluster_names
        await stage.fleet.advance(2)

    assert first == still == ("cluster1", "cluster2", "cluster3")
    assert stage.workload().status.nominated_cluster_names == (*first, "cluster4")
    assert stage.has_copy() == ["cluster1", "cluster2", "cluster3", "cluster4"]


async def test_a_priority_that_changes_reaches_the_copies(stage):
    stage.arrange()
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    async with stage.multikueue():
        stage.submit(priority=1, priorityClassRef=reference)
        await stage.fleet.settle()
        uid = stage.workload(cluster="cluster1").uid
        stage.hub.change(kueue.Workload, "j", NAMESPACE, spec={"priority": 9})
        await stage.fleet.settle()

    assert stage.workload(cluster="cluster1").spec.priority == 9
    assert stage.workload(cluster="cluster1").uid == uid


async def test_progress_comes_back_in_batches(stage):
    stage.arrange("cluster1")
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
        stage.admit("cluster1")
        await stage.fleet.settle()
        stage.hub.change(Job, "j", NAMESPACE, spec={"suspend": False})
        stage.fleet["cluster1"].change(Job, "j", NAMESPACE, spec={"suspend": False})
        await stage.fleet.advance(5)
        stage.hub.writes.clear()
        for count in range(1, 6):
            status = {"startTime": "2026-01-01T00:00:00Z", "active": 1, "failed": count}
            stage.fleet["cluster1"].change(Job, "j", NAMESPACE, status=status)
            await stage.fleet.advance(0.1)
        await stage.fleet.advance(5)

    assert stage.job().status.failed == 5
    assert stage.hub.writes == ["patch jobs/team-a/j/status"]


async def test_the_numbers_are_told(stage):
    stage.arrange()
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
        stage.admit("cluster1")
        await stage.fleet.settle()

    def number(name, cluster):
        labels = {"cluster_queue": "q", "cluster": cluster, "replica_role": "standalone"}
        return stage.metrics.registry.get_sample_value(f"multikueue_workloads_{name}_total", labels)

    assert (number("dispatched", "cluster1"), number("dispatched", "cluster2")) == (1, 1)
    assert (number("admitted", "cluster1"), number("admitted", "cluster2")) == (1, None)


@pytest.mark.parametrize("what", ["create jobs/*", "create workloads/*"])
@pytest.mark.parametrize("applied", [False, True], ids=["lost", "applied"])
async def test_a_write_whose_answer_is_lost_is_found_out_about(stage, what, applied):
    stage.arrange("cluster1")
    stage.fleet["cluster1"].fail_on(what, errors.Unreachable("reset"), times=1, applied=applied)
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.advance(20)
        stage.admit("cluster1")
        await stage.fleet.advance(20)

    assert stage.check().state == "Ready"
    assert stage.has_job() == ["cluster1"]
