"""Somebody deletes the Workload of a job that must not run twice, while the worker that runs it is cut off.

Kueue makes another Workload for the job. It knows of nothing, and the worker cannot be asked whether the job still runs
there.
"""

from contextlib import nullcontext
from datetime import datetime

import pytest

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import LOST_WORKER, WAIT
from fleetqueue.controllers.placement_admission.earlier_workloads import FIRST_SECONDS
from tests.job_kinds import JOB, STATEFUL_SET

from .paused_managers import no_pods_yet
from .sent_jobs import found, of, placed, submit, workloads

PATIENCE = 180.0


@pytest.mark.long
@pytest.mark.timeout(500)
@pytest.mark.parametrize("restarts", [False, True], ids=["we see it", "we are down meanwhile"])
@pytest.mark.parametrize("kind", [JOB, STATEFUL_SET], ids=lambda kind: kind.resource.kind)
async def test_a_job_whose_workload_is_deleted_runs_nowhere_else_before_its_worker_answers(env, kind, restarts):
    """Of a Job the hub counts no pod yet: else Kueue would keep its Workload until its worker has told its end."""
    policy = {"metadata": {"annotations": {LOST_WORKER: WAIT}}}
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", policy)
    heart = await env.start_heart(drain_poll=1.0)
    await env.connected(*env.workers)
    await env.knows_its_queue(*JOB.manifests(env.name))
    async with no_pods_yet(env) if kind is JOB else nullcontext():
        await submit(env, kind)
        first = await placed(env, kind)
        await of(env, kind, lambda: is_old(env, kind), "is older than any new Workload")
        (before,) = await workloads(env, kind)

        await env.world.fleet.cut(first)
        if restarts:
            await heart.kill()
        await env.hub.delete(kueue.Workload.resource, before.name, env.name)
        await of(env, kind, lambda: has_another(env, kind, before), "has another Workload")
        if restarts:
            await env.start_heart(drain_poll=1.0)
        await of(env, kind, lambda: waits_for(env, kind, first), "waits for its worker")
        assert await places(env, kind) == [first]

        await env.world.fleet.heal(first)
        await env.eventually(lambda: runs_once(env, kind), f"{kind.name} runs again", within=PATIENCE)


async def is_old(env, kind):
    (raw,) = await found(env.hub, kind, env.name)
    return (
        clock.now() - datetime.fromisoformat(raw["metadata"]["creationTimestamp"])
    ).total_seconds() > FIRST_SECONDS + 1


async def has_another(env, kind, before):
    """Tell whether Kueue has made another Workload; for a StatefulSet it does so when something happens to that."""
    touched = {"metadata": {"annotations": {"fleetqueue.test/touched": str(clock.monotonic())}}}
    await env.hub.merge(kind.resource, kind.name, env.name, touched)
    return any(workload.uid != before.uid for workload in await workloads(env, kind))


async def waits_for(env, kind, worker):
    """Tell whether our check says that a job waits; it is nowhere else meanwhile."""
    assert await places(env, kind) == [worker]
    said = [workload.check(env.name) for workload in await workloads(env, kind)]
    return any(f"waits for {env.name}-{worker}" in check.message for check in said if check is not None)


async def runs_once(env, kind):
    """Tell whether a job is on one worker again, and the hub knows it; it is never on two."""
    where = await places(env, kind)
    assert len(where) < 2
    on = {workload.status.cluster_name for workload in await workloads(env, kind)}
    return bool(where) and on == {f"{env.name}-{where[0]}"}


async def places(env, kind):
    return [name for name, client in env.workers.items() if await found(client, kind, env.name)]
