"""Queue scenarios on both hubs."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.scheduling.amounts import written as quantity
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.queue_usage import Quantities
from fleetqueue.embedded.kueue.scheduling.scheduler import KueueSchedulerController
from fleetqueue.embedded.kueue.settings import SchedulingSettings
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub, RealHub  # noqa: TID252 - what the rooms share stands above them
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from .doing import run
from .end_state import Standing, standing, workloads
from .form import namespace, steps
from .generated import generated

HERE = Path(__file__).parent
DESCRIBED = [*written(HERE), *generated()]
PREFIXES = prefixes(DESCRIBED, "k")
QUIET = 2.5
"""Seconds without a change after which the real hub counts as settled: it gathers changes for one before it looks."""

Look = Callable[[str], Awaitable[Standing]]
"""Awaits how a ClusterQueue stands."""


async def run_on_ours() -> Ends:
    kept = Cache(SchedulingSettings())

    def manager(hub: InProcessCluster) -> Manager:
        cluster, metrics = Cluster("hub", hub.client()), Metrics()
        kueue_metrics = KueueMetrics(metrics.registry)
        return Manager(cluster, [KueueSchedulerController(cluster, metrics, kept, kueue_metrics)])

    async def look(name: str) -> Standing:
        return _our_standing(kept, name)

    async with EmbeddedHub.open(["kueue"], manager, settling=3) as hub:
        return await _run(hub, look)


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=0, ocm="placement", frameworks=["batch/job"]) as fleet,
        RealHub.open(fleet.clusters["hub"], (kueue.Workload, kueue.ClusterQueue), quiet=QUIET, patience=120.0) as hub,
    ):

        async def look(name: str) -> Standing:
            return standing(await hub.client.get(kueue.ClusterQueue.resource, name))

        return await _run(hub, look)


async def _run(hub: Hub, look: Look) -> Ends:
    await run(hub, {namespace(PREFIXES[each["name"]]): [*steps(each, PREFIXES[each["name"]])] for each in DESCRIBED})
    return {name: await _end(hub.client, look, prefix) for name, prefix in PREFIXES.items()}


async def _end(client: Client, look: Look, prefix: str) -> Described:
    end = await workloads(client, namespace(prefix), prefix)
    names = [raw["metadata"]["name"] for raw in (await client.list(kueue.ClusterQueue.resource)).items]
    queues = {name: await look(name) for name in names if name.startswith(prefix)}
    return {**end, "queues": orjson.loads(orjson.dumps(queues).replace(prefix.encode(), b""))}


def _our_standing(cache: Cache, name: str) -> Standing:
    usage, problems = cache.of_cluster_queue(name), cache.problems(name)
    active = ["Ready", "Can admit new workloads"]
    if problems:
        told = ", ".join(problem.message for problem in problems)
        active = [problems[0].reason, f"Can't admit new workloads: {told}."]
    return {
        "pending": usage.pending,
        "reserving": usage.reserving,
        "admitted": usage.admitted,
        "reservation": _totals(usage.reservation),
        "usage": _totals(usage.usage),
        "active": active,
    }


def _totals(some: Quantities) -> dict[str, str]:
    return {f"{what.flavor}/{what.resource}": quantity(what.resource, value) for what, value in some.items() if value}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real)
