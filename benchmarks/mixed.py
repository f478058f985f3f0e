"""Do 10,000 jobs of mixed kinds go through one embedded fleet in one go? How fast, and does each run once?

They are created on the hub all at once: Jobs, Pods, JobSets, PyTorchJobs, MPIJobs, RayJobs, TrainJobs and AppWrappers
by turns. Each is placed, sent to one of three workers, run there by its operator, and told of on the hub.

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
from fleetqueue.runtime.informer import Informer

WORKERS = 3
LIMIT_SECONDS = 3600.0


class Watched:
    """What is seen of the jobs while they go through."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.finished: set[str] = set()
        """The Workloads of the hub that have finished, by uid."""
        self.places: defaultdict[str, set[str]] = defaultdict(set)
        """Of each job: the workers on which any pod of it ever ran."""
        self.all_ended = asyncio.Event()

    def see_workload(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        if new is not None and new.is_finished:
            self.finished.add(new.uid)
        if len(self.finished) >= self.jobs:
            self.all_ended.set()

    def see_pod(self, worker: str, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.namespace == "default" and new.spec.node_name:
            self.places[new.name.partition("-")[0]].add(worker)

    @property
    def twice(self) -> int:
        return sum(1 for workers in self.places.values() if len(workers) > 1)


@asynccontextmanager
async def watching(fleet: RunningFleet, jobs: int) -> AsyncIterator[Watched]:
    watched, of_hub = Watched(jobs), Informer(fleet.hub, kueue.Workload)
    of_hub.subscribe(watched.see_workload)
    informers: list[Informer[kueue.Workload] | Informer[Pod]] = [of_hub]
    for name, client in fleet.workers.items():
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


async def ended_well(fleet: RunningFleet) -> int:
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
            ended = await ended_well(fleet)
            cpu, after = await fleet.cpu() - cpu, await fleet.memory()
    kinds = f"{len(mixed_jobs.KINDS)} kinds by turns"
    report.add(Row("jobs of mixed kinds, created to ended", "/s", jobs / seconds, more_is_better=True, note=kinds))
    report.add(Row("... all created after", "s", created))
    report.add(Row("... all ended after", "s", seconds))
    report.add(Row("... ended well", "jobs", ended, aim=str(jobs)))
    report.add(Row("... ran on more than one worker", "jobs", watched.twice, aim="0"))
    report.add(Row("CPU of a job", "ms", 1000 * cpu / jobs))
    report.add(Row("memory of the fleet before", "MB", before))
    report.add(Row("... after", "MB", after, note="all jobs are still there, ended"))
    if ended != jobs or watched.twice or len(watched.places) != jobs:
        raise SystemExit(f"{ended} of {jobs} ended well, {len(watched.places)} ran, {watched.twice} of them twice")


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
