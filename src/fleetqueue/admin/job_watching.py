"""Follow jobs on a hub: what of their rows has changed, and through which phases a submitted job goes.

A change of a Workload wakes; what nobody tells of, such as a position in a queue, is looked at every few seconds.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from fleetqueue.admin import inventory
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.inventory import Row
from fleetqueue.admin.job_details import JobSurroundings, look_up
from fleetqueue.admin.job_phases import JobPhase, passed_phase, phase_of
from fleetqueue.admin.submitting import Submission
from fleetqueue.admin.waiting import Observed
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object
from fleetqueue.client import Client

GATHER_SECONDS: Final = 0.3
"""Changes come in bursts: one look for all of them."""
LOOK_SECONDS: Final = 3.0
"""After this time it is looked again, whatever happened."""
MOVING: Final = ("waited_seconds", "ran_seconds")
"""What changes by itself."""
DELETED: Final = "Deleted"
NOTHING_KNOWN: Final = HubState()

Wait = Callable[[], Awaitable[None]]


async def job_changes(hub: Client, namespace: str = "", name: str = "") -> AsyncIterator[list[Row]]:
    """Yield the rows of all jobs, then, without an end, those that have changed."""
    before: dict[tuple[str, ...], Row] = {}
    is_first = True
    async with changes_of_workloads(hub, namespace) as wait:
        while True:
            rows = {_identity(row): row for row in await inventory.jobs(hub, namespace, name)}
            gone = [
                {**row, "state": DELETED, "why": "it was deleted"} for key, row in before.items() if key not in rows
            ]
            changed = [row for key, row in rows.items() if key not in before or _differ(row, before[key])]
            if is_first or changed or gone:
                yield [*changed, *gone]
            before, is_first = rows, False
            await wait()


class JobFollower:
    """Tells how far jobs are; it begins to look before they are submitted, so that no phase is missed."""

    def __init__(self, hub: Client, namespaces: Collection[str], versions: list[kueue.Workload], wait: Wait) -> None:
        self._hub = hub
        self._namespaces = namespaces
        self._versions = versions
        self._wait = wait

    async def phases(self, submissions: Sequence[Submission]) -> AsyncIterator[JobPhase]:
        """Yield how far each job is whenever something of it has changed, until all have ended.

        A phase that lasts for less than a look does is told, too: every version of a Workload is seen.
        """
        followed = {(one.namespace, one.job): one for one in submissions}
        told = dict.fromkeys(followed, -1)
        while followed:
            versions, self._versions[:] = list(self._versions), []  # none of them is newer than the rows
            around = await look_up(self._hub, ())
            rows = {(row["namespace"], row["job"]): row for row in await _rows(self._hub, self._namespaces)}
            begin = [(key, {**row, "state": inventory.PENDING, "clusters": []}) for key, row in rows.items()]
            for key, passing in [*begin, *passed(versions, around)]:  # every job was queued at first
                if key in followed and key in rows and told[key] < stage(passing) < stage(rows[key]):
                    told[key] = stage(passing)
                    yield passed_phase(followed[key], passing)
            for key, submission in list(followed.items()):
                told[key] = stage(rows[key]) if key in rows else told[key]
                metadata = submission.manifest["metadata"]
                live = await self._hub.find(submission.resource, metadata["name"], submission.namespace)
                phase = phase_of(submission, rows.get(key), live)
                if phase is not None:
                    yield phase
                    if phase.is_last:
                        del followed[key]
            if followed:
                await self._wait()


@asynccontextmanager
async def follower(hub: Client, namespaces: Collection[str]) -> AsyncIterator[JobFollower]:
    """Begin to follow the jobs of some namespaces."""
    versions: list[kueue.Workload] = []
    async with changes_of_workloads(hub, *namespaces, versions=versions) as wait:
        versions.clear()
        yield JobFollower(hub, namespaces, versions, wait)


def stage(row: Row) -> int:
    """Number the stages of a job, so that one that is told late is known to be over."""
    order = (inventory.PENDING, kueue.QUOTA_RESERVED, kueue.ADMITTED, kueue.FINISHED)
    place = order.index(row["state"]) if row["state"] in order else -1
    return 2 * place + (row["state"] == kueue.QUOTA_RESERVED and bool(row["clusters"]))


def passed(versions: Sequence[kueue.Workload], around: JobSurroundings) -> Iterator[tuple[tuple[str, str], Row]]:
    """Return what Workloads were on their way to what they are now."""
    for workload in versions:
        if workload.is_live:
            row = inventory.job_row(workload, NOTHING_KNOWN, around)
            yield (row["namespace"], row["job"]), row


@asynccontextmanager
async def changes_of_workloads(
    hub: Client, *namespaces: str, versions: list[kueue.Workload] | None = None
) -> AsyncIterator[Wait]:
    """Give something that waits for the next change, or a few seconds; every version can be collected."""
    changed = asyncio.Event()

    def see(cluster: str, old: Object | None, new: Object | None) -> None:
        changed.set()
        if versions is not None and isinstance(new, kueue.Workload):
            versions.append(new)

    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", kueue.Workload, namespace=namespaces[0] if len(namespaces) == 1 else "")
        seen.watch(see)
        await seen.synced()

        async def wait() -> None:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await changed.wait()
                    await asyncio.sleep(GATHER_SECONDS)
            except TimeoutError:
                pass
            changed.clear()

        yield wait


async def _rows(hub: Client, namespaces: Collection[str]) -> list[Row]:
    return [row for namespace in sorted(namespaces) for row in await inventory.jobs(hub, namespace)]


def _identity(row: Row) -> tuple[str, ...]:
    return row["namespace"], row["job"], row["workload"]


def _differ(row: Row, other: Row) -> bool:
    return any(row[name] != other[name] for name in row if name not in MOVING)
