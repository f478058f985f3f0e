"""Give scenarios to a hub: round by round, all scenarios side by side, each in objects of its own.

A round is what may be written at once. After every round the hub settles, so that what comes out depends on the rounds
only and not on who was quicker.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import zip_longest
from typing import Any, Protocol

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.meta import Object, replacement
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

AT_ONCE = 8
"""Writes that are under way at a time; more would only wait for each other."""
UNITS = {"s": 1, "m": 60, "h": 3600}

Objects = dict[tuple[str, str, str], tuple[Resource, Manifest]]
"""By kind, namespace and name."""


class Hub(Protocol):
    client: Client

    async def settle(self, *, is_alone: bool = False) -> None:
        """Let the controllers come to an end with what they saw, of one scenario or of many."""
        ...

    async def wait(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Change:
    """An object as it was and as it shall be; None where it is not there."""

    resource: Resource
    before: Manifest | None
    after: Manifest | None


@dataclass(frozen=True)
class Round:
    changes: Sequence[Change] = ()
    wait: float = 0.0
    """Seconds that pass afterwards."""


@dataclass(frozen=True)
class Scenario:
    name: str
    rounds: Sequence[Round]
    clean_up: Callable[[Client], Awaitable[None]]
    """Removes what is left."""
    end_state: Callable[[Client], Awaitable[Any]]
    """Returns what is compared."""
    is_alone: bool = False
    """Whether others would change what comes out."""


async def run(hub: Hub, scenarios: Sequence[Scenario]) -> dict[str, Any]:
    """Return what each scenario ends in; those that must be alone go first, and leave nothing."""
    ends: dict[str, Any] = {}
    for scenario in scenarios:
        if scenario.is_alone:
            ends |= await _run_together(hub, [scenario])
            await scenario.clean_up(hub.client)
            await hub.settle(is_alone=True)
    return ends | await _run_together(hub, [scenario for scenario in scenarios if not scenario.is_alone])


async def _run_together(hub: Hub, scenarios: Sequence[Scenario]) -> dict[str, Any]:
    is_alone = len(scenarios) == 1
    for rounds in zip_longest(*(scenario.rounds for scenario in scenarios), fillvalue=Round()):
        await side_by_side(_write_all(hub.client, each.changes) for each in rounds)
        await settle_and_wait(hub, max(each.wait for each in rounds), is_alone=is_alone)
    return {scenario.name: await scenario.end_state(hub.client) for scenario in scenarios}


async def side_by_side(doings: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do what each scenario does in this round, several scenarios at a time."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def take_turn(doing: Coroutine[Any, Any, None]) -> None:
        async with turns:
            await doing

    await asyncio.gather(*map(take_turn, doings))


async def settle_and_wait(hub: Hub, seconds: float, *, is_alone: bool = False) -> None:
    """End a round, after which some time may have to pass."""
    await hub.settle(is_alone=is_alone)
    if seconds:
        await hub.wait(seconds)
        await hub.settle(is_alone=is_alone)


def keyed(made: Iterable[tuple[type[Object], Manifest]]) -> Objects:
    return {
        (kind.resource.kind, raw["metadata"].get("namespace", ""), raw["metadata"]["name"]): (kind.resource, raw)
        for kind, raw in made
    }


def changes(before: Objects, after: Objects) -> list[Change]:
    """Return what leads from some objects to others: first what is made or changed, then what is deleted."""
    gone = [Change(resource, manifest, None) for key, (resource, manifest) in before.items() if key not in after]
    kept = [
        Change(resource, before[key][1] if key in before else None, manifest)
        for key, (resource, manifest) in after.items()
        if key not in before or before[key][1] != manifest
    ]
    return [*kept, *gone]


def merged(state: Any, patch: Any) -> Any:
    """Return what was described with a step merged into it; null takes something away."""
    if not isinstance(patch, dict) or not isinstance(state, dict):
        return patch
    more = {key: merged(state.get(key), value) for key, value in patch.items() if value is not None}
    return {**{key: value for key, value in state.items() if key not in patch}, **more}


async def _write_all(client: Client, some: Sequence[Change]) -> None:
    for change in some:
        await write(client, change)


async def write(client: Client, change: Change) -> None:
    before, after = dated(change.before), dated(change.after)
    known = after or before
    assert known is not None
    name, namespace = known["metadata"]["name"], known["metadata"].get("namespace", "")
    if after is None:
        with suppress(errors.NotFound):
            await client.delete(change.resource, name, namespace)
        return
    if before is None:
        await client.create(change.resource, _without_status(after))
    elif patch := replacement(_without_status(before), _without_status(after)):
        await client.merge(change.resource, name, namespace, patch)
    if patch := replacement((before or {}).get("status") or {}, after.get("status") or {}):
        await client.merge(change.resource, name, namespace, {"status": patch}, subresource="status")


def dated(value: Any) -> Any:
    """Return an object in which `+5s` and `-1h` under the names of moments are moments from now."""
    if isinstance(value, dict):
        return {
            k: _moment(v) if k in ("validUntil", "timeAdded", "lastScheduleTime") else dated(v)
            for k, v in value.items()
        }
    return [dated(item) for item in value] if isinstance(value, list) else value


def _moment(text: str | None) -> str | None:
    if text is None or text[0] not in "+-":
        return text
    seconds = int(text[1:-1]) * UNITS[text[-1]] * (1 if text[0] == "+" else -1)
    return timestamp(clock.now() + timedelta(seconds=seconds))


def _without_status(manifest: Manifest) -> Manifest:
    return {field: value for field, value in manifest.items() if field != "status"}
