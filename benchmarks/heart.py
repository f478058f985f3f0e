"""How fast is the heart beside its peers, and what does it cost? One run, one table, on the real engine.

- label change -> MultiKueueConfig change: real OCM placement and our controller. The published chain (real OCM
  placement and kueue-addon), measured once on a machine of this kind with three clusters: p50 28 ms, max 59 ms.
- 300 Jobs at once on three workers: Kueue's own all-at-once dispatcher, and ours, in the same run; with the requests
  that each worker's API server counted for a job. Kueue looks for a Workload on every listed worker in each of its
  passes, so the GETs of Workloads are the passes.
- memory, and what an idle minute costs. Published: 98 MB for kueue-addon.

    make bench
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from fleets import arranging
from measuring.processes import cpu_seconds, megabytes, metric, until
from measuring.table import Rows

from fleetqueue.admin.cluster_sets import create_set
from fleetqueue.admin.joining import Newcomer, join, wait_for_credentials
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_configuration
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.real import parts
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.informer import Informer

WORKERS = ("cluster1", "cluster2", "cluster3")
LABEL = "fleetqueue.dev/bench"
PORT = 18080
REQUESTS = "fleetqueue_api_requests_total{"
CLEAR_SECONDS = 900
"""Kueue removes copies as slowly as it makes them, and does that three times over where it sent each job everywhere."""


class Shown:
    """When the decision, the MultiKueueCluster and the config first showed a change."""

    def __init__(self) -> None:
        self.begin("", is_in=True)

    def begin(self, name: str, *, is_in: bool) -> None:
        self.name, self.is_in = name, is_in
        self.times: dict[str, float] = {}
        self.done = asyncio.Event()

    def put(self, kind: str, names: Sequence[str]) -> None:
        if any(name.endswith(self.name) for name in names) == self.is_in:
            self.times.setdefault(kind, perf_counter())
            if "config" in self.times:
                self.done.set()


class Bench(Rows):
    def __init__(self, fleet: RealFleet) -> None:
        super().__init__()
        self.fleet = fleet
        self.hub = connect(load(fleet.clusters["hub"].kubeconfig))
        self.workers = {name: connect(load(fleet.clusters[name].kubeconfig)) for name in WORKERS}
        self.controller: asyncio.subprocess.Process | None = None

    # Arranging

    async def set_up(self) -> None:
        await create_set(self.hub, arranging.NAME)
        await self.start_controller()
        for name, worker in self.workers.items():
            remote = load(self.fleet.clusters[name].remote_kubeconfig)
            newcomer = Newcomer(name, remote, cluster_set=arranging.NAME)
            await join(self.hub, newcomer, lambda line: None)
            await wait_for_credentials(self.hub, newcomer, limit=60)
            await arranging.make_room(worker, name)
            await self.label(name, "yes")
            await arranging.create_queues(worker, arranging.CPUS)
        selector = {"labelSelector": {"matchLabels": {LABEL: "yes"}}}
        predicates = [{"requiredClusterSelector": selector}]
        await arranging.create_placement(self.hub, arranging.NAME, predicates=predicates)
        await arranging.create_checks(self.hub)
        await arranging.create_queues(self.hub, arranging.CPUS * len(WORKERS), arranging.CHECKS)
        await until(self.is_listed(*WORKERS), 60)

    async def start_controller(self) -> None:
        log = (self.fleet.data_dir / "controller.log").open("a")
        kubeconfig = str(self.fleet.clusters["hub"].kubeconfig)
        flags = ("--no-leader-election", "--set", f"probes.port={PORT}", "--set", "placement_admission.linger=0.1")
        self.controller = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fleetqueue", "controller", "--kubeconfig", kubeconfig, *flags, stderr=log
        )

    async def set_dispatcher(self, name: str | None) -> None:
        raw = await self.hub.get(ConfigMap.resource, kueue_configuration.CONFIG_MAP, arranging.KUEUE)
        text = kueue_configuration.with_dispatcher(raw["data"][kueue_configuration.CONFIG_KEY], name)
        patch = {"data": {kueue_configuration.CONFIG_KEY: text}}
        await self.hub.merge(ConfigMap.resource, kueue_configuration.CONFIG_MAP, arranging.KUEUE, patch)
        await self.fleet.restart("hub/kueue")
        await until(self._is_known, 60)

    async def _is_known(self) -> bool:
        """Tell whether Kueue, just started, knows the queue; until then it rejects jobs for good."""
        answer = await self.hub.post(f"{Job.resource.path('default')}?dryRun=All", arranging.job("probe"))
        return bool(answer["spec"].get("managedBy"))

    async def label(self, name: str, value: str | None) -> None:
        await self.hub.merge(cluster.ManagedCluster.resource, name, "", {"metadata": {"labels": {LABEL: value}}})

    def is_listed(self, *names: str) -> Callable[[], Awaitable[bool]]:
        async def listed() -> bool:
            page = await self.hub.list(kueue.MultiKueueConfig.resource)
            found = {m for raw in page.items for m in raw["spec"]["clusters"]}
            return found == {f"bench-{name}" for name in names}

        return listed

    # Measuring

    async def label_to_config(self, rounds: int) -> None:
        """Label and unlabel a cluster; time the way to the event that shows the changed config, by its steps."""
        configs, decisions = Informer(self.hub, kueue.MultiKueueConfig), Informer(self.hub, cluster.PlacementDecision)
        members = Informer(self.hub, kueue.MultiKueueCluster)
        shown = Shown()
        configs.subscribe(lambda old, new: shown.put("config", new.spec.clusters if new else ()))
        decisions.subscribe(
            lambda old, new: shown.put("decision", [d.cluster_name for d in new.status.decisions] if new else ())
        )
        members.subscribe(lambda old, new: shown.put("member", [new.name] if new else ()))
        informers = (configs, decisions, members)
        following = [asyncio.create_task(informer.run()) for informer in informers]
        await asyncio.gather(*(informer.synced.wait() for informer in informers))
        times: dict[str, list[float]] = {"listed": [], "decided": [], "made": [], "unlisted": []}
        for _ in range(rounds):
            times["unlisted"].append((await self._change(shown, None))["config"])
            await asyncio.sleep(0.6)  # the member of the unlisted cluster is deleted before the next round
            came = await self._change(shown, "yes")
            times["listed"].append(came["config"])
            times["decided"].append(came["decision"])
            times["made"].append(came["member"])
            await asyncio.sleep(0.3)
        for task in following:
            task.cancel()
        self.row("label added -> cluster listed", _spread(times["listed"]), "published chain: p50 28 ms, max 59 ms")
        self.row("  of it OCM's, until it has decided", _spread(times["decided"]), "real OCM placement, in both chains")
        self.row(
            "  ... until its MultiKueueCluster is there", _spread(times["made"]), "published chain: made beforehand"
        )
        self.row("label removed -> asked, empty, unlisted", _spread(times["unlisted"]), "published chain never asks")

    async def _change(self, shown: "Shown", value: str | None) -> dict[str, float]:
        """Label or unlabel a cluster; return after how many seconds each of the objects showed it."""
        shown.begin("cluster3", is_in=value is not None)
        started = perf_counter()
        await self.label("cluster3", value)
        async with asyncio.timeout(30):
            await shown.done.wait()
        return {kind: when - started for kind, when in shown.times.items()}

    async def dispatch(self, jobs: int, what: str, prefix: str) -> None:
        """Create Jobs at once; time until the hub shows all of them admitted on a worker."""
        informer = Informer(self.hub, kueue.Workload)
        admitted: set[str] = set()
        done = asyncio.Event()

        def see(old: kueue.Workload | None, new: kueue.Workload | None) -> None:
            if new is not None and new.name.startswith(f"job-{prefix}") and new.is_true(kueue.ADMITTED):
                admitted.add(new.name)
                if len(admitted) >= jobs:
                    done.set()

        informer.subscribe(see)
        following = asyncio.create_task(informer.run())
        await informer.synced.wait()
        before = await self._counts()
        started = perf_counter()
        await asyncio.gather(
            *(self.hub.create(Job.resource, arranging.job(f"{prefix}{number:03}")) for number in range(jobs))
        )
        try:
            await asyncio.wait_for(done.wait(), 600)
        except TimeoutError:
            self.row(what, f"only {len(admitted)} of {jobs} after 600 s", "")
        seconds = perf_counter() - started
        following.cancel()
        if done.is_set():
            self.row(what, f"{seconds:.0f} s, {jobs / seconds:.2f} jobs/s", "one run: compare the two rows")
            for name, after in (await self._counts()).items():
                passes, requests = ((count - was) / jobs for count, was in zip(after, before[name], strict=True))
                self.row(f"  on {name}, for a job", f"{passes:.1f} passes, {requests:.1f} requests in all", "")
        await self._clear(prefix)

    async def _counts(self) -> dict[str, tuple[float, float]]:
        """Return how many GETs of Workloads, and requests for Workloads and Jobs, each worker has answered."""
        return {name: _counted(str(await worker.read("/metrics"))) for name, worker in self.workers.items()}

    async def _clear(self, prefix: str) -> None:
        for raw in (await self.hub.list(Job.resource, "default")).items:
            await self.hub.delete(Job.resource, raw["metadata"]["name"], "default")

        async def empty() -> bool:
            pages = [
                await client.list(kueue.Workload.resource, "default") for client in (self.hub, *self.workers.values())
            ]
            return not any(page.items for page in pages)

        await until(empty, CLEAR_SECONDS)

    async def fill(self, clusters: int, finished: int) -> None:
        """Make the hub as large as one that has been used for a while: more clusters, and jobs that are over."""
        limit = asyncio.Semaphore(16)

        async def cluster_number(number: int) -> None:
            async with limit:
                labels = {cluster.CLUSTER_SET_LABEL: "bench"}
                manifest = cluster.ManagedCluster.manifest(
                    f"far{number:03}", labels=labels, spec={"hubAcceptsClient": True}
                )
                await self.hub.create(Namespace.resource, Namespace.manifest(f"far{number:03}"))
                await self.hub.create(cluster.ManagedCluster.resource, manifest)

        async def workload_number(number: int) -> None:
            async with limit:
                template = arranging.job("x")["spec"]["template"]
                spec = {"queueName": "bench", "podSets": [{"name": "main", "count": 1, "template": template}]}
                name = f"over{number:04}"
                manifest = kueue.Workload.manifest(name, "default", spec=spec)
                await self.hub.create(kueue.Workload.resource, manifest)
                over = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
                status = {"conditions": [{**over, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
                await self.hub.merge(kueue.Workload.resource, name, "default", {"status": status}, subresource="status")

        await asyncio.gather(*(cluster_number(n) for n in range(clusters)))
        await asyncio.gather(*(workload_number(n) for n in range(finished)))
        await asyncio.sleep(5)  # the silent clusters get their lowest score

    async def cost(self, seconds: int) -> None:
        """Read the controller's memory, and count its requests and CPU over an idle while."""
        pid = self.controller.pid if self.controller else 0
        requests, cpu = await metric(PORT, REQUESTS), cpu_seconds(pid)
        await asyncio.sleep(seconds)
        requests, cpu = await metric(PORT, REQUESTS) - requests, cpu_seconds(pid) - cpu
        self.row("memory of the controller", f"{megabytes(pid):.0f} MB", "kueue-addon: 98 MB")
        hour = 3600 / seconds
        measured = f"{requests:.0f} requests, {cpu:.2f} s CPU in {seconds} s"
        self.row(
            "idle, 100 clusters, 1000 jobs over", measured, f"{requests * hour:.0f} and {cpu * hour:.0f} s an hour"
        )

    async def close(self) -> None:
        if self.controller is not None and self.controller.returncode is None:
            self.controller.terminate()
            await self.controller.wait()
        for client in (self.hub, *self.workers.values()):
            await client.close()


