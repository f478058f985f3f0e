"""Does the dashboard stay quick with 1,000 clusters and 10,000 jobs? One run, in a real Chromium.

- first paint: from the click on the link to the first frame that shows clusters, queues and jobs
- update: from a write on the hub to the frame that shows it; changes are gathered for 150 ms before they are sent
- drawing: how long the page itself is busy with such an update, and with all rows anew

The hub is an embedded API server in the process of the dashboard's server, so that its own work counts too.

    make browser
    make bench ONLY=dashboard
"""

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path
from time import perf_counter, time

from measuring.processes import until
from measuring.table import Rows

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.fleetqueue import CLUSTER_LABEL
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.usage_scores import SCORE_RESOURCE, SCORES
from fleetqueue.client import Client
from fleetqueue.dashboard.kinds import DatedWorkload
from fleetqueue.dashboard.server import Dashboard, DashboardSettings, message
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import ADMIN
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.testing.browser import Browser, find
from fleetqueue.testing.builders import by_secret, condition, pod_template
from fleetqueue.testing.templates import template

TOKEN = "administrator"
NAMESPACE = "team-a"
SHOWN = "document.querySelectorAll('table.jobs tbody tr').length > 5 && document.querySelector('table.fleet tbody th')"
DRAWN = "performance.getEntriesByName('drawn')[0].startTime"
RUNNING = "document.querySelector('.summary .running dd')"
ANEW = """(() => {
    const start = performance.now();
    document.querySelector('#language').click(); document.querySelector('#language').click();
    document.body.offsetHeight;
    return (performance.now() - start) / 2;
})()"""
UPDATES = 20


class DashboardBench(Rows):
    def __init__(self, hub: Client, clusters: int, jobs: int) -> None:
        super().__init__()
        self.hub, self.clusters, self.jobs = hub, clusters, jobs

    async def arrange(self) -> None:
        """Fill the hub: a cluster of the fleet for each score, a tenth of the jobs waiting, a fifth running."""
        await self.hub.create(Namespace.resource, Namespace.manifest(NAMESPACE))
        await self.put(kueue.ClusterQueue, queue())
        await self.put(kueue.LocalQueue, kueue.LocalQueue.manifest("queue", NAMESPACE, spec={"clusterQueue": "cq"}))
        for number in range(self.clusters):
            name = f"cluster{number}"
            await self.hub.create(Namespace.resource, Namespace.manifest(name))
            await self.put(cluster.ManagedCluster, managed(name))
            await self.put(kueue.MultiKueueCluster, member(name))
            await self.put(cluster.AddOnPlacementScore, score(name, number))
        for number in range(self.jobs):
            await self.put(kueue.Workload, workload(number, self.clusters))

    async def put(self, kind: type[Object], manifest: Manifest) -> None:
        status = manifest.pop("status", None)
        await self.hub.create(kind.resource, manifest)
        if status:
            await self.set_status(kind, manifest["metadata"], status)

    async def set_status(self, kind: type[Object], metadata: Manifest, status: Manifest) -> None:
        namespace = metadata.get("namespace", "")
        await self.hub.merge(kind.resource, metadata["name"], namespace, {"status": status}, subresource="status")

    async def measure(self) -> None:
        dashboard = Dashboard(self.hub, DashboardSettings("https://hub"))
        start = perf_counter()
        async with dashboard.serving():
            await until(lambda: len(dashboard.model.rows["jobs"]) >= self.jobs, 300)
            self.row("all objects listed and made into rows", f"{perf_counter() - start:.1f} s")
            size = len(message("snapshot", dashboard.model.snapshot()))
            self.row("the first message to the page", f"{size / 1e6:.1f} MB")
            with tempfile.TemporaryDirectory() as folder:
                async with Browser.open(Path(folder)) as browser:
                    await self.in_browser(browser, dashboard)

    async def in_browser(self, browser: Browser, dashboard: Dashboard) -> None:
        await browser.look(width=1280, height=900)
        paints = []
        for _ in range(5):
            await browser.go(dashboard.link)
            await browser.until(SHOWN)
            paints.append(float(await browser.evaluate(DRAWN)))
        self.row("first paint with all rows", spread(paints), "1 s")
        busy = [float(await browser.evaluate(ANEW)) for _ in range(5)]
        self.row("drawing everything anew", spread(busy), "100 ms")
        heap = await browser.evaluate("performance.memory.usedJSHeapSize")
        self.row("memory of the page's scripts", f"{int(heap) / 1e6:.0f} MB")
        latencies = [await self.update(browser, number) for number in range(UPDATES)]
        self.row("from a write on the hub to the page", spread(latencies), "500 ms")

    async def update(self, browser: Browser, number: int) -> float:
        """Let one more job run; return how many milliseconds later the page shows it."""
        before = await browser.evaluate(f"{RUNNING}.textContent")
        seen = asyncio.ensure_future(
            browser.evaluate(
                "new Promise((resolve) => { const look = () => "
                f"{RUNNING}.textContent !== '{before}' ? resolve(Date.now()) : requestAnimationFrame(look); look(); }})"
            )
        )
        status = workload(1, self.clusters)["status"]
        one_that_waits = {"name": f"w{number * 10}", "namespace": NAMESPACE}
        start = time() * 1000
        await self.set_status(kueue.Workload, one_that_waits, status)
        return float(await seen) - start


