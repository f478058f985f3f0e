"""Give queue scenarios to a hub: objects change, Workloads finish, evicted ones give their quota back."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import FALSE, TRUE
from fleetqueue.client import Client
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.rules.workload_admission import applied

from ..running import Change, Hub, settle_and_wait, side_by_side, write  # noqa: TID252 - all rooms share it


@dataclass(frozen=True)
class Step:
    changes: Sequence[Change] = ()
    finish: Sequence[str] = ()
    release: Sequence[str] | None = ()
    """Of those who are evicted; None is everybody."""
    wait: float = 0.0
    """Seconds that pass afterwards."""


async def run(hub: Hub, scenarios: dict[str, Sequence[Step]]) -> None:
    """Run all scenarios side by side; `scenarios` holds the rounds of each under its namespace."""
    for steps in zip_longest(*scenarios.values(), fillvalue=Step()):
        await side_by_side(_do(hub.client, *each) for each in zip(scenarios, steps, strict=True))
        await settle_and_wait(hub, max(step.wait for step in steps))


async def _do(client: Client, namespace: str, step: Step) -> None:
    for change in step.changes:
        await write(client, change)
    for name in step.finish:
        await _finish(client, name, namespace)
    if step.release is None or step.release:
        for name in await _evicted(client, namespace):
            if step.release is None or name in step.release:
                await _release(client, name, namespace)


async def _finish(client: Client, name: str, namespace: str) -> None:
    """Write what a job's controller writes when its job has ended; a job that does not run cannot end."""
    raw = await client.get(kueue.Workload.resource, name, namespace)
    if not kueue.Workload.view(raw).has_quota:
        return
    status = admission_status.with_condition({}, kueue.FINISHED, TRUE, "Succeeded", "by test", 1, clock.now())
    manifest = applied(raw, status)
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
    manifest = applied(raw, status)
    await client.apply(kueue.Workload.resource, manifest, subresource="status", manager=kueue.ADMISSION_MANAGER)
