"""Run controllers for a test, and let them look at everything once more when its body is over: they write nothing.

Whoever subscribes again is told again of all that there is, so that every key is worked on a second time. No time
passes meanwhile. Where a test leaves a fault on the way, what is written afterwards may be what failed before: there
is no second look.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from fleetqueue.api.requests import Request
from fleetqueue.assembly.targets import Target, target_of
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.virtual_time import running, settle

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
        await look_again(manager, *others, apis=list(apis))


async def look_again(manager: Manager, *others: Cluster, apis: Sequence[ArrangedApi] = ()) -> None:
    """Let controllers work on every key that they know once more; raises Broken where one of them writes."""
    clients = [cluster.client for cluster in (manager.hub, *others)]
    await settle()
    if not manager.ready.is_set() or any(has_faults(client) for client in clients):
        return
    written: list[str] = []
    marks = [len(api.writes) for api in apis]
    before = [client.observe for client in clients]
    for client, observe in zip(clients, before, strict=True):
        client.observe = partial(_note, written, observe)
    for controller in manager.controllers:
        controller.subscribe()
    await settle()
    for client, observe in zip(clients, before, strict=True):
        client.observe = observe
    for api, mark in zip(apis, marks, strict=True):
        written += api.writes[mark:]
    if written:
        raise Broken(f"a second look wrote: {', '.join(written)}")


def has_faults(client: Client) -> bool:
    return isinstance(client.door, ArrangedApi) and any(one.times > 0 for one in client.door.way.failures)


def _note(written: list[str], observe: Callable[[Request, int], None], request: Request, status: int) -> None:
    target = target_of(request)
    if target is not None and counts(target) and status < 400:
        written.append(str(target))
    observe(request, status)


def counts(target: Target) -> bool:
    """Tell whether it is a write that has no place in a second look.

    What waited for its time may be told now, in a new Event; one that is told again is a repetition. A namespace that
    goes is emptied until nothing is left in it.
    """
    is_news = target.plural == "events" and target.verb == "create"
    return target.is_write and target.verb != "deletecollection" and not is_news
