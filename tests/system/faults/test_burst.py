"""A burst of equal jobs on three equal workers with room for all, on the whole embedded system."""

import asyncio
from collections import Counter
from copy import deepcopy

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.client import Client
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.manifests import objects
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance

from .fleet_template import LABEL, T4, template
from .seeds import unlogged

JOBS = 45
QUOTA = 100
AWAKE, RUNNING = 30, 30
"""Seconds until a copy of the fleet is at rest, and until all jobs are admitted."""


async def _widen(member: Client) -> None:
    """Give every queue room for all jobs."""
    for raw in (await member.list(kueue.ClusterQueue.resource)).items:
        groups = deepcopy(raw["spec"].get("resourceGroups") or [])
        for resource in (r for group in groups for flavor in group["flavors"] for r in flavor["resources"]):
            resource["nominalQuota"] = f"{QUOTA}Gi" if resource["name"] == "memory" else str(QUOTA)
        if groups:
            patch = {"spec": {"resourceGroups": groups}}
            await member.merge(kueue.ClusterQueue.resource, raw["metadata"]["name"], "", patch)


def _job(number: int) -> dict[str, object]:
    job = deepcopy(objects("job-demo2.yaml")[0])
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": "100m", "memory": "1Mi"}}
    return {**job, "metadata": {**job["metadata"], "name": f"job-{number}"}}


async def _run(fleet: EmbeddedFleet) -> Counter[str]:
    hub = fleet.hub.client()
    await hub.merge(cluster.ManagedCluster.resource, "cluster1", "", {"metadata": {"labels": {LABEL: T4}}})
    for member in fleet.clusters.values():
        await _widen(member.client())
    await advance(AWAKE)
    await asyncio.gather(*(hub.create(Job.resource, _job(number)) for number in range(JOBS)))
    await advance(RUNNING)
    workloads = (await hub.list(kueue.Workload.resource, "default")).items
    return Counter(name for raw in workloads if (name := (raw.get("status") or {}).get("clusterName")))


def test_a_burst_is_divided_equally_among_equal_workers():
    async def run() -> Counter[str]:
        async with made.copy(lambda name, change: None) as fleet:
            return await _run(fleet)

    made = template()
    with unlogged(), clock.use(VirtualClock(0, made.moment)), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        counts = runner.run(run())

    assert counts == {f"placement-demo2-cluster{number}": JOBS // 3 for number in (1, 2, 3)}
