"""Kueue gives a worker up sooner than we do: its job is evicted while the worker runs it, and nobody can ask there.

Before 0.18.4 Kueue counts its `workerLostTimeout` from when the job was admitted: it does so with every older job
whenever the connection to the worker breaks, however short that is.
"""

from contextlib import asynccontextmanager

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import find, is_true
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP

KUEUE = "kueue-system"
PATIENCE = 45.0


@asynccontextmanager
async def worker_lost_timeout(world, time):
    """Let the hub's Kueue give workers up after a time, as an administrator would."""
    before = (await world.hub.get(ConfigMap.resource, CONFIG_MAP, KUEUE))["data"][CONFIG_KEY]
    config = yaml.safe_load(before)
    config["multiKueue"]["workerLostTimeout"] = time
    try:
        await set_config(world, yaml.safe_dump(config, sort_keys=False))
        yield
    finally:
        await set_config(world, before)


async def set_config(world, text):
    await world.hub.merge(ConfigMap.resource, CONFIG_MAP, KUEUE, {"data": {CONFIG_KEY: text}})
    await world.fleet.restart("hub/kueue")


async def test_a_job_that_kueue_evicts_while_its_worker_is_cut_off_runs_on_there(stage):
    async with worker_lost_timeout(stage.world, "5s"), stage.heart(drain_poll=1.0):
        await stage.connected(*stage.workers)
        await stage.submit("job", run_for="60s")
        first = await stage.running_on("job")

        await stage.world.fleet.cut(first)
        evicted = "Kueue has evicted the job, and means to start it anew"
        await stage.eventually(lambda: has_quota_again(stage), evicted, within=2 * PATIENCE)
        await stage.world.fleet.heal(first)

        assert await stage.running_on("job") == first
        await stage.eventually(lambda: is_complete(stage), "the job is complete on the hub", within=60 + PATIENCE)
        assert stage.witness.most[f"{stage.name}/job"] == 1


async def has_quota_again(stage):
    workload = await stage.workload("job")
    evicted = find(workload.status.conditions, kueue.EVICTED)
    return evicted is not None and workload.has_quota


async def is_complete(stage):
    job = await stage.get(Job, "job", stage.name)
    return is_true(job.status.conditions, "Complete")
