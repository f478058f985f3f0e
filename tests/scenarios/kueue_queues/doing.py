"""Give queue scenarios to a hub: objects change, Workloads finish, evicted ones give their quota back."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Protocol

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import FALSE, TRUE
from fleetqueue.client import Client
from fleetqueue.controllers.kueue.scheduling import admission_status

from ..running import Change, write  # noqa: TID252 - what the rooms share stands above them

AT_ONCE = 8


@dataclass(frozen=True)
class Step:
    changes: Sequence[Change] = ()
    finish: Sequence[str] = ()
    release: Sequence[str] | None = ()
    """None is everybody who is evicted."""
    wait: float = 0.0
    """Seconds that pass afterwards."""


class Hub(Protocol):
    client: Client

    async def settle(self) -> None: ...
    async def wait(self, seconds: float) -> None: ...


async def run(hub: Hub, scenarios: dict[str, Sequence[Step]]) -> None:
    """Run all scenarios side by side; `scenarios` holds the rounds of each under its namespace."""
    for steps in zip_longest(*scenarios.values(), fillvalue=Step()):
        await _do(hub.client, dict(zip(scenarios, steps, strict=True)))
        await hub.settle()
        if longest := max(step.wait for step in steps):
            await hub.wait(longest)
            await hub.settle()


async def _do(client: Client, steps: dict[str, Step]) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def do(namespace: str, step: Step) -> None:
        async with turns:
            for change in step.changes:
                await write(client, change)
            for name in step.finish:
                await _finish(client, name, namespace)
            for name in await _evicted(client, namespace) if step.release is None else step.release:
                await _release(client, name, namespace)

    await asyncio.gather(*(do(namespace, step) for namespace, step in steps.items()))


async def _finish(client: Client, name: str, namespace: str) -> None:
    """Write what a job's controller writes when its job has ended; a job that does not run cannot end."""
    raw = await client.get(kueue.Workload.resource, name, namespace)
    if not kueue.Workload.view(raw).has_quota:
        return
    status = admission_status.with_condition({}, kueue.FINISHED, TRUE, "Succeeded", "by test", 1, clock.now())
    manifest = admission_status.patch(raw, status)
    await client.apply(kueue.Workload.resource, manifest, subresource="status", manager="by-test")


async def _evicted(client: Client, namespace: str) -> list[str]:
    found = [kueue.Workload.view(raw) for raw in (await client.list(kueue.Workload.resource, namespace)).items]
    return [each.name for each in found if each.is_leaving]


async def _release(client: Client, name: str, namespace: str) -> None:
    """Write what a job's controller writes when an evicted job has stopped."""
    raw = await client.get(kueue.Workload.resource, name, namespace)
    status: dict[str, Any] = {k: v for k, v in raw["status"].items() if k != "admission"}
    now = clock.now()
    status = admission_status.with_condition(status, kueue.QUOTA_RESERVED, FALSE, kueue.PENDING, "by test", 1, now)
    status = admission_status.with_condition(status, kueue.ADMITTED, FALSE, "NoReservation", "by test", 1, now)
    status = admission_status.with_condition(status, kueue.REQUEUED, TRUE, kueue.PREEMPTED, "by test", 1, now)
    manifest = admission_status.patch(raw, status)
    await client.apply(kueue.Workload.resource, manifest, subresource="status", manager=kueue.ADMISSION_MANAGER)
