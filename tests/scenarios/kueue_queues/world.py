"""Queue scenarios on both hubs, and what the real one made of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.controllers.kueue.scheduling.amounts import written as quantity
from fleetqueue.controllers.kueue.scheduling.books import Books
from fleetqueue.controllers.kueue.scheduling.measures import Measures
from fleetqueue.controllers.kueue.scheduling.room import controllers
from fleetqueue.controllers.kueue.scheduling.settings import SchedulingSettings
from fleetqueue.controllers.kueue.scheduling.standings import Quantities
from fleetqueue.engine.fleet import RealFleet
from fleetqueue.runtime.informer import Informer
from fleetqueue.testing.virtual_time import advance

from ..hubs import EmbeddedHub  # noqa: TID252 - what the rooms share stands above them
from .doing import run
from .end_state import Standing, standing, workloads
from .form import HERE, namespace, steps, written
from .generated import generated

RECORD = HERE / "recorded.json"
DESCRIBED = [*written(), *generated()]
PREFIXES = {described["name"]: f"k{number:03d}-" for number, described in enumerate(DESCRIBED)}
QUIET = 2.5
"""Seconds without a change after which the real hub counts as settled: it gathers changes for one before it looks."""
PATIENCE = 120.0

Look = Callable[[str], Any]
"""Awaits how a ClusterQueue stands."""


class OurHub:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def settle(self) -> None:
        await advance(3)

    async def wait(self, seconds: float) -> None:
        await advance(seconds)


class RealHub:
    def __init__(self, client: Client) -> None:
        self.client = client
        self._changed = 0.0

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        informers: list[Informer[Any]] = [Informer(self.client, kind) for kind in (kueue.Workload, kueue.ClusterQueue)]
        tasks = [asyncio.create_task(informer.run()) for informer in informers]
        for informer in informers:
            informer.subscribe(lambda old, new: self._note())
            await informer.synced.wait()
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def settle(self) -> None:
        self._note()
        async with asyncio.timeout(PATIENCE):
            while (left := self._changed + QUIET - clock.monotonic()) > 0:  # noqa: ASYNC110 - a change moves the end
                await asyncio.sleep(left)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def _note(self) -> None:
        self._changed = clock.monotonic()


async def run_on_ours() -> dict[str, Any]:
    """To be run in virtual time."""
    kept = Books(SchedulingSettings())

    async def look(name: str) -> Standing:
        return _our_standing(kept, name)

    async with EmbeddedHub.open(
        ["kueue"], lambda hub, metrics: controllers(hub, metrics, kept, Measures(metrics.registry))
    ) as hub:
        return await _run(OurHub(hub.client), look)


async def run_on_real(folder: Path) -> dict[str, Any]:
    async with RealFleet(folder, workers=0, ocm="placement") as fleet:
        client = connect(load(fleet.clusters["hub"].kubeconfig))

        async def look(name: str) -> Standing:
            return standing(await client.get(kueue.ClusterQueue.resource, name))

        try:
            hub = RealHub(client)
            async with hub.following():
                return await _run(hub, look)
        finally:
            await client.close()


async def _run(hub: Any, look: Look) -> dict[str, Any]:
    await run(hub, {namespace(PREFIXES[each["name"]]): [*steps(each, PREFIXES[each["name"]])] for each in DESCRIBED})
    return {each["name"]: await _end(hub.client, look, each, PREFIXES[each["name"]]) for each in DESCRIBED}


async def _end(client: Client, look: Look, described: dict[str, Any], prefix: str) -> dict[str, Any]:
    end = await workloads(client, namespace(prefix), prefix)
    names = [raw["metadata"]["name"] for raw in (await client.list(kueue.ClusterQueue.resource)).items]
    queues = {name: await look(name) for name in names if name.startswith(prefix)}
    return {**end, "queues": orjson.loads(orjson.dumps(queues).replace(prefix.encode(), b""))}


def _our_standing(books: Books, name: str) -> Standing:
    usage, problems = books.of_cluster_queue(name), books.problems(name)
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


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(RECORD.read_bytes())
    return found


def record(ends: dict[str, Any]) -> None:
    """Write what the real scheduler made of each scenario, a line for each."""
    lines = (f"{_json(name)}: {_json(ends[name])}" for name in sorted(ends))
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
