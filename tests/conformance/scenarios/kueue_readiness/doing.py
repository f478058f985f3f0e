"""Give scenarios of one configuration to a hub, each in the form that it has."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.client import Client

from ..kueue_jobs import doing as jobs  # noqa: TID252 - what the rooms share stands above them
from ..kueue_jobs import end_state as end_of_jobs  # noqa: TID252
from ..kueue_jobs.form import JOB_KINDS  # noqa: TID252
from ..kueue_queues import doing as queues  # noqa: TID252
from ..kueue_queues import end_state as end_of_queues  # noqa: TID252
from ..kueue_queues.form import namespace, steps  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends  # noqa: TID252

LEFTOVERS = (Job, *JOB_KINDS.values(), kueue.Workload)
"""What would hold quota while others run, its owners first."""


async def run(hub: Hub, some: Sequence[tuple[Described, str]], *, is_alone: bool) -> Ends:
    """Return what each scenario ends in, given with its prefix; nothing of them is left that runs."""
    ends: Ends = {}
    for batch in [[each] for each in some] if is_alone else [some]:
        ends |= await _run_together(hub, batch)
        await _clean_up(hub, (namespace(prefix) for _, prefix in batch))
    return ends


async def _run_together(hub: Hub, some: Sequence[tuple[Described, str]]) -> Ends:
    of_queues = {said["name"]: (said, prefix) for said, prefix in some if "queues" in said}
    actors = [jobs.Actor(hub.client, said, prefix) for said, prefix in some if said["name"] not in of_queues]
    if of_queues:
        await queues.run(hub, {namespace(prefix): [*steps(said, prefix)] for said, prefix in of_queues.values()})
    if actors:
        await jobs.run(hub, actors)
    ends: dict[str, Any] = {actor.said["name"]: await end_of_jobs.end_state(hub.client, actor) for actor in actors}
    for name, (_, prefix) in of_queues.items():
        ends[name] = await end_of_queues.end_state(hub.client, prefix)
    return ends


async def _clean_up(hub: Hub, namespaces: Iterable[str]) -> None:
    for where in namespaces:
        for kind in LEFTOVERS:
            await _delete_all(hub.client, kind, where)
    await hub.settle()


async def _delete_all(client: Client, kind: Any, namespace: str) -> None:
    for raw in (await client.list(kind.resource, namespace)).items:
        with suppress(errors.NotFound):
            await client.delete(kind.resource, raw["metadata"]["name"], namespace)