def spread(milliseconds: list[float]) -> str:
    return f"p50 {statistics.median(milliseconds):.0f} ms, max {max(milliseconds):.0f} ms"


def queue() -> Manifest:
    resources = [{"name": "cpu", "nominalQuota": "10000"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
    spec = {"resourceGroups": groups, "namespaceSelector": {}}
    return kueue.ClusterQueue.manifest("cq", spec=spec, status={"conditions": [condition("Active")]})


def managed(name: str) -> Manifest:
    amounts = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"}
    status = {"conditions": [condition(cluster.AVAILABLE)], "capacity": amounts, "allocatable": amounts}
    return cluster.ManagedCluster.manifest(name, spec={"hubAcceptsClient": True}, status=status)


def member(name: str) -> Manifest:
    labels = {CLUSTER_LABEL: name}
    status = {"conditions": [condition("Active")]}
    return kueue.MultiKueueCluster.manifest(f"gpu-{name}", labels=labels, spec=by_secret(), status=status)


def score(name: str, number: int) -> Manifest:
    status = {"scores": [{"name": one.name, "value": number % 200 - 100} for one in SCORES]}
    return cluster.AddOnPlacementScore.manifest(SCORE_RESOURCE, name, status=status)


def workload(number: int, clusters: int) -> Manifest:
    """Build a Workload: of ten, one waits, two run and seven are done."""
    pod_set = {"name": "main", "count": 1, "template": pod_template(requests={"cpu": "1"})}
    manifest = DatedWorkload.manifest(
        f"w{number}", NAMESPACE, spec={"queueName": "queue", "podSets": [pod_set], "priority": 0}
    )
    kinds = [kueue.QUOTA_RESERVED, kueue.ADMITTED, kueue.FINISHED][
        : 0 if number % 10 == 0 else 2 if number % 10 < 3 else 3
    ]
    if not kinds:
        return {**manifest, "status": {"conditions": [condition(kueue.QUOTA_RESERVED, False, "Pending", "no quota")]}}
    assignment = {"name": "main", "resourceUsage": {"cpu": "1"}, "flavors": {"cpu": "default"}, "count": 1}
    status = {
        "conditions": [condition(kind, True, "Succeeded") for kind in kinds],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]},
        "clusterName": f"gpu-cluster{number % clusters}",
    }
    return {**manifest, "status": status}


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--clusters", type=int, default=1000)
    options.add_argument("--jobs", type=int, default=10_000)
    chosen = options.parse_args()
    if find() is None:
        raise SystemExit("no Chromium on this machine: `make browser` installs it, or says how")
    server = await template().copy(Secrets(tokens={TOKEN: ADMIN}))
    hub = Client(InProcessDoor(server, RequestCredentials(token=TOKEN)))
    bench = DashboardBench(hub, chosen.clusters, chosen.jobs)
    await bench.arrange()
    await bench.measure()
    bench.show(f"{chosen.clusters} clusters, {chosen.jobs} jobs", "aim")


if __name__ == "__main__":
    asyncio.run(main())
