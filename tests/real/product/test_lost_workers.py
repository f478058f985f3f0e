"""Kueue gives a worker up sooner than we do: its job is evicted while the worker runs it, and nobody can ask there.

Before 0.18.4 Kueue counts its `workerLostTimeout` from when the job was admitted: it does so with every older job
whenever the connection to the worker breaks, however short that is.
"""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import find, is_true

from .kueue_timeouts import worker_lost_timeout
from .paused_managers import no_pods_yet

PATIENCE = 45.0


async def test_a_job_that_kueue_means_to_start_anew_runs_on_where_its_worker_was_cut_off(env):
    """The hub counts no pod of it yet, so that Kueue can end the eviction, and gives it quota again."""
    async with worker_lost_timeout(env.world, "5s"), env.heart(drain_poll=1.0), no_pods_yet(env) as let_pods_start:
        await env.connected(*env.workers)
        await env.submit("job", run_for="5s")
        first = await env.running_on("job")

        await env.world.fleet.cut(first)
        anew = "Kueue has evicted the job, and means to start it anew"
        await env.eventually(lambda: has_quota_again(env), anew, within=2 * PATIENCE)
        await env.world.fleet.heal(first)

        assert await env.running_on("job") == first
        let_pods_start()
        await env.eventually(lambda: is_complete(env), "the job is complete on the hub", within=2 * PATIENCE)
        assert env.witness.most[f"{env.name}/job"] == 1


async def test_a_job_that_kueue_cannot_finish_to_evict_runs_nowhere_else_before_its_worker_answers(env):
    """The hub counts its pod, so that the eviction ends only when the worker has said that the job is stopped."""
    async with worker_lost_timeout(env.world, "5s"), env.heart(drain_poll=1.0):
        await env.connected(*env.workers)
        await env.submit("job", run_for="30s")
        first = await env.running_on("job")
        await env.counts_its_pod("job")

        await env.world.fleet.cut(first)
        await env.eventually(lambda: is_evicted(env), "Kueue evicts the job", within=2 * PATIENCE)
        assert env.witness.live(f"{env.name}/job") == {first}
        await env.world.fleet.heal(first)

        await env.eventually(lambda: is_complete(env), "the job is complete on the hub", within=60 + PATIENCE)
        assert env.witness.most[f"{env.name}/job"] == 1


async def is_evicted(env):
    evicted = find((await env.workload("job")).status.conditions, kueue.EVICTED)
    return evicted is not None and evicted.is_true


async def has_quota_again(env):
    workload = await env.workload("job")
    evicted = find(workload.status.conditions, kueue.EVICTED)
    return evicted is not None and workload.has_quota


async def is_complete(env):
    job = await env.get(Job, "job", env.name)
    return is_true(job.status.conditions, "Complete")
