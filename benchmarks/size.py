"""Does the product hold on a large hub, within its limits? One run, one table, on a real API server.

The hub has 50,000 Workloads of 12 kB, of which 45,000 are over, and 1,000 ManagedClusters, of which three Placements
select 60. Kueue is off; what it would write is written by this program, straight into etcd. The workers are embedded
API servers. Measured are the peak memory of `fleetqueue controller`, also after all watches have expired and everything
is listed anew; the longest callback of its loop, in CPU time; whether it keeps its lease; how many nominations it
writes a second; how often it lists a draining worker. Then `fleetqueue score-agent` with 100,000 pods.

    make bench ONLY=size
    python benchmarks/size.py --scale 0.05
"""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import aiohttp
from measuring.processes import cpu_seconds, megabytes, metric, until
from measuring.table import Rows
from servers.peers import Ours
from servers.peers import running as serving
from sizes import objects
from sizes.hub import Hub

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DISPATCHER_NAME
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.controllers.placement_admission.dispatcher import DispatcherController
from fleetqueue.controllers.placement_admission.nomination_apply import nomination
from fleetqueue.lab import kubeconfigs
from fleetqueue.lab.pki import read_pair
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real import parts
from fleetqueue.runtime.events import Recorder

KUEUE, OWN = "kueue-system", "fleetqueue-system"
PLACEMENTS, SELECTED = 3, 20
DRAIN_SECONDS = 45
LIMIT = 1200
"""Seconds that anything may take: API servers on a busy machine send 150 Workloads a second."""
DRAIN_POLL = 15
MEASURED = Path(__file__).parent / "sizes" / "measured.py"


