"""What a job writes on its way from the hub to a running pod, on the whole embedded system: a table that only shrinks.

What others change all the time, such as leases and scores, does not count.
"""

import asyncio
from collections import Counter
from functools import cache

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.embedded.apiserver.storage.interface import StorageChange
from fleetqueue.manifests import objects
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance

from .fleet_template import FleetTemplate, template
from .seeds import unlogged

JOBS = 3
KINDS = ("Job", "Workload", "Pod", "Event")
QUEUES = ("ClusterQueue", "LocalQueue")
AWAKE, RUNNING = 30, 10
"""Seconds until a copy of the fleet is at rest, and until the jobs run."""
WRITES = {
    "hub": {"Job": 4, "Workload": 8, "Event": 6},
    "workers": {"Job": 5, "Workload": 5, "Pod": 3, "Event": 7},
}
"""Of one job, the first write of each object included."""
QUEUE_WRITES = 3
"""Of each queue at the most, however many jobs come: its numbers are gathered for a second."""


async def _run(fleets: FleetTemplate) -> list[tuple[str, StorageChange]]:
    seen: list[tuple[str, StorageChange]] = []
    async with fleets.copy(lambda name, change: seen.append((name, change))) as fleet:
        job, hub = objects("job-demo2.yaml")[0], fleet.hub.client()
        # On one worker: how many of a job's statuses come back depends on how busy that worker is in the same moment.
        packed = {"metadata": {"annotations": {"fleetqueue.dev/strategy": "pack"}}}
        await hub.merge(kueue.AdmissionCheck.resource, "placement-demo2", "", packed)
        await advance(AWAKE)
        seen.clear()
        named = [{**job, "metadata": {**job["metadata"], "name": f"job-{number}"}} for number in range(JOBS)]
        await asyncio.gather(*(hub.create(Job.resource, one) for one in named))
        await advance(RUNNING)
        return seen


@cache
def written() -> list[tuple[str, StorageChange]]:
    made = template()
    loop = asyncio.Runner(loop_factory=VirtualTimeLoop)
    with unlogged(), clock.use(VirtualClock(0, made.moment)), loop as runner:
        return runner.run(_run(made))


def counted(kinds: tuple[str, ...]) -> Counter[tuple[str, str]]:
    where = {name: "hub" if name == "hub" else "workers" for name, _ in written()}
    return Counter((where[name], kind) for name, change in written() if (kind := change.entry.object["kind"]) in kinds)


def test_a_job_costs_no_more_than_these_writes():
    allowed = {(place, kind): JOBS * most for place, kinds in WRITES.items() for kind, most in kinds.items()}

    found = counted(KINDS)

    assert {what: number for what, number in found.items() if number > allowed.get(what, 0)} == {}


def test_all_jobs_run():
    running = {
        change.entry.object["metadata"]["name"]
        for name, change in written()
        if name == "hub" and change.entry.object["kind"] == "Job" and change.entry.object["status"].get("ready")
    }

    assert running == {f"job-{number}" for number in range(JOBS)}


def test_the_numbers_of_queues_are_gathered():
    found = Counter(
        (name, change.entry.object["kind"], change.entry.object["metadata"]["name"])
        for name, change in written()
        if change.entry.object["kind"] in QUEUES
    )

    assert max(found.values()) <= QUEUE_WRITES
