"""Create and delete the pods of an owner, singly or in batches: noted until the cache shows it, with an Event."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.own_writes import OwnWrites


@dataclass(frozen=True, slots=True)
class PodEventNotes:
    """What is said of pods to their owner."""

    created: str = "Created pod: {pod}"
    create_failed: str = "Error creating: {error}"
    deleted: str = "Deleted pod: {pod}"
    delete_failed: str = "Error deleting: {error}"


NOTES: Final = PodEventNotes()


class PodControl:
    def __init__(self, cluster: Cluster, events: Recorder, notes: PodEventNotes = NOTES) -> None:
        self.cluster = cluster
        self.events = events
        self.notes = notes
        self.writes = OwnWrites(cluster.informer(Pod).store)

    async def create(self, owner: Object, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        self.writes.creating(owner.key, name, owner.namespace)
        try:
            await self.cluster.client.create(Pod.resource, manifest)
        except errors.AlreadyExists:
            self.writes.forget(name, owner.namespace)
            raise
        except errors.ApiError as error:
            self.writes.forget(name, owner.namespace)
            if is_of_ending_namespace(error):
                return  # nothing will be made there any more
            note = self.notes.create_failed.format(pod=name, owner=owner.name, error=error)
            await self.events.warning(owner, "FailedCreate", note)
            raise
        note = self.notes.created.format(pod=name, owner=owner.name)
        await self.events.normal(owner, "SuccessfulCreate", note)

    async def delete(self, owner: Object, pod: Pod) -> None:
        """Delete a pod that its owner no longer wants; one that has gone already will do."""
        self.writes.deleting(owner.key, pod)
        try:
            await self.cluster.client.delete(pod.resource, pod.name, pod.namespace, uid=pod.uid)
        except errors.NotFound:
            return
        except (errors.ApiError, errors.Unreachable) as error:
            self.writes.forget(pod.name, pod.namespace)
            note = self.notes.delete_failed.format(pod=pod.name, owner=owner.name, error=error)
            await self.events.warning(owner, "FailedDelete", note)
            raise
        note = self.notes.deleted.format(pod=pod.name, owner=owner.name)
        await self.events.normal(owner, "SuccessfulDelete", note)


def is_of_ending_namespace(error: errors.ApiError) -> bool:
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.details.get("causes") or ())


T = TypeVar("T")
Act = Callable[[T], Awaitable[None]]


async def at_once(things: Iterable[T], act: Act[T]) -> None:
    """Wait for all, also where one fails; then raise the first failure."""
    for failure in await _failures(things, act):
        raise failure


async def slow_start(things: Sequence[T], act: Act[T]) -> tuple[int, errors.ApiError | None]:
    """Act in batches of 1, 2, 4, ...; none is begun after a failure, since others may fail for the same reason.

    Return for how many it was done, and why not for all; what is no answer of the API is raised.
    """
    done, size, begun = 0, 1, 0
    while begun < len(things):
        batch = things[begun : begun + size]
        failures = await _failures(batch, act)
        done, begun, size = done + len(batch) - len(failures), begun + len(batch), size * 2
        for failure in failures:
            if isinstance(failure, errors.ApiError):
                return done, failure
            raise failure
    return done, None


async def _failures(things: Iterable[T], act: Act[T]) -> list[BaseException]:
    results = await asyncio.gather(*map(act, things), return_exceptions=True)
    return [result for result in results if result is not None]
