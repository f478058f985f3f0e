"""A job that no worker's quota can ever hold, on the whole embedded system: told why, and sent when a quota grows."""

import asyncio
from copy import deepcopy

from fleetqueue import clock
from fleetqueue.admin import inventory
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.client import Client
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.manifests import objects
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance

from .fleet_template import LABEL, T4, template
from .seeds import unlogged

CPUS = 64
AWAKE, LOOKED_AT = 30, 30
"""Seconds until a copy of the fleet is at rest, and until a job has been decided on."""


async def _resize(client: Client, cpus: int) -> None:
    for raw in (await client.list(kueue.ClusterQueue.resource)).items:
        groups = deepcopy(raw["spec"].get("resourceGroups") or [])
        for resource in (r for group in groups for flavor in group["flavors"] for r in flavor["resources"]):
            resource["nominalQuota"] = str(cpus) if resource["name"] == "cpu" else resource["nominalQuota"]
        if groups:
            patch = {"spec": {"resourceGroups": groups}}
            await client.merge(kueue.ClusterQueue.resource, raw["metadata"]["name"], "", patch)


def _job() -> dict[str, object]:
    job = deepcopy(objects("job-demo2.yaml")[0])
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": str(CPUS), "memory": "1Mi"}}
    return {**job, "metadata": {**job["metadata"], "name": "large"}}


async def _row(hub: Client) -> dict[str, object]:
    return next(row for row in await inventory.jobs(hub) if row["job"] == "Job/large")


async def _run(fleet: EmbeddedFleet) -> tuple[dict[str, object], dict[str, object]]:
    hub = fleet.hub.client()
    await hub.merge(cluster.ManagedCluster.resource, "cluster1", "", {"metadata": {"labels": {LABEL: T4}}})
    await _resize(hub, CPUS)
    await advance(AWAKE)
    await hub.create(Job.resource, _job())
    await advance(LOOKED_AT)
    before = await _row(hub)
    await _resize(fleet.clusters["cluster2"].client(), CPUS)
    await advance(LOOKED_AT)
    return before, await _row(hub)


def test_a_job_that_no_quota_holds_is_told_so_and_sent_when_one_grows():
    async def run() -> tuple[dict[str, object], dict[str, object]]:
        async with made.copy(lambda name, change: None) as fleet:
            return await _run(fleet)

    made = template()
    with unlogged(), clock.use(VirtualClock(0, made.moment)), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        before, after = runner.run(run())

    assert before["clusters"] == []
    each = "; ".join(f"placement-demo2-cluster{n}: has 9 cpu, and the job needs {CPUS}" for n in (1, 2, 3))
    assert f"no selected cluster's quota holds this job; {each}" in before["why"]
    assert after["clusters"] == ["cluster2"]
