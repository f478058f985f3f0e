"""Whole runs: our own Kueue on the hub and on every worker, Kubernetes' controllers and nodes, jobs from users."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.testing.builders import pod_template
from tests.invariants.standing_by import ONCE

from .objects import NAMESPACE, QUEUE
from .queues import arrange, endless, the_workload


def user_job(name="j", **spec):
    template = pod_template(requests={"cpu": "1"})
    return Job.manifest(name, NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec={"template": template, **spec})


async def test_a_users_job_runs_on_one_worker_and_its_end_comes_back(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(user_job())
        await env.fleet.advance(2)
        placed = the_workload(env).status.cluster_name
        await env.fleet.advance(60)

    job = env.job()
    assert placed in ("cluster1", "cluster2")
    assert job.has_ended, job
    assert the_workload(env).is_finished
    assert env.has_job() == []
    assert [len(worker.list(kueue.Workload)) for worker in env.workers] == [0, 0]


async def test_a_deactivated_job_stops_on_its_worker_gives_its_quota_back_and_can_run_again(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(endless())
        await env.fleet.advance(5)
        first = the_workload(env)
        running_on = env.has_job()
        env.hub.change(kueue.Workload, first.name, NAMESPACE, spec={"active": False})
        await env.fleet.advance(20)
        stopped, left, job = the_workload(env), env.has_job(), env.job()
        env.hub.change(kueue.Workload, first.name, NAMESPACE, spec={"active": True})
        await env.fleet.advance(20)

    assert len(running_on) == 1
    assert left == []
    assert not stopped.is_true("QuotaReserved")
    assert job.spec.suspend
    assert not job.status.active
    assert len(env.has_job()) == 1
    assert the_workload(env).is_true("Admitted")


async def test_a_copy_that_a_worker_evicts_is_tried_again(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(endless())
        await env.fleet.advance(5)
        workload = the_workload(env)
        worker = workload.status.cluster_name
        env.fleet[worker].change(kueue.ClusterQueue, "q", spec={"stopPolicy": "HoldAndDrain"})
        await env.fleet.advance(30)

    other = {"cluster1": "cluster2", "cluster2": "cluster1"}[worker]
    assert the_workload(env).status.cluster_name == other
    assert env.has_job() == [other]


async def test_a_deleted_job_goes_from_its_worker(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(endless())
        await env.fleet.advance(5)
        before = env.has_job()
        env.hub.remove(Job, "j", NAMESPACE)
        await env.fleet.advance(20)

    assert len(before) == 1
    assert env.has_job() == []
    assert env.hub.list(kueue.Workload) == []
    assert [len(worker.list(kueue.Workload)) for worker in env.workers] == [0, 0]


@pytest.mark.breaks(ONCE, why="a worker that is away for longer than Kueue waits is given up, and cannot be told")
async def test_a_job_of_a_lost_worker_is_started_elsewhere_and_the_old_one_goes_when_it_is_back(env):
    arrange(env)
    async with env.kueue(worker_lost_timeout=120.0):
        env.hub.add(endless())
        await env.fleet.advance(5)
        worker = the_workload(env).status.cluster_name
        other = {"cluster1": "cluster2", "cluster2": "cluster1"}[worker]
        env.fleet.cut(worker)
        await env.fleet.advance(100)
        still = the_workload(env).status.cluster_name
        await env.fleet.advance(60)
        moved = the_workload(env).status.cluster_name
        both = env.has_job()
        env.fleet.heal(worker)
        await env.fleet.advance(400)

    assert still == worker
    assert moved == other
    assert both == ["cluster1", "cluster2"]
    assert env.has_job() == [other]


async def test_a_cluster_that_is_unlisted_loses_its_job_before_another_gets_it(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(endless())
        await env.fleet.advance(5)
        worker = the_workload(env).status.cluster_name
        other = {"cluster1": "cluster2", "cluster2": "cluster1"}[worker]
        env.list_clusters(other)
        await env.fleet.advance(30)

    assert the_workload(env).status.cluster_name == other
    assert env.has_job() == [other]
