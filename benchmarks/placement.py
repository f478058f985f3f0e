"""How long after a score changed has the PlacementDecision changed? Ours beside OCM's own controller, in one run.

A hub has 10, 500 and 3,000 clusters in one set, each with a score, and a Placement that wants the best three. A score
rises to the top or falls to the bottom; the time runs from the request that changes it to the watch event that shows
another decision. On the real kube-apiserver OCM's controller and ours take turns, each a process of its own while the
other is frozen; then ours runs once more in one process with our embedded API server.

Of the way, two writes and two watch events are the API server's; `thinking` is the controller's own share, from the
metric that both have (scheduling_scheduling_duration_seconds): how long it takes to decide, on average.

    python benchmarks/placement.py

The last numbers, n=160, Kubernetes 1.36.3, OCM 1.2.1, on two cores that were shared with much other work (load 9), so
that only what stands in one run may be compared:

    clusters  who                        p50      p99       thinking  memory
    10        OCM, real kube-apiserver   13.5 ms  127.7 ms   0.07 ms   82 MB
    10        ours, real kube-apiserver  35.3 ms  132.8 ms   0.45 ms   65 MB
    500       OCM, real kube-apiserver   22.2 ms  114.1 ms   1.50 ms   89 MB
    500       ours, real kube-apiserver  26.1 ms  193.4 ms   0.32 ms   68 MB
    3000      OCM, real kube-apiserver   40.6 ms  328.9 ms  16.98 ms  101 MB
    3000      ours, real kube-apiserver  32.3 ms  134.5 ms   0.47 ms   82 MB
    10        ours, embedded              4.6 ms   25.1 ms   0.33 ms
    500       ours, embedded              5.2 ms   46.3 ms   0.19 ms
    3000      ours, embedded              7.1 ms   40.7 ms   0.26 ms
"""

import argparse
import asyncio
import platform
import re
import signal
import ssl
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
from measuring.processes import megabytes
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from rich.console import Console
from rich.table import Table

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.embedded.ocm.placement.settings import PlacementSettings
from fleetqueue.embedded.ocm.placement.wiring import controllers
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real import parts
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

SIZES = (10, 500, 3000)
NAME = "bench"
SCORE = ("usage", "gpu")
WANTED = 3
TURNS = 4
AT_ONCE = 16
REAL = "hub/placement"
PORT = 18090
REST = 3.0
"""Seconds before each measurement: either controller may then write a hundred times before it is slowed down."""

Chosen = tuple[str, ...]
ReadMetrics = Callable[[], Awaitable[str]]


@dataclass
class Times:
    seconds: list[float] = field(default_factory=list)
    thought: float = 0.0
    decisions: float = 0.0


