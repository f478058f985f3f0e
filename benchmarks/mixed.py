"""Do 10,000 jobs of mixed kinds go through one embedded fleet in one go? How fast, and does each run once?

They are created on the hub all at once, all kinds that go through MultiKueue by turns. Each is placed, sent to one of
three workers, run there by its operator, and told of on the hub; one that serves is deleted when all its pods run.

    make bench ONLY=mixed
    python benchmarks/mixed.py --jobs 1000
"""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from time import perf_counter

from apiserver import bytecode
from fleets import mixed_jobs
from fleets.running import WRITERS, RunningFleet
from servers import peers
from servers.report import Report, Row, machine

from fleetqueue import __version__
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.client import Client
from fleetqueue.runtime.informer import Informer

WORKERS = 3
LIMIT_SECONDS = 3600.0


class Watched:
    """What is seen of the jobs while they go through, each by its number."""

    def __init__(self, hub: Client, jobs: int) -> None:
        self.hub = hub
        self.jobs = jobs
        self.ended: dict[int, float] = {}
        """When each was seen to end: by its Workload, or by the deletion of that."""
        self.places: defaultdict[int, set[str]] = defaultdict(set)
        """The clusters on which any pod of it ever ran."""
        self.all_ended = asyncio.Event()
        self._serving: defaultdict[int, set[str]] = defaultdict(set)
        """Of those that serve: the pods that have run."""
        self._deleting: set[asyncio.Task[None]] = set()

    def see_workload(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        seen = new or old
        number = mixed_jobs.number_of(seen.name) if seen is not None else None
        if seen is None or number is None:
            return
        is_served = new is None and self._has_served(number)
        if seen.is_finished or is_served:
            self.ended.setdefault(number, perf_counter())
        if len(self.ended) >= self.jobs:
            self.all_ended.set()

    def see_pod(self, cluster: str, old: Pod | None, new: Pod | None) -> None:
        number = mixed_jobs.number_of(new.name) if new is not None else None
        if new is None or number is None or not new.spec.node_name:
            return
        self.places[number].add(cluster)
        had_served = self._has_served(number)
        if new.is_ready:
            self._serving[number].add(new.name)
        if self._has_served(number) and not had_served:
            task = asyncio.create_task(mixed_jobs.delete(self.hub, number))
            self._deleting.add(task)
            task.add_done_callback(self._deleting.discard)

    def _has_served(self, number: int) -> bool:
        pods = mixed_jobs.kind_of(number).pods
        return bool(pods) and len(self._serving[number]) >= pods

    @property
    def served(self) -> int:
        return sum(1 for number in self.ended if self._has_served(number))

    @property
    def twice(self) -> int:
        return sum(1 for clusters in self.places.values() if len(clusters) > 1)

    def pace(self, begin: float, end: float) -> float:
        """Return how many jobs ended in a second, of those from one share of all to another."""
        moments = sorted(self.ended.values())
        first, last = moments[int(begin * self.jobs)], moments[int(end * self.jobs) - 1]
        return (end - begin) * self.jobs / (last - first)


@asynccontextmanager
async def watching(fleet: RunningFleet, jobs: int) -> AsyncIterator[Watched]:
    watched, of_hub = Watched(fleet.hub, jobs), Informer(fleet.hub, kueue.Workload)
    of_hub.subscribe(watched.see_workload)
    informers: list[Informer[kueue.Workload] | Informer[Pod]] = [of_hub]
    for name, client in fleet.clients.items():
        pods = Informer(client, Pod)
        pods.subscribe(partial(watched.see_pod, name))
        informers.append(pods)
    following = [asyncio.create_task(informer.run()) for informer in informers]
    for informer in informers:
        await informer.synced.wait()
    try:
        yield watched
    finally:
        for task in following:
            task.cancel()
        await asyncio.wait(following)


async def create_all(fleet: RunningFleet, jobs: int) -> None:
    turns = asyncio.Semaphore(WRITERS)

    async def create(number: int) -> None:
        async with turns:
            await mixed_jobs.create(fleet.hub, number)

    await asyncio.gather(*map(create, range(jobs)))


async def succeeded(fleet: RunningFleet) -> int:
    found = [raw async for page in fleet.hub.pages(kueue.Workload.resource, "default") for raw in page.items]
    reasons = [one["reason"] for raw in found for one in raw["status"]["conditions"] if one["type"] == kueue.FINISHED]
    return reasons.count("Succeeded")


async def run(jobs: int, report: Report) -> None:
    with peers.folder(None) as folder:
        async with RunningFleet.up(folder / "fleet", "embedded", WORKERS) as fleet:
            await fleet.prepare()
            for client in fleet.clients.values():
                await mixed_jobs.create_runtime(client)
            before, cpu = await fleet.memory(), await fleet.cpu()
            async with watching(fleet, jobs) as watched:
                began = perf_counter()
                await create_all(fleet, jobs)
                created = perf_counter() - began
                async with asyncio.timeout(LIMIT_SECONDS):
                    await watched.all_ended.wait()
                seconds = perf_counter() - began
            well = await succeeded(fleet) + watched.served
            cpu, after = await fleet.cpu() - cpu, await fleet.memory()
    kinds = f"{len(mixed_jobs.KINDS)} kinds by turns"
    report.add(Row("jobs of mixed kinds, created to ended", "/s", jobs / seconds, more_is_better=True, note=kinds))
    report.add(Row("... all created after", "s", created))
    report.add(Row("... all ended after", "s", seconds))
    report.add(Row("... by second, of the second tenth", "/s", watched.pace(0.1, 0.2), more_is_better=True))
    report.add(Row("... by second, of the last but one", "/s", watched.pace(0.8, 0.9), more_is_better=True))
    report.add(Row("... ended well, or served", "jobs", well, aim=str(jobs)))
    report.add(Row("... ran on more than one cluster", "jobs", watched.twice, aim="0"))
    report.add(Row("CPU of a job", "ms", 1000 * cpu / jobs))
    report.add(Row("memory of the fleet before", "MB", before))
    report.add(Row("... after", "MB", after, note="all jobs are still there, ended"))
    if well != jobs or watched.twice or len(watched.places) != jobs:
        raise SystemExit(f"{well} of {jobs} ended well, {len(watched.places)} ran, {watched.twice} of them twice")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("-o", "--output", choices=("table", "markdown", "json"), default="table")
    options = parser.parse_args()
    report = Report(is_quiet=options.output != "table")
    with bytecode(), peers.folder(None) as place:
        about = machine(place, {"fleetqueue": __version__})
        asyncio.run(run(options.jobs, report))
    if options.output == "json":
        print(report.json(about))
    else:
        print(", ".join(f"{name} {value}" for name, value in about.items()))
        print(report.markdown() if options.output == "markdown" else report.table())


if __name__ == "__main__":
    main()
