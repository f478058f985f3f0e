"""How fast is a whole embedded fleet beside the same fleet of real parts, and what does it cost? One run, one table.

- life: `fleetqueue up --scenario multikueue` in a shell, until the first job runs on a worker; then a burst of jobs
  that are created on the hub, until all of them run on workers (Kueue and MultiKueue on every cluster, our dispatcher,
  a Placement); then the memory of all processes. The real fleet gets fewer jobs, since it sends about one a second.
- finished: what jobs that are over keep in memory for ever. Two bursts of jobs that run for some seconds; after each,
  the wait until their changes are forgotten. The first burst also leaves room, which the second one uses again. Takes
  25 minutes, most of them waiting.
- scores: a score changes, until the MultiKueueConfig has changed, with many clusters. The whole chain in one process;
  and on one real API server, with OCM's placement controller and ours by turns.

    make bench ONLY=fleet
    python benchmarks/fleet.py --part life --jobs 200 --skip-real
"""

import argparse
import asyncio
import statistics
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from apiserver import bytecode
from fleets.chain import Chain, admission, serve
from fleets.running import RunningFleet
from placement import SIZES, TURNS, Ours, Times, manager, take_turns
from prometheus_client import generate_latest
from servers import peers
from servers.report import Report, Row, machine

from fleetqueue import __version__
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.real import parts
from fleetqueue.real.fleet import RealFleet

EMBEDDED, KUBERNETES = "embedded", "kubernetes"
BESIDE = "the same of real parts"
WORKERS, FURTHER = 3, 3
"""Workers of a fleet, and how many more a larger one has, to see what each costs."""
RUN_SECONDS = 10
FORGOTTEN_SECONDS = 690.0
"""By then the storage has forgotten all changes, and what was kept of jobs that are over is packed."""


@dataclass(frozen=True, slots=True)
class Life:
    """What one fleet showed from its start to its end, in seconds and megabytes."""

    up: float
    first_job: float
    jobs: int
    burst: float
    cpu: float
    """Of the burst, in all processes."""
    memory: float
    memory_after: float
    """After the burst."""
    worker: float
    """Memory of the processes of one worker, where it has processes of its own."""

    @property
    def rate(self) -> float:
        return self.jobs / self.burst

    @property
    def milliseconds(self) -> float:
        """CPU of a job in the burst."""
        return 1000 * self.cpu / self.jobs


