"""A JobSet whose pod sets are in no alphabetical order, on the whole embedded system: Kueue refuses another order."""

import asyncio

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.scheme import Manifest
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance

from .fleet_template import template
from .seeds import unlogged

POD_SETS = ["workers", "driver", "launcher"]
AWAKE, RUNNING = 30, 30


def _job_set() -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}}}
    pods = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    parts = [{"name": name, "template": {"spec": {"template": pods}}} for name in POD_SETS]
    labels = {kueue.QUEUE_LABEL: "user-queue-demo2"}
    return JobSet.manifest("s", "default", labels=labels, spec={"suspend": True, "replicatedJobs": parts})


async def _run(fleet: EmbeddedFleet) -> Manifest:
    hub = fleet.hub.client()
    await advance(AWAKE)
    await hub.create(JobSet.resource, _job_set())
    await advance(RUNNING)
    (workload,) = [
        raw
        for raw in (await hub.list(kueue.Workload.resource, "default")).items
        if any(owner["kind"] == "JobSet" for owner in raw["metadata"].get("ownerReferences") or ())
    ]
    return workload


def test_a_job_set_is_dispatched_with_its_pod_sets_in_their_order():
    async def run() -> Manifest:
        async with made.copy(lambda name, change: None) as fleet:
            return await _run(fleet)

    made = template()
    with unlogged(), clock.use(VirtualClock(0, made.moment)), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        status = runner.run(run())["status"]

    assert status["clusterName"] in ("placement-demo2-cluster2", "placement-demo2-cluster3")
    assert [part["name"] for part in status["admission"]["podSetAssignments"]] == POD_SETS
