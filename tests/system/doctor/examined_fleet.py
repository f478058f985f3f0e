"""A copy of the walkthroughs' environment that is examined, and on which the steps of findings are executed."""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
from typing import Any

from fleetqueue import clock
from fleetqueue.admin.checkups.examination import Diagnosis, examine
from fleetqueue.admin.checkups.findings import HUB, RepairStep
from fleetqueue.admin.checkups.looking import survey
from fleetqueue.admin.checkups.reaching import WorkerAccess
from fleetqueue.admin.dispatcher import RESTARTED_AT
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import parse
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_environment import set_up
from fleetqueue.testing import virtual_time
from fleetqueue.testing.virtual_time import START, VirtualClock, VirtualTimeLoop, advance
from tests.system.faults.fleet_template import ClusterTemplate, FleetTemplate, fill
from tests.system.printed_commands import Terminal

SETTLED = 40.0


class ExaminedFleet:
    def __init__(self, fleet: EmbeddedFleet) -> None:
        self.fleet = fleet
        self.clients = {name: cluster.client() for name, cluster in fleet.clusters.items()}
        self.terminal = Terminal(self.clients)

    @property
    def hub(self) -> Client:
        return self.clients[HUB]

    async def diagnosis(self, **access: Any) -> Diagnosis:
        """Examine it as an administrator of all its clusters does."""
        contexts = {name: parse(cluster.kubeconfig) for name, cluster in self.fleet.clusters.items()}
        given = {"contexts": contexts, "hub": self.hub, "kueue_namespace": KUEUE_NAMESPACE, **access}
        workers = WorkerAccess(self.fleet.dial, given["contexts"])
        return examine(await survey(given["hub"], workers, kueue_namespace=given["kueue_namespace"]))

    async def run(self, line: str, stdin: str = "") -> str:
        """Run a command line of kubectl."""
        return await self.terminal.kubectl.run(*shlex.split(line), stdin=stdin)

    async def apply(self, *manifests: dict[str, Any], cluster: str = HUB) -> None:
        text = "\n---\n".join(map(json.dumps, manifests))
        await self.run(f"apply --context {cluster} -f -", text)

    async def do(self, step: RepairStep) -> None:
        """Do what a step says; only commands can be done so."""
        program, *words = step.words
        if program == "fleetqueue":
            await self.terminal.fleetqueue(words)
        elif words[:2] == ["rollout", "restart"]:
            await self._restart(words[2:], step.cluster)
        else:
            await self.terminal.kubectl.run(*words, "--context", step.cluster, stdin=step.stdin)

    async def _restart(self, words: list[str], cluster: str) -> None:
        """Do what `kubectl rollout restart` does."""
        stamp = {"template": {"metadata": {"annotations": {RESTARTED_AT: timestamp(clock.now())}}}}
        await self.terminal.kubectl.run(
            "patch", *words, "--context", cluster, "--type=merge", "-p", json.dumps({"spec": stamp})
        )


@cache
def template() -> FleetTemplate:
    return virtual_time.run(_made())


async def _made() -> FleetTemplate:
    async with EmbeddedFleet.open(3) as fleet:
        await set_up(fleet.hub, fleet.workers, lambda line: None)
        await fill(fleet.hub.client(), [worker.client() for worker in fleet.workers])
        await advance(SETTLED)
        clusters = [ClusterTemplate.of(cluster) for cluster in fleet.clusters.values()]
        return FleetTemplate(clusters, START + timedelta(seconds=asyncio.get_running_loop().time()))


@asynccontextmanager
async def examined_fleet() -> AsyncIterator[ExaminedFleet]:
    async with template().copy(lambda name, change: None) as fleet:
        await advance(SETTLED / 2)
        yield ExaminedFleet(fleet)


def told(story: Callable[[ExaminedFleet], Awaitable[None]]) -> None:
    """Let something happen to a fleet of its own, in virtual time."""
    made = template()

    async def work() -> None:
        async with examined_fleet() as fleet:
            await story(fleet)

    with (
        clock.use(VirtualClock(0, made.moment)),
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
    ):
        runner.run(work())
