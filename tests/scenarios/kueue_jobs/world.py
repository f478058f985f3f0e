"""Job scenarios on both clusters, and what the real one made of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.assembly.embedded import EmbeddedFleet
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.controllers.kueue.manager import KueueManager
from fleetqueue.controllers.kueue.settings import KueueSettings
from fleetqueue.engine.fleet import RealFleet
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running

from .doing import Actor, run
from .end_state import end_state
from .form import HERE, written

RECORD = HERE / "recorded.json"
DESCRIBED = written()
PREFIXES = {described["name"]: f"j{number:03d}-" for number, described in enumerate(DESCRIBED)}
QUIET = 4.0
"""Seconds without a change after which the real cluster counts as settled."""
PATIENCE = 180.0


class OurHub:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def settle(self) -> None:
        await advance(8)

    async def wait(self, seconds: float) -> None:
        await advance(seconds)


class RealHub:
    def __init__(self, client: Client) -> None:
        self.client = client
        self._changed = 0.0

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        kinds: tuple[type[Any], ...] = (kueue.Workload, kueue.ClusterQueue, Job)
        informers = [Informer(self.client, kind) for kind in kinds]
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
    async with EmbeddedFleet.open(workers=0) as fleet:
        client, server = fleet.hub.client(), fleet.hub.server
        for definition in crds("kueue"):
            await client.create(CustomResourceDefinition.resource, definition)
        await advance(60)

        cluster = Cluster("hub", fleet.hub.client())
        manager = KueueManager(
            cluster, Metrics(), KueueSettings(), find=server.find, install=partial(server.webhooks.install, "kueue")
        )
        async with running(manager.run()):
            await advance(2)
            return await _run(OurHub(client))


async def run_on_real(folder: Path) -> dict[str, Any]:
    async with RealFleet(folder, workers=0, ocm="placement") as fleet:
        client = connect(load(fleet.clusters["hub"].kubeconfig))
        try:
            hub = RealHub(client)
            async with hub.following():
                return await _run(hub)
        finally:
            await client.close()


async def _run(hub: Any) -> dict[str, Any]:
    actors = [Actor(hub.client, described, PREFIXES[described["name"]]) for described in DESCRIBED]
    await run(hub, actors)
    return {actor.said["name"]: await end_state(hub.client, actor) for actor in actors}


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(RECORD.read_bytes())
    return found


def record(ends: dict[str, Any]) -> None:
    """Write what the real manager made of each scenario, a line for each."""
    lines = (f"{_json(name)}: {_json(ends[name])}" for name in sorted(ends))
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