def _counted(metrics: str) -> tuple[float, float]:
    """Add up an API server's requests for single Workloads and Jobs: the GETs of Workloads, and all."""
    passes = requests = 0.0
    for line in metrics.splitlines():
        if line.startswith("apiserver_request_total{") and 'scope="resource"' in line:
            count = float(line.rsplit(" ", 1)[1])
            requests += count if 'resource="workloads"' in line or 'resource="jobs"' in line else 0
            passes += count if 'resource="workloads"' in line and 'verb="GET"' in line else 0
    return passes, requests


def _spread(seconds: list[float]) -> str:
    ordered = sorted(1000 * s for s in seconds)
    return f"p50 {statistics.median(ordered):.0f} ms, max {ordered[-1]:.0f} ms (n={len(ordered)})"


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="fleetqueue-bench-") as directory:
        async with RealFleet(Path(directory), workers=3, ocm="placement") as fleet:
            bench = Bench(fleet)
            try:
                await bench.set_up()
                yield bench
            finally:
                await bench.close()


async def main(rounds: int, jobs: int, idle: int) -> None:
    async with bench() as run:
        await run.set_dispatcher(DISPATCHER_NAME)
        await run.label_to_config(rounds)
        await run.dispatch(jobs, f"{jobs} Jobs at once, our dispatcher", "ours")
        await run.set_dispatcher(None)
        await run.dispatch(jobs, f"{jobs} Jobs at once, Kueue's all-at-once", "kueue")
        await run.fill(97, 1000)
        await run.cost(idle)
    run.show(f"Kueue {parts.KUEUE_VERSION}", "beside")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, help="label changes")
    parser.add_argument("--jobs", type=int, default=300, help="jobs in a burst")
    parser.add_argument("--idle", type=int, default=60, help="seconds to look at an idle controller")
    options = parser.parse_args()
    asyncio.run(main(options.rounds, options.jobs, options.idle))