class Measured:
    """A running command of ours."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path, port: int) -> None:
        self.process = process
        self.file = folder / "callbacks.json"
        self.port = port

    async def longest(self) -> list[dict[str, object]]:
        """Return the longest callbacks since the last time."""
        self.file.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        await until(self.file.exists, 60)
        found: list[dict[str, object]] = json.loads(self.file.read_text())
        return found

    @property
    def cpu(self) -> float:
        """The seconds of CPU time that it has used."""
        return cpu_seconds(self.process.pid)

    @property
    def peak(self) -> float:
        """The most memory that it ever had, in MB."""
        return megabytes(self.process.pid, "VmHWM")

    async def metric(self, name: str, *labels: str) -> float:
        return await metric(self.port, name, *labels)

    async def is_ready(self) -> bool:
        if self.process.returncode is not None:
            raise RuntimeError(f"it ended with {self.process.returncode}; see its log")
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{self.port}/readyz", timeout=aiohttp.ClientTimeout(5)) as response,
            ):
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False


@asynccontextmanager
async def command(folder: Path, port: int, *arguments: str) -> AsyncIterator[Measured]:
    program = (sys.executable, str(MEASURED), str(folder / "callbacks.json"), *arguments)
    with (folder / f"{arguments[0]}.log").open("w") as log:
        process = await asyncio.create_subprocess_exec(*program, "--set", f"probes.port={port}", stderr=log)
    try:
        yield Measured(process, folder, port)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


class Bench(Rows):
    def __init__(self, hub: Hub, workers: Ours, scale: float) -> None:
        super().__init__()
        self.hub = hub
        self.workers = workers
        self.scale = scale

    def count(self, number: int) -> int:
        return max(PLACEMENTS, round(number * self.scale))

    # What stands on the hub

    async def arrange(self) -> None:
        client = self.hub.client
        for name in (KUEUE, OWN, *(objects.namespace(n) for n in range(objects.NAMESPACES))):
            await client.create(core.Namespace.resource, core.Namespace.manifest(name))
        text = f"multiKueue: {{dispatcherName: {DISPATCHER_NAME}}}"
        config = core.ConfigMap.manifest("kueue-manager-config", KUEUE, data={"controller_manager_config.yaml": text})
        await client.create(core.ConfigMap.resource, config)
        self.hub.fill(cluster.ManagedCluster.resource, (objects.managed_cluster(n) for n in range(self.count(1000))))
        for number in range(PLACEMENTS * SELECTED):
            await self._give_worker(number)
        for number in range(PLACEMENTS):
            await self._give_placement(number)
        self._fill_workloads()

    async def _give_worker(self, number: int) -> None:
        """Let an embedded API server be a cluster's, with Kueue's kinds and nothing else."""
        name, pki = objects.cluster_name(number), self.workers.folder / "pki"
        server = f"https://127.0.0.1:{self.workers.port + number}"
        config = kubeconfigs.kubeconfig(name, server, (pki / "ca.crt").read_bytes(), read_pair(pki, "admin"))
        text = kubeconfigs.dump(config).decode()
        file = self.workers.folder / f"{name}.kubeconfig"
        file.write_text(text)
        worker = connect(load(file))
        for definition in crds("kueue"):
            if definition["spec"]["names"]["plural"] in ("workloads", "clusterqueues", "localqueues"):
                await worker.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        await worker.close()
        secret = core.secret(f"kueue-admin-{name}-kubeconfig", KUEUE, {"kubeconfig": text})
        await self.hub.client.create(core.Secret.resource, secret)

    async def _give_placement(self, number: int) -> None:
        client, name = self.hub.client, placement(number)
        await client.create(cluster.Placement.resource, cluster.Placement.manifest(name, KUEUE, spec={}))
        decision = cluster.PlacementDecision.manifest(
            f"{name}-decision-1", KUEUE, labels={cluster.PLACEMENT_LABEL: name}
        )
        await client.create(cluster.PlacementDecision.resource, decision)
        await self.select(number, range(number * SELECTED, (number + 1) * SELECTED))
        for check, controller, group, kind in (
            (f"{name}-ours", CHECK_CONTROLLER, cluster.GROUP, "Placement"),
            (f"{name}-mk", kueue.MULTIKUEUE_CONTROLLER, kueue.GROUP, "MultiKueueConfig"),
        ):
            spec = {"controllerName": controller, "parameters": {"apiGroup": group, "kind": kind, "name": name}}
            await client.create(kueue.AdmissionCheck.resource, kueue.AdmissionCheck.manifest(check, spec=spec))

    async def select(self, number: int, clusters: range) -> None:
        decisions = [{"clusterName": objects.cluster_name(n), "reason": ""} for n in clusters]
        await self.hub.client.merge(
            cluster.PlacementDecision.resource,
            f"{placement(number)}-decision-1",
            KUEUE,
            {"status": {"decisions": decisions}},
            subresource="status",
        )

    def _fill_workloads(self) -> None:
        over, live = self.count(45_000), self.count(4_000)
        began = perf_counter()
        self.hub.fill(
            kueue.Workload.resource,
            (objects.workload(n, is_finished=True, checks=checks(n)) for n in range(over)),
        )
        self.hub.fill(
            kueue.Workload.resource,
            (
                objects.workload(n, is_finished=False, checks=checks(n), cluster_name=member(n))
                for n in range(over, over + live)
            ),
        )
        print(f"{over + live} Workloads written in {perf_counter() - began:.0f} s", flush=True)

    async def connect_members(self) -> None:
        """Say of every member that it is connected, as Kueue does."""
        for raw in (await self.hub.client.list(kueue.MultiKueueCluster.resource)).items:
            entry = {"type": "Active", "status": "True", "reason": "Active", "message": "Connected"}
            status = {"conditions": [{**entry, "lastTransitionTime": objects.WHEN}]}
            await self.hub.client.merge(
                kueue.MultiKueueCluster.resource, raw["metadata"]["name"], "", {"status": status}, subresource="status"
            )

    # Measuring

    async def controller(self, folder: Path, port: int) -> None:
        flags = ("--kubeconfig", str(self.hub.kubeconfig))
        async with command(folder, port, "controller", *flags) as process:
            began = perf_counter()
            await until(self._has_members, LIMIT)
            self.row("from its start until it works", f"{perf_counter() - began:.0f} s")
            await self._say("memory after its start, peak", "longest callback while it starts", process)
            await self.connect_members()
            await self._drain(process)  # before the burst, whose nominations for that worker would be asked back
            await self._nominations(process)
            await self.hub.expire_watches()
            await self._is_up_to_date(process)
            await self._say("memory after all was listed anew, peak", "longest callback while it lists anew", process)
            lease = Lease.view(await self.hub.client.get(Lease.resource, "fleetqueue-controller", OWN))
            is_kept = process.process.returncode is None and lease.spec.lease_transitions == 0
            self.row("lease", "kept" if is_kept else "LOST", "never lost")

    async def _say(self, memory: str, callback: str, process: Measured) -> None:
        self.row(memory, f"{process.peak:.0f} MB", "256 MB")
        longest = await process.longest()
        print(*(f"  {found['ms']:.0f} ms {found['what']}" for found in longest), sep="\n", flush=True)
        self.row(callback, f"{longest[0]['ms']:.0f} ms CPU", "100 ms")

    async def _has_members(self) -> bool:
        found = await self.hub.client.list(kueue.MultiKueueConfig.resource)
        return sum(len(raw["spec"]["clusters"]) for raw in found.items) == PLACEMENTS * SELECTED

    async def _nominations(self, process: Measured) -> None:
        """Give quota to many jobs at once, as Kueue does; time until all are nominated."""
        first, burst = self.count(49_000), self.count(1000)
        before = await process.metric("fleetqueue_nominations_total")
        began, cpu = perf_counter(), process.cpu
        self.hub.fill(
            kueue.Workload.resource,
            (objects.workload(n, is_finished=False, checks=checks(n)) for n in range(first, first + burst)),
        )

        async def are_all() -> bool:
            return await process.metric("fleetqueue_nominations_total") - before >= burst

        await until(are_all, LIMIT)
        self.row("nominations in a burst", f"{burst / (perf_counter() - began):.0f} /s", "100 /s")
        each = (process.cpu - cpu) / burst
        self.row("CPU time of one", f"{1000 * each:.1f} ms, {1 / each:.0f} /s on a core of its own", "100 /s")
        longest = await process.longest()
        self.row("longest callback meanwhile", f"{longest[0]['ms']:.0f} ms CPU", "100 ms")

    async def bare_client(self) -> None:
        """Send the requests of as many nominations with nobody who decides: what the machine allows."""
        first, burst = self.count(80_000), self.count(1000)
        workloads = [objects.workload(n, is_finished=False, checks=checks(n)) for n in range(first, first + burst)]
        client, under_way = self.hub.client, asyncio.Semaphore(DispatcherController.concurrency)
        recorder = Recorder(client)

        async def nominate(number: int, name: str, namespace: str) -> None:
            async with under_way:
                raw = await client.get(kueue.Workload.resource, name, namespace)
                await client.apply(
                    kueue.Workload.resource,
                    nomination(raw, [member(number)]),
                    subresource="status",
                    manager=kueue.ADMISSION_MANAGER,
                )
                await recorder.normal(kueue.Workload.view(raw), "Nominated", member(number))

        began = perf_counter()
        self.hub.fill(kueue.Workload.resource, workloads)
        names = [(raw["metadata"]["name"], raw["metadata"]["namespace"]) for raw in workloads]
        await asyncio.gather(*(nominate(first + n, *name) for n, name in enumerate(names)))
        self.row("... the same requests without a controller", f"{burst / (perf_counter() - began):.0f} /s")

    async def _drain(self, process: Measured) -> None:
        """Drop a cluster with jobs, and let others be sent elsewhere: how often is it listed?"""
        secret = f'cluster="kueue-admin-{objects.cluster_name(0)}-kubeconfig"'
        before = await process.metric("fleetqueue_api_requests_total", secret, 'verb="GET"')
        await self.select(0, range(1, SELECTED))
        first = self.count(60_000)
        for number in range(DRAIN_SECONDS):
            self.hub.fill(
                kueue.Workload.resource, [objects.workload(first + number, is_finished=False, checks=checks(0))]
            )
            await asyncio.sleep(1)
        lists = (await process.metric("fleetqueue_api_requests_total", secret, 'verb="GET"') - before) / 2
        looks = 1 + DRAIN_SECONDS // DRAIN_POLL
        said = f"{lists:.0f} in {DRAIN_SECONDS} s with {DRAIN_SECONDS} jobs sent elsewhere"
        self.row("looks at a draining worker", said, f"the first, then one every {DRAIN_POLL} s: {looks}")

    async def _is_up_to_date(self, process: Measured) -> None:
        """Wait until the process sees what is new: then it has listed everything anew."""
        before = await process.metric("fleetqueue_nominations_total")
        number = self.count(70_000)
        self.hub.fill(kueue.Workload.resource, [objects.workload(number, is_finished=False, checks=checks(1))])

        async def sees() -> bool:
            return await process.metric("fleetqueue_nominations_total") > before

        await until(sees, LIMIT)


async def score_agent(bench: Bench, folder: Path, port: int, scale: float) -> None:
    async with Hub.up(folder / "pods") as worker:
        for name in ("cluster1", *(objects.namespace(n) for n in range(objects.NAMESPACES))):
            await worker.client.create(core.Namespace.resource, core.Namespace.manifest(name))
        pods = round(100_000 * scale)
        worker.fill(core.Node.resource, (objects.node(n) for n in range(1000)))
        worker.fill(core.Pod.resource, (objects.pod(n) for n in range(pods)))
        here = str(worker.kubeconfig)
        flags = ("--cluster", "cluster1", "--kubeconfig", here, "--hub-kubeconfig", here)
        async with command(folder, port, "score-agent", *flags) as process:
            await until(process.is_ready, LIMIT)
            await worker.expire_watches()
            await asyncio.sleep(5)
            await until(process.is_ready, LIMIT)
            await asyncio.sleep(2)
            bench.row(f"memory of the score agent, {pods:,} pods, peak", f"{process.peak:.0f} MB", "256 MB")
            longest = await process.longest()
            bench.row("longest callback of its loop", f"{longest[0]['ms']:.0f} ms CPU", "100 ms")


def placement(number: int) -> str:
    return f"size-{number % PLACEMENTS}"


def checks(number: int) -> tuple[str, str]:
    return f"{placement(number)}-ours", f"{placement(number)}-mk"


def member(number: int) -> str:
    """The member on which a job runs: one of its own Placement's."""
    at = number % PLACEMENTS
    return f"{placement(number)}-{objects.cluster_name(at * SELECTED + number % SELECTED)}"


async def run(folder: Path, workers: Ours, scale: float, port: int) -> Bench:
    async with Hub.up(folder / "hub") as hub:
        bench = Bench(hub, workers, scale)
        await bench.arrange()
        await bench.controller(folder, port)
        await bench.bare_client()
    await score_agent(bench, folder, port, scale)
    return bench


def main(scale: float, port: int) -> None:
    with tempfile.TemporaryDirectory(prefix="fleetqueue-bench-") as name:
        folder = Path(name)
        for part in ("hub", "pods", "workers"):
            (folder / part).mkdir(mode=0o700)
        with serving(Ours(folder / "workers", clusters=PLACEMENTS * SELECTED, storage="memory")) as workers:
            bench = asyncio.run(run(folder, workers, scale, port))
    bench.show(f"Kubernetes {parts.KUBERNETES_VERSION}, x{scale:g}", "aim")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="times 50,000 Workloads, 1,000 clusters, 100,000 pods")
    parser.add_argument("--port", type=int, default=18090, help="where the measured processes serve their metrics")
    options = parser.parse_args()
    main(options.scale, options.port)
