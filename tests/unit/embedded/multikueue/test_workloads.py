"""A Workload is offered to all nominated clusters, and the first that admits it runs its job."""

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import Event
from fleetqueue.rules.workload_slices import ELASTIC_JOB
from tests.invariants.standing_by import REASON

from .objects import NAMESPACE, condition, job_manifest

pytestmark = pytest.mark.fleet(scenario="api")


async def test_a_workload_is_offered_to_all_and_runs_on_the_first_that_admits_it(env):
    env.arrange()
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
        offered = env.has_copy()
        nominated = env.workload().status.nominated_cluster_names
        env.admit("cluster2")
        await env.fleet.settle()

    assert offered == ["cluster1", "cluster2"]
    assert nominated == ("cluster1", "cluster2")
    assert env.has_copy() == ["cluster2"]
    assert env.has_job() == ["cluster2"]
    assert env.workload().status.cluster_name == "cluster2"
    assert env.workload().status.nominated_cluster_names == ()
    assert (env.check().state, env.check().message) == ("Ready", 'The workload was admitted on "cluster2"')


async def test_a_workload_that_was_dispatched_is_left_in_peace(env):
    env.arrange()
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
        env.admit("cluster1")
        await env.fleet.advance(10)
        env.hub.writes.clear()
        env.fleet["cluster1"].writes.clear()
        await env.fleet.advance(3600)

    assert env.hub.writes == []
    assert env.fleet["cluster1"].writes == []


async def test_the_copies_say_where_they_come_from(env):
    env.arrange()
    async with env.multikueue(origin="hub-7"):
        env.submit()
        await env.fleet.settle()
        env.admit("cluster1")
        await env.fleet.settle()

    workload, job = env.workload(cluster="cluster1"), env.job(cluster="cluster1")
    assert workload.metadata.labels == {kueue.ORIGIN_LABEL: "hub-7"}
    assert (workload.metadata.finalizers, workload.metadata.owner_references) == ((), ())
    assert job.metadata.labels[kueue.ORIGIN_LABEL] == "hub-7"
    assert job.metadata.annotations == {kueue.PREBUILT_WORKLOAD: "j"}
    assert (job.spec.suspend, job.spec.managed_by) == (True, "")


async def test_somebody_elses_job_is_not_touched_and_told_of(env):
    env.arrange("cluster1")
    env.fleet["cluster1"].add(job_manifest(managedBy=None))
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
        env.admit("cluster1")
        await env.fleet.settle()
        told = [event for event in env.hub.list(Event)]
        env.fleet["cluster1"].remove(Job, "j", NAMESPACE)
        await env.fleet.advance(11)

    assert len(told) == 1
    assert env.check().state == "Ready"
    assert kueue.ORIGIN_LABEL in env.job(cluster="cluster1").metadata.labels


async def test_two_clusters_that_are_one_worker_do_not_fight(env):
    env.arrange("cluster1")
    env.connect_as("again", "cluster1")
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
        env.admit("cluster1")
        await env.fleet.advance(10)
        env.hub.writes.clear()
        await env.fleet.advance(600)

    assert env.hub.writes == []
    assert env.workload().status.cluster_name == "cluster1"
    assert env.has_job() == ["cluster1"]


async def test_what_was_deleted_while_we_were_away_is_found(env):
    env.arrange()
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
    env.hub.change(kueue.Workload, "j", NAMESPACE, metadata={"finalizers": None})
    env.hub.remove(kueue.Workload, "j", NAMESPACE)
    before = env.has_copy()
    async with env.multikueue():
        await env.fleet.advance(61)

    assert before == ["cluster1", "cluster2"]
    assert env.has_copy() == []


async def test_an_external_dispatcher_nominates(env):
    env.arrange()
    async with env.multikueue(dispatcher="example.com/dispatcher"):
        env.submit()
        await env.fleet.settle()
        before = env.has_copy()
        status = {**env.hub.raw(kueue.Workload, "j", NAMESPACE)["status"], "nominatedClusterNames": ["cluster2"]}
        env.hub.apply_as("kueue-admission", kueue.Workload, "j", NAMESPACE, status=status)
        await env.fleet.settle()
        after = env.has_copy()
        env.admit("cluster2")
        await env.fleet.settle()

    assert (before, after) == ([], ["cluster2"])
    assert env.workload().status.cluster_name == "cluster2"
    assert env.workload().status.nominated_cluster_names == ()


