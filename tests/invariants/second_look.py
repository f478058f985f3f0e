"""Run controllers for a test, and let them look at everything once more when its body is over: they write nothing.

Whoever subscribes again is told again of all that there is, so that every key is worked on a second time. No time
passes meanwhile. Where a test leaves a fault on the way, what is written afterwards may be what failed before: there
is no second look.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial

from fleetqueue.api.requests import Request
from fleetqueue.client import Client
from fleetqueue.controllers.usage_scores.agent import KEY, ScoreAgent
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.fleets.targets import RequestTarget, target_of
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.virtual_time import advance, running, settle

from . import Broken


@asynccontextmanager
async def managed(manager: Manager, *others: Cluster, apis: Iterable[ArrangedApi] = ()) -> AsyncIterator[None]:
    """Let a manager work while the body runs, with the caches of other clusters that its controllers need.

    `apis` are those of clusters to which its controllers open clients of their own.
    """
    async with AsyncExitStack() as stack:
        for other in others:
            await stack.enter_async_context(running(other.run()))
        await stack.enter_async_context(running(manager.run()))
        yield
        await settle()
        if manager.ready.is_set():
            await look_again(manager.controllers, manager.hub, *others, apis=list(apis))


@asynccontextmanager
async def whole(kueue: KueueManager, apis: Iterable[ArrangedApi] = ()) -> AsyncIterator[None]:
    """Let a whole Kueue work while the body runs, which puts its controllers together when it starts."""
    async with running(kueue.run()):
        yield
        await settle()
        if not kueue.why_not_ready():
            await look_again(kueue._manager.controllers, kueue.cluster, apis=list(apis))


@asynccontextmanager
async def scoring(agent: ScoreAgent) -> AsyncIterator[None]:
    """Let a score agent work while the body runs; it looks in turns, and first renews what it is time for."""
    turn = agent.settings.publish_interval + agent.settings.look_interval
    async with running(agent.run()):
        yield
        await settle()
        if not has_faults(agent.hub.client) and not has_faults(agent.worker.client):
            agent.wake(KEY)
            await advance(turn)
            with noted(agent.hub.client, agent.worker.client) as written:
                agent.wake(KEY)
                await advance(turn)
            complain(written)


async def look_again(controllers: Sequence[Controller], *clusters: Cluster, apis: Sequence[ArrangedApi] = ()) -> None:
    """Let controllers work on every key that they know once more; raises Broken where one of them writes."""
    clients = [cluster.client for cluster in clusters]
    await settle()
    if any(has_faults(client) for client in clients):
        return
    marks = [len(api.writes) for api in apis]
    with noted(*clients) as written:
        for controller in controllers:
            controller.subscribe()
        await settle()
    complain([*written, *(write for api, mark in zip(apis, marks, strict=True) for write in api.writes[mark:])])


@contextmanager
def noted(*clients: Client) -> Iterator[list[str]]:
    """Take note of what clients write that has no place in a second look."""
    written: list[str] = []
    before = [client.observe for client in clients]
    for client, observe in zip(clients, before, strict=True):
        client.observe = partial(_note, written, observe)
    yield written
    for client, observe in zip(clients, before, strict=True):
        client.observe = observe


def complain(written: Sequence[str]) -> None:
    if written:
        raise Broken(f"a second look wrote: {', '.join(written)}")


def has_faults(client: Client) -> bool:
    return isinstance(client.door, ArrangedApi) and any(one.times > 0 for one in client.door.way.failures)


def _note(written: list[str], observe: Callable[[Request, int], None], request: Request, status: int) -> None:
    target = target_of(request)
    if target is not None and counts(target) and status < 400:
        written.append(str(target))
    observe(request, status)


def counts(target: RequestTarget) -> bool:
    """Tell whether it is a write that has no place in a second look.

    What waited for its time may be told now, in a new Event; one that is told again is a repetition. A namespace that
    goes is emptied until nothing is left in it.
    """
    is_news = target.plural == "events" and target.verb == "create"
    return target.is_write and target.verb != "deletecollection" and not is_news