class Bench:
    def __init__(self, options: argparse.Namespace, report: Report) -> None:
        self.options = options
        self.report = report

    # A whole life

    async def life(self) -> None:
        mine = [await live(EMBEDDED, self.options.jobs) for _ in range(self.options.rounds)]
        larger = await memory_of(WORKERS + FURTHER)
        real = None if self.options.skip_real else await live(KUBERNETES, self.options.real_jobs)

        def row(question: str, unit: str, what: str, **more: Any) -> None:
            theirs = getattr(real, what) if real else None
            self.report.add(Row(question, unit, typical(mine, what), theirs, BESIDE, **more))

        sizes = f"{self.options.jobs} jobs" + (f"; real: {real.jobs}" if real else "")
        row("up --scenario multikueue", "s", "up")
        row("... until the first job runs", "s", "first_job")
        row("jobs sent in a burst", "/s", "rate", more_is_better=True, aim="100 /s", note=sizes)
        row("CPU of a job in a burst", "ms", "milliseconds", note="of all processes")
        row("memory of hub and three workers", "MB", "memory")
        row("... after the burst", "MB", "memory_after")
        further = (larger - typical(mine, "memory")) / FURTHER
        self.report.add(Row("memory of each further worker", "MB", further, real.worker if real else None, BESIDE))

    # What stays

    async def finished(self) -> None:
        jobs = self.options.jobs
        with peers.folder(None) as folder:
            async with RunningFleet.up(folder / "fleet", EMBEDDED, WORKERS) as fleet:
                await fleet.prepare()
                memory = [await fleet.memory()]
                for prefix in ("first", "second"):
                    await fleet.finish_jobs(jobs, prefix, RUN_SECONDS)
                    await asyncio.sleep(FORGOTTEN_SECONDS)
                    memory.append(await fleet.memory())
        kilobytes = [1000 * (after - before) / jobs for before, after in pairwise(memory)]
        self.report.add(Row(f"memory of a finished job, first {jobs}", "kB", kilobytes[0], None, BESIDE))
        note = f"{FORGOTTEN_SECONDS:.0f} s after the last has ended"
        self.report.add(Row(f"... of {jobs} more", "kB", kilobytes[1], None, BESIDE, aim="48 kB", note=note))

    # Scores

    async def scores(self) -> None:
        """The chain at each size: in one process, and on a real API server with either placement controller."""
        async with EmbeddedFleet.open(workers=1) as worker:
            await serve(worker.workers[0].client(), "kueue")
            mine = await self._in_one_process(worker)
            theirs, ours_there = await self._on_the_real_server(worker) if not self.options.skip_real else ({}, {})
        for size in self.options.sizes:
            question = f"score changed -> config changed, {size} clusters"
            peer = median_ms(theirs[size]) if theirs else None
            beside = "OCM's placement and our controller, real API server"
            self.report.add(Row(question, "ms", median_ms(mine[size]), peer, beside, note="all in one process"))
            if theirs:
                there = median_ms(ours_there[size])
                self.report.add(Row(f"... {size} clusters, real API server", "ms", there, peer, "OCM's placement"))

    async def _in_one_process(self, worker: EmbeddedFleet) -> dict[int, Times]:
        async with EmbeddedFleet.open(workers=0) as fleet:
            client = fleet.hub.client()
            await serve(client, "ocm-hub", "kueue")
            works, registry = manager(fleet.hub.client())
            working = asyncio.create_task(works.run())

            async def metrics() -> str:
                return generate_latest(registry).decode()

            chain, found = Chain(client, worker.workers[0]), {}
            await chain.set_up()
            async with admission(fleet.hub.client(), worker):
                for size in self.options.sizes:
                    await chain.grow(size)
                    found[size] = Times()
                    for _ in range(TURNS):
                        await chain.measure(self.options.changes // TURNS, metrics, found[size])
            working.cancel()
            await asyncio.wait({working})
        return found

    async def _on_the_real_server(self, worker: EmbeddedFleet) -> tuple[dict[int, Times], dict[int, Times]]:
        of_ocm, of_ours = {}, {}
        with tempfile.TemporaryDirectory(prefix="fleetqueue-bench-") as folder:
            async with RealFleet(Path(folder), workers=0, ocm="placement", kueue=False) as fleet:
                kubeconfig = fleet.clusters[HUB].kubeconfig
                chain, ours = Chain(connect(load(kubeconfig)), worker.workers[0]), Ours(kubeconfig)
                await serve(chain.client, "kueue")
                await chain.set_up()
                await ours.start()
                async with admission(connect(load(kubeconfig)), worker):
                    for size in self.options.sizes:
                        times = await take_turns(fleet, chain, ours, size, self.options.changes)
                        of_ocm[size], of_ours[size] = times
                await ours.stop()
                await chain.client.close()
        return of_ocm, of_ours


async def live(engine: str, jobs: int) -> Life:
    with peers.folder(None) as folder:
        async with RunningFleet.up(folder / "fleet", engine, WORKERS) as fleet:
            up = perf_counter() - fleet.began
            await fleet.prepare()
            await fleet.run_jobs(1, "first")
            first = perf_counter() - fleet.began
            memory, cpu = await fleet.memory(), await fleet.cpu()
            burst = await fleet.run_jobs(jobs, "burst")
            cpu, after = await fleet.cpu() - cpu, await fleet.memory()
            return Life(up, first, jobs, burst, cpu, memory, after, await fleet.memory("cluster3/"))


async def memory_of(workers: int) -> float:
    """Return the megabytes of an embedded fleet that is up."""
    with peers.folder(None) as folder:
        async with RunningFleet.up(folder / "fleet", EMBEDDED, workers) as fleet:
            return await fleet.memory()


def typical(lives: list[Life], what: str) -> float:
    return float(statistics.median(getattr(one, what) for one in lives))


def median_ms(times: Times) -> float:
    return 1000 * statistics.median(times.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="embedded fleets, one after the other")
    parser.add_argument("--jobs", type=int, default=1000, help="jobs in a burst, at most 3,000")
    parser.add_argument("--real-jobs", type=int, default=20, help="jobs in a burst of the real fleet")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="how many clusters, from few to many")
    parser.add_argument("--changes", type=int, default=80, help="changes of a score at each size, a multiple of eight")
    parser.add_argument("--skip-real", action="store_true", help="only ours")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; may be given twice")
    parser.add_argument("-o", "--output", choices=("table", "markdown", "json"), default="table")
    options = parser.parse_args()
    report = Report(is_quiet=options.output != "table")
    bench = Bench(options, report)
    versions = {"kueue": parts.KUEUE_VERSION, "ocm": parts.OCM_VERSION, "fleetqueue": __version__}
    with bytecode(), peers.folder(None) as place:
        about = machine(place, versions)
        for part in options.part or PARTS:
            asyncio.run(getattr(bench, part)())
    if options.output == "json":
        print(report.json(about))
    else:
        print(", ".join(f"{name} {value}" for name, value in about.items()))
        print(report.markdown() if options.output == "markdown" else report.table())


PARTS = ("life", "finished", "scores")

if __name__ == "__main__":
    main()