@pytest.mark.breaks(REASON, why="Kueue's own dispatchers say nothing of a job that no cluster has taken yet")
@pytest.mark.fleet(scenario="api", workers=4)
async def test_the_incremental_dispatcher_adds_some_every_five_minutes(env):
    env.arrange()
    async with env.multikueue(dispatcher=kueue.INCREMENTAL):
        env.submit()
        await env.fleet.settle()
        first = env.workload().status.nominated_cluster_names
        await env.fleet.advance(299)
        still = env.workload().status.nominated_cluster_names
        await env.fleet.advance(2)

    assert first == still == ("cluster1", "cluster2", "cluster3")
    assert env.workload().status.nominated_cluster_names == (*first, "cluster4")
    assert env.has_copy() == ["cluster1", "cluster2", "cluster3", "cluster4"]


async def test_a_priority_that_changes_reaches_the_copies(env):
    env.arrange()
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    async with env.multikueue():
        env.submit(priority=1, priorityClassRef=reference)
        await env.fleet.settle()
        uid = env.workload(cluster="cluster1").uid
        env.hub.change(kueue.Workload, "j", NAMESPACE, spec={"priority": 9})
        await env.fleet.settle()

    assert env.workload(cluster="cluster1").spec.priority == 9
    assert env.workload(cluster="cluster1").uid == uid


async def test_progress_comes_back_in_batches(env):
    env.arrange("cluster1")
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
        env.admit("cluster1")
        await env.fleet.settle()
        env.hub.change(Job, "j", NAMESPACE, spec={"suspend": False})
        env.fleet["cluster1"].change(Job, "j", NAMESPACE, spec={"suspend": False})
        await env.fleet.advance(5)
        env.hub.writes.clear()
        for count in range(1, 6):
            status = {"startTime": "2026-01-01T00:00:00Z", "active": 1, "failed": count}
            env.fleet["cluster1"].change(Job, "j", NAMESPACE, status=status)
            await env.fleet.advance(0.1)
        await env.fleet.advance(5)

    assert env.job().status.failed == 5
    assert env.hub.writes == ["patch jobs/team-a/j/status"]


async def test_the_numbers_are_told(env):
    env.arrange()
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
        env.admit("cluster1")
        await env.fleet.settle()

    def number(name, cluster):
        labels = {"cluster_queue": "q", "cluster": cluster, "replica_role": "standalone"}
        return env.metrics.registry.get_sample_value(f"multikueue_workloads_{name}_total", labels)

    assert (number("dispatched", "cluster1"), number("dispatched", "cluster2")) == (1, 1)
    assert (number("admitted", "cluster1"), number("admitted", "cluster2")) == (1, None)


@pytest.mark.parametrize("what", ["create jobs/*", "create workloads/*"])
@pytest.mark.parametrize("applied", [False, True], ids=["lost", "applied"])
async def test_a_write_whose_answer_is_lost_is_found_out_about(env, what, applied):
    env.arrange("cluster1")
    env.fleet["cluster1"].fail_on(what, errors.Unreachable("reset"), times=1, applied=applied)
    async with env.multikueue():
        env.submit()
        await env.fleet.advance(20)
        env.admit("cluster1")
        await env.fleet.advance(20)

    assert env.check().state == "Ready"
    assert env.has_job() == ["cluster1"]


@pytest.mark.parametrize("is_elastic", [True, False], ids=["elastic", "of one size"])
async def test_a_slice_whose_job_has_ended_on_the_hub_is_first_left_to_that(env, is_elastic):
    """The job's own controller finishes it, and says so; it does not look at slices that have finished."""
    env.arrange("cluster1")
    async with env.multikueue():
        env.submit()
        if is_elastic:
            for kind in (Job, kueue.Workload):
                env.hub.change(kind, "j", NAMESPACE, metadata={"annotations": {ELASTIC_JOB: "true"}})
        await env.fleet.settle()
        env.admit("cluster1")
        await env.fleet.advance(5)
        now = timestamp(clock.now())
        ended = [condition("SuccessCriteriaMet"), condition("Complete")]
        status = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": ended}
        env.fleet["cluster1"].change(Job, "j", NAMESPACE, spec={"suspend": False})
        env.fleet["cluster1"].change(Job, "j", NAMESPACE, status=status)
        env.tell("cluster1", Finished="Succeeded")
        while not env.job().has_ended:
            await env.fleet.advance(0.1)
        assert env.workload().is_finished is not is_elastic
        await env.fleet.advance(2)

    assert env.workload().is_finished
