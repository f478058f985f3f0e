"""Which of the user's own contexts leads to the cluster that has the pods of a job.

By its address; or by who it is, since the hub may know a worker by another address than its users do, that of a proxy
for example. Only the context that is called like the worker is asked that: others may be of clusters that have nothing
to do with the fleet.
"""

from collections.abc import Callable, Mapping
from typing import Final

from fleetqueue.admin.job_location import JobLocation, NoPods, title
from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.processes.capabilities import known_identity

Dial = Callable[[Connection], Client]
ANSWER_SECONDS: Final = 10.0
"""How long a cluster may take to say who it is; who looks for logs waits as long where it is away."""


async def found(location: JobLocation, contexts: Mapping[str, Connection], dial: Dial) -> Connection:
    """Choose the user's context for the worker of a job; raises NoPods where none is known to lead there."""
    fitting = [one for one in contexts.values() if location.known.is_at(one.server)]
    if fitting:
        return min(fitting, key=lambda one: one.name != location.cluster)
    namesake = contexts.get(location.cluster)
    why_not = (
        "no context of your kubeconfig leads there" if namesake is None else await _doubt(location, namesake, dial)
    )
    if namesake is not None and not why_not:
        return namesake
    urls = location.known.urls
    address = f" (at {', '.join(urls)})" if urls else ""
    raise NoPods(
        f"{location.job} is on {location.cluster}{address}, and {why_not}; ask the administrator of {location.cluster}"
        f" for one that does, and name it with --worker-context, or have somebody run: {location.by_hand}"
    )


async def _doubt(location: JobLocation, namesake: Connection, dial: Dial) -> str:
    """Say why a context that is called like a worker is not taken for one of it; empty where it leads there."""
    its = f"context {namesake.name} of your kubeconfig"
    try:
        uid = await _identity(namesake, dial)
    except (errors.ApiError, errors.Unreachable) as error:
        return f"{its} has another address and does not say which cluster it opens: {error}"
    if not uid or not location.known.uid:
        return f"{its} has another address, and nobody can tell whether it leads there; if it does, name it"
    return "" if uid == location.known.uid else f"{its} leads to {_opened(location, namesake, uid)}"


async def check(location: JobLocation, named: Connection, dial: Dial) -> None:
    """See that a context that somebody named leads to the pods; raises NoPods where it is known to lead elsewhere."""
    if location.known.is_at(named.server):
        return
    uid = await _identity(named, dial)
    if uid and uid == location.known.uid:
        return
    opened = _opened(location, named, uid)
    if opened:
        where = title(location.cluster)
        raise NoPods(
            f"{location.job} is on {where}, and context {named.name} leads to {opened}; name a context of {where}"
            " with --worker-context, or leave that out"
        )


def _opened(location: JobLocation, connection: Connection, uid: str) -> str:
    """Name the cluster that a connection opens where that is not the one with the pods; empty where nobody can tell."""
    others = {name: one for name, one in location.fleet.items() if name != location.cluster}
    names = [name for name, one in others.items() if (uid and uid == one.uid) or one.is_at(connection.server)]
    if names:
        return title(names[0])
    return "another cluster" if uid and location.known.uid else ""


async def _identity(connection: Connection, dial: Dial) -> str:
    client = dial(connection)
    client.timeout = ANSWER_SECONDS
    try:
        return await known_identity(client)
    finally:
        await client.close()
