"""`kubectl wait`, and the waiting that `kubectl delete` does."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import KubectlProblem
from fleetqueue.demo.own_kubectl.targets import KubectlCluster, NamedObject, named
from fleetqueue.demo.own_kubectl.templates import render

A_WEEK: Final = 7 * 24 * 3600.0
"""How long kubectl waits that is told no limit."""
WATCH_SECONDS: Final = 300
"""A watch ends after so long, and a new one goes on."""

Holds = Callable[[Manifest], bool]


async def wait(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    what, limit = line.flag("--for"), line.seconds("--timeout") or 30.0
    met = []
    for target in await named(cluster, line, line.words):
        if what != "delete" or await _is_there(cluster.client, target):
            await within(limit, target, _awaited(cluster.client, target, what))
            met.append(f"{target} condition met\n")
    return "".join(met)


async def within(limit: float, target: NamedObject, waiting: Awaitable[None]) -> None:
    """Wait so many seconds at most; raises KubectlProblem."""
    try:
        async with asyncio.timeout(limit):
            await waiting
    except TimeoutError:
        name = f"{target.kind.resource.plural}/{target.name}"
        raise KubectlProblem(f"error: timed out waiting for the condition on {name}") from None


async def gone(client: Client, target: NamedObject, uid: str) -> None:
    """Wait until an object has gone, or another one has taken its name."""
    async with aclosing(_states(client, target)) as states:
        async for state in states:
            if state is None or (uid and state["metadata"]["uid"] != uid):
                return


async def _awaited(client: Client, target: NamedObject, what: str) -> None:
    if what == "delete":
        await gone(client, target, "")
        return
    holds = _condition(what)
    if what != "create":
        await client.get(target.kind.resource, target.name, target.namespace)  # what is not there is not waited for
    async with aclosing(_states(client, target)) as states:
        async for state in states:
            if state is not None and holds(state):
                return


async def _is_there(client: Client, target: NamedObject) -> bool:
    return await client.find(target.kind.resource, target.name, target.namespace) is not None


def _condition(what: str) -> Holds:
    """Read what is waited for: `create`, `condition=Ready`, `condition=Ready=False`, `jsonpath={.a}=b`."""
    if what == "create":
        return lambda obj: True
    kind, _, rest = what.partition("=")
    if kind == "condition":
        name, _, status = rest.partition("=")
        return lambda obj: _status(obj, name.lower()) == (status or "True").lower()
    if kind == "jsonpath":
        path, _, value = rest.rpartition("=") if "}=" in rest else (rest, "", "")
        return lambda obj: render(path, obj) == value if value else bool(render(path, obj))
    raise KubectlProblem(f'error: unrecognized condition: "{what}"')


def _status(obj: Manifest, name: str) -> str:
    conditions: list[dict[str, Any]] = (obj.get("status") or {}).get("conditions") or []
    return next((str(one["status"]).lower() for one in conditions if str(one["type"]).lower() == name), "")


async def _states(client: Client, target: NamedObject) -> AsyncGenerator[Manifest | None]:
    """Give an object as it is now and after each change; None while it is not there."""
    resource, fields = target.kind.resource, f"metadata.name={target.name}"
    while True:
        page = await client.list(resource, target.namespace, fields=fields)
        yield page.items[0] if page.items else None
        query = {"fieldSelector": fields, "timeoutSeconds": str(WATCH_SECONDS)}
        query["resourceVersion"] = page.resource_version
        try:
            async with client.watch(resource, target.namespace, query=query, silence=2 * WATCH_SECONDS) as events:
                async for event in events:
                    if event.type != "BOOKMARK":
                        yield None if event.type == "DELETED" else event.object
        except errors.Gone:
            continue
