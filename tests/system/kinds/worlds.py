"""The worlds in which jobs of all kinds are tried: on the virtual clock, and over sockets in real time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from fleetqueue.demo import embedded_fleet
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_environment import set_up
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.testing import virtual_time
from tests.invariants.reasons import check_answers
from tests.invariants.refusals import no_part_is_refused

from .more_kinds import with_more_kinds
from .trial import Trial


def told(story: Callable[[Trial], Awaitable[None]], *, workers: int = 3) -> Trial:
    """Let something happen to a fleet on the virtual clock."""

    async def work() -> Trial:
        async with EmbeddedFleet.open(workers) as fleet:
            await set_up(fleet.hub, fleet.workers, lambda line: None)
            clients = {name: cluster.client() for name, cluster in fleet.clusters.items()}
            async with with_more_kinds(clients):
                trial = Trial(clients)
                await story(trial)
                await check_answers(trial.hub)
                return trial

    with no_part_is_refused():
        return virtual_time.run(work())


def on_the_virtual_clock() -> Trial:
    return told(Trial.play)


def over_sockets() -> Trial:
    async def work(folder: Path) -> Trial:
        async with embedded_fleet.opened(folder / "fleet", lambda line: None) as fleet, AsyncExitStack() as stack:
            clients = {name: embedded_fleet.over_tls(folder / "fleet")(name) for name in (HUB, *fleet.workers)}
            for client in clients.values():
                stack.push_async_callback(client.close)
            await stack.enter_async_context(with_more_kinds(clients))
            trial = Trial(clients)
            await trial.play()
            await check_answers(trial.hub)
            return trial

    with TemporaryDirectory(prefix="fleetqueue-kinds-") as folder:
        return asyncio.run(work(Path(folder)))


WORLDS: dict[str, Callable[[], Trial]] = {"virtual": on_the_virtual_clock, "embedded": over_sockets}