class Bench:
    """A hub that grows, and a Placement on it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.clusters = 0

    async def set_up(self) -> None:
        await self.client.create(Namespace.resource, Namespace.manifest(NAME))
        binding = cluster.ManagedClusterSetBinding.manifest(NAME, NAME, spec={"clusterSet": NAME})
        await self.client.create(cluster.ManagedClusterSet.resource, cluster.ManagedClusterSet.manifest(NAME, spec={}))
        await self.client.create(cluster.ManagedClusterSetBinding.resource, binding)
        resource, score = SCORE
        coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": score}}
        policy = {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate, "weight": 1}]}
        spec = {"numberOfClusters": WANTED, "prioritizerPolicy": policy}
        await self.client.create(cluster.Placement.resource, cluster.Placement.manifest(NAME, NAME, spec=spec))

    async def grow(self, size: int) -> None:
        turns = asyncio.Semaphore(AT_ONCE)

        async def add(number: int) -> None:
            async with turns:
                await self.add(number)

        await asyncio.gather(*(add(number) for number in range(self.clusters, size)))
        self.clusters = size

    async def add(self, number: int) -> None:
        name, labels = f"c{number:04}", {cluster.CLUSTER_SET_LABEL: NAME}
        manifest = cluster.ManagedCluster.manifest(name, labels=labels, spec={"hubAcceptsClient": True})
        await self.client.create(cluster.ManagedCluster.resource, manifest)
        await self.client.create(Namespace.resource, Namespace.manifest(name))
        await self.client.create(
            cluster.AddOnPlacementScore.resource, cluster.AddOnPlacementScore.manifest(SCORE[0], name)
        )
        await self.score(name, 50 if number < WANTED else -100)

    async def score(self, name: str, value: int) -> None:
        status = {"status": {"scores": [{"name": SCORE[1], "value": value}]}}
        await self.client.merge(cluster.AddOnPlacementScore.resource, SCORE[0], name, status, subresource="status")

    async def measure(self, rounds: int, metrics: ReadMetrics, times: Times) -> None:
        """Let a score rise and fall, and add how long each change took to be seen in the decision."""
        async with self.following() as seen:
            await self.until(seen, lambda chosen: len(chosen) == WANTED)
            await asyncio.sleep(REST)
            await self.rise_and_fall(seen, 0)  # warms up
            before = scheduling(await metrics())
            for number in range(rounds // 2):
                times.seconds += await self.rise_and_fall(seen, number)
            after = scheduling(await metrics())
        times.thought += after[0] - before[0]
        times.decisions += after[1] - before[1]

    async def rise_and_fall(self, seen: "asyncio.Queue[Chosen]", number: int) -> list[float]:
        name = f"c{WANTED + number * 7 % (self.clusters - WANTED):04}"
        return [await self.change(seen, name, value) for value in (100, -100)]

    async def change(self, seen: "asyncio.Queue[Chosen]", name: str, value: int) -> float:
        while not seen.empty():
            seen.get_nowait()
        started = perf_counter()
        changing = asyncio.ensure_future(self.score(name, value))
        await self.until(seen, lambda chosen: (name in chosen) is (value > 0))
        seconds = perf_counter() - started
        await changing
        return seconds

    async def until(self, seen: "asyncio.Queue[Chosen]", done: Callable[[Chosen], bool]) -> None:
        async with asyncio.timeout(60):
            while not done(await seen.get()):
                pass

    @asynccontextmanager
    async def following(self) -> AsyncIterator["asyncio.Queue[Chosen]"]:
        seen: asyncio.Queue[Chosen] = asyncio.Queue()
        informer = Informer(self.client, cluster.PlacementDecision)
        informer.subscribe(
            lambda old, new: seen.put_nowait(tuple(d.cluster_name for d in new.status.decisions) if new else ())
        )
        following = asyncio.create_task(informer.run())
        await informer.synced.wait()
        try:
            yield seen
        finally:
            following.cancel()
            await asyncio.wait({following})


class Ours:
    """Our controller as a process of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.process: Any = None

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--controller", str(self.kubeconfig), stdout=asyncio.subprocess.PIPE
        )
        await asyncio.wait_for(self.process.stdout.readline(), 120)

    async def stop(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        await self.process.wait()

    async def metrics(self) -> str:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{PORT}/metrics") as response:
            return await response.text()


def manager(client: Client) -> tuple[Manager, CollectorRegistry]:
    hub, metrics = Cluster("hub", client), Metrics()
    room = controllers(hub, metrics, PlacementSettings(), compile_expression=no_expressions)
    return Manager(hub, room), metrics.registry


def no_expressions(source: str, scores_of: Any) -> Any:
    raise ValueError(f"there are no expressions in this benchmark: {source}")


async def be_the_controller(kubeconfig: Path) -> None:
    works, registry = manager(connect(load(kubeconfig)))
    start_http_server(PORT, addr="127.0.0.1", registry=registry)
    working = asyncio.create_task(works.run())
    await works.ready.wait()
    print("ready", flush=True)
    await working


async def on_the_real_server(sizes: list[int], rounds: int, row: Callable[..., None]) -> None:
    with tempfile.TemporaryDirectory(prefix="fleetqueue-bench-") as folder:
        async with RealFleet(Path(folder), workers=0, ocm="placement", kueue=False) as fleet:
            kubeconfig = fleet.clusters["hub"].kubeconfig
            bench, ours = Bench(connect(load(kubeconfig))), Ours(kubeconfig)
            await bench.set_up()
            await ours.start()
            for size in sizes:
                of_ocm, of_ours = await take_turns(fleet, bench, ours, size, rounds)
                row(size, "OCM, real kube-apiserver", of_ocm, memory=megabytes(fleet.processes.get(REAL).process.pid))
                row(size, "ours, real kube-apiserver", of_ours, memory=megabytes(ours.process.pid))
            await ours.stop()
            await bench.client.close()


async def take_turns(fleet: RealFleet, bench: Bench, ours: Ours, size: int, rounds: int) -> tuple[Times, Times]:
    """Measure OCM's controller and ours by turns, so that a busy moment of the machine hits both."""
    of_ocm, of_ours = Times(), Times()
    ours.process.send_signal(signal.SIGSTOP)
    await bench.grow(size)
    for _ in range(TURNS):
        await bench.measure(rounds // TURNS, lambda: ocm_metrics(fleet), of_ocm)
        fleet.pause(REAL)
        ours.process.send_signal(signal.SIGCONT)
        await bench.measure(rounds // TURNS, ours.metrics, of_ours)
        ours.process.send_signal(signal.SIGSTOP)
        fleet.resume(REAL)
    return of_ocm, of_ours


async def in_one_process(sizes: list[int], rounds: int, row: Callable[..., None]) -> None:
    async with EmbeddedFleet.open(workers=0) as fleet:
        client = fleet.hub.client()
        for definition in crds("ocm-hub"):
            await client.create(CustomResourceDefinition.resource, definition)
        await asyncio.sleep(1)
        works, registry = manager(fleet.hub.client())
        working = asyncio.create_task(works.run())

        async def metrics() -> str:
            return generate_latest(registry).decode()

        bench = Bench(client)
        await bench.set_up()
        for size in sizes:
            await bench.grow(size)
            times = Times()
            for _ in range(TURNS):
                await bench.measure(rounds // TURNS, metrics, times)
            row(size, "ours, embedded", times)
        working.cancel()
        await asyncio.wait({working})


async def ocm_metrics(fleet: RealFleet) -> str:
    hub = fleet.clusters["hub"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # its certificate is its own
    context.load_cert_chain(hub.folder / "pki" / "admin.crt", hub.folder / "pki" / "admin.key")
    url = f"https://127.0.0.1:{hub.ports['ocm-placement']}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context) as response:
        return await response.text()


def scheduling(metrics: str) -> tuple[float, float]:
    """Return how many seconds were spent on deciding, and how often."""
    found = dict(re.findall(r"^scheduling_scheduling_duration_seconds_(sum|count){.*} (\S+)$", metrics, re.MULTILINE))
    return float(found["sum"]), float(found["count"])


async def main(sizes: list[int], rounds: int, where: list[Callable[..., Awaitable[None]]]) -> None:
    rows: list[tuple[str, ...]] = []

    def row(size: int, who: str, times: Times, memory: float = 0.0) -> None:
        ordered = sorted(1000 * each for each in times.seconds)
        p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
        shown = [f"{each:.1f} ms" for each in (statistics.median(ordered), p99, ordered[-1])]
        thinking = f"{1000 * times.thought / times.decisions:.2f} ms"
        rows.append((str(size), who, *shown, thinking, f"{memory:.0f} MB" if memory else ""))
        print(*rows[-1], flush=True)

    for measure in where:
        await measure(sizes, rounds, row)
    versions = f"Kubernetes {parts.KUBERNETES_VERSION}, OCM {parts.OCM_VERSION}, Python {platform.python_version()}"
    table = Table(title=f"{platform.machine()}, {versions}, n={rounds}")
    for column in ("clusters", "who", "p50", "p99", "max", "thinking", "memory"):
        table.add_column(column)
    for each in rows:
        table.add_row(*each)
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=160, help="changes of a score at each size, a multiple of eight")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="how many clusters, from few to many")
    parser.add_argument("--embedded", action="store_true", help="only ours, in one process")
    parser.add_argument("--controller", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.controller:
        asyncio.run(be_the_controller(options.controller))
    else:
        both: list[Callable[..., Awaitable[None]]] = [on_the_real_server, in_one_process]
        asyncio.run(main(options.sizes, options.rounds, both[1:] if options.embedded else both))
