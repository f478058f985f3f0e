"""Stand by in a world while a test lives in it, and look back when it is over: do the four invariants hold?"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from fleetqueue.admin.job_causes import cause_of
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.meta import Object
from fleetqueue.client import Client
from fleetqueue.demo.story_run import SingleRunMonitor
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.runtime.informer import Informer
from fleetqueue.testing.virtual_time import advance, running

from . import Broken
from .quiet import versions, written
from .reasons import MOMENT, Explained, Hub, Reasons, without_an_answer
from .strangers import Strangers

ONCE = "at most one live copy of a job"
FOREIGN = "nothing foreign is touched"
QUIET = "a second reconcile writes nothing"
REASON = "every pending job has a reason"
INVARIANTS = (ONCE, FOREIGN, QUIET, REASON)
Found = Mapping[str, list[str]]
"""What broke each invariant."""
Meanwhile = AbstractAsyncContextManager[object]


@dataclass(frozen=True)
class Pace:
    """How long a world is looked at, in its own seconds."""

    calm: float = 60.0
    """In which what was under way comes to its end."""
    quiet: float = 90.0
    """In which nobody writes; longer than most controllers wait before they look again."""
    moment: float = MOMENT
    """For which a job may wait without a word."""
    wait: Callable[[float], Awaitable[None]] = advance


REAL_TIME = Pace(calm=3.0, quiet=3.0, moment=20.0, wait=asyncio.sleep)


class Bystander:
    def __init__(
        self, clients: Mapping[str, Client], pace: Pace, without: Sequence[type[Object]], explained: Explained
    ) -> None:
        self._clients = clients
        self._explained = explained
        self._pace = pace
        self._strangers = Strangers(clients, without=without)
        self._watchman = SingleRunMonitor()
        self._reasons = Reasons(pace.moment)
        self._silent: dict[str, None] = {}

    @asynccontextmanager
    async def watching(self) -> AsyncIterator["Bystander"]:
        await self._strangers.arrive()
        async with AsyncExitStack() as stack:
            for name, client in self._clients.items():
                if name != HUB:
                    informer = Informer(client, Job)
                    informer.subscribe(partial(self._watchman.see, name))
                    await stack.enter_async_context(running(informer.run()))
            await stack.enter_async_context(running(self._ask_why()))
            yield self

    async def look_back(self, meanwhile: Meanwhile | None = None) -> Found:
        """Leave the world alone for a while, then say what broke each invariant.

        `meanwhile` runs while nobody may write: parts that are started once more, say, and tell again what they see.
        """
        await self._pace.wait(self._pace.calm)
        before = {name: await versions(client) for name, client in self._clients.items()}
        async with meanwhile or nullcontext():
            await self._pace.wait(self._pace.quiet)
        wrote = [
            f"on {name}: {what}"
            for name, client in self._clients.items()
            for what in written(before[name], await versions(client), with_news=meanwhile is None)
        ]
        return {**await self.seen(), QUIET: wrote}

    async def seen(self) -> Found:
        """Say what broke each invariant until now, but for the one that takes time to see."""
        await self._look()
        reasons = [*self._silent, *await without_an_answer(self._clients[HUB], self._explained)]
        return {ONCE: self._watchman.doubles, FOREIGN: await self._strangers.touched(), REASON: reasons}

    async def check(self, meanwhile: Meanwhile | None = None) -> None:
        """Look back; raises Broken."""
        complain(await self.look_back(meanwhile))

    async def _ask_why(self) -> None:
        while True:
            await asyncio.sleep(self._pace.moment / 4)
            try:
                await self._look()
            except (errors.ApiError, errors.Unreachable):
                continue  # nobody can be asked now

    async def _look(self) -> None:
        try:
            hub = await Hub.of(self._clients[HUB])
        except errors.NotFound:
            return  # no Kueue, and so no queues
        self._silent |= dict.fromkeys(self._reasons.unexplained(hub))


def complain(found: Found) -> None:
    """Raise Broken where an invariant was."""
    broken = {invariant: what for invariant, what in found.items() if what}
    if broken:
        raise Broken("\n".join(f"{invariant}: {'; '.join(what[:20])}" for invariant, what in broken.items()))


@asynccontextmanager
async def standing_by(
    clients: Mapping[str, Client],
    pace: Pace = Pace(),  # noqa: B008 - it is never changed
    *,
    without: Sequence[type[Object]] = (),
    explained: Explained = cause_of,
) -> AsyncIterator[Bystander]:
    """Watch over a world of a hub and its workers; who wants to know asks the bystander before it leaves.

    No stranger is of the kinds that it shall be `without`, since the test counts all that there are. `explained` is
    what `explain` says of a Workload.
    """
    async with Bystander(clients, pace, without, explained).watching() as bystander:
        yield bystander


@asynccontextmanager
async def watched_over(
    clients: Mapping[str, Client], *, without: Sequence[type[Object]] = (), broken: Collection[str] = ()
) -> AsyncIterator[None]:
    """Watch over a test of one room, and complain when it is over; its second look is where its controllers run.

    `broken` are the invariants that the test breaks on purpose: one that it does not break is a complaint too.
    """
    async with standing_by(clients, without=without) as bystander:
        yield
        found = await bystander.seen()
    kept = [invariant for invariant in broken if not found[invariant]]
    if kept:
        raise Broken(f"broken on purpose, and yet it was not: {', '.join(kept)}")
    complain({invariant: what for invariant, what in found.items() if invariant not in broken})
