"""Read the logs of a job's pods, and go on until all of them have ended."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fleetqueue.admin.job_location import JobLocation, pods_of
from fleetqueue.admin.pod_reasons import without_node
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import FAILED, SUCCEEDED, Node, Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.controllers.processes.process import end

DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
BY_KWOK: Final = "kwok.x-k8s.io/node"
"""An annotation of nodes that kwok plays."""
AGAIN_SECONDS: Final = 1.0
"""How often further pods are looked for: one that failed may be replaced."""
Run = tuple[str, int]
"""A pod, by its uid, and how often its containers were started again."""


class PodLine(NamedTuple):
    pod: str
    text: str
    is_note: bool = False
    """Whether we say it, and not the container."""


@dataclass(slots=True)
class JobLogs:
    worker: Client
    location: JobLocation
    container: str = ""
    """Empty is the first one of each pod, or that which its annotation names."""
    tail: int | None = None
    _followed: dict[Run, asyncio.Task[bool]] = field(default_factory=dict)
    """Who reads each log; its result tells whether that worked."""
    _coming: asyncio.Queue[PodLine] = field(default_factory=asyncio.Queue)
    _notes: set[PodLine] = field(default_factory=set)

    async def lines(self, *, follow: bool = False) -> AsyncIterator[PodLine]:
        """Yield what the pods have said and, where they are followed, what they say until all have ended."""
        if follow:
            async for line in self._lines_to_come():
                yield line
            return
        for pod in await pods_of(self.worker, self.location):
            await self._read(pod, follow=False)
        while not self._coming.empty():
            yield self._coming.get_nowait()

    async def _lines_to_come(self) -> AsyncIterator[PodLine]:
        try:
            while not await self._follow_further():
                while (line := await self._next()) is not None:
                    yield line
            while not self._coming.empty():
                yield self._coming.get_nowait()
        finally:
            for task in self._followed.values():
                await end(task)

    async def _follow_further(self) -> bool:
        """Follow pods that are new; tell whether all have ended, and nothing can come."""
        pods = await pods_of(self.worker, self.location)
        for pod in pods:
            task = self._followed.get(run := _run(pod))
            if task is None or (task.done() and not task.result() and not _has_ended(pod)):
                self._followed[run] = asyncio.create_task(self._read(pod, follow=True))
        is_over = all(map(_has_ended, pods)) if pods else bool(self._followed) or self.location.has_ended
        return is_over and all(task.done() for task in self._followed.values())

    async def _next(self) -> PodLine | None:
        """Return the next line; None after a while without one."""
        try:
            return await asyncio.wait_for(self._coming.get(), AGAIN_SECONDS)
        except TimeoutError:
            return None

    async def _read(self, pod: Manifest, *, follow: bool) -> bool:
        """Read the log of one pod to its end; say once why that cannot be: one that has not started may be, later."""
        metadata, name = pod["metadata"], pod["metadata"]["name"]
        if not pod["spec"].get("nodeName"):
            self._note(name, without_node(pod))
            return False
        query = {"container": self.container or _default_container(pod), **({"follow": "true"} if follow else {})}
        if self.tail is not None:
            query["tailLines"] = str(self.tail)
        try:
            async with self.worker.log(Pod.resource, name, metadata["namespace"], query=query) as lines:
                async for line in lines:
                    self._coming.put_nowait(PodLine(name, line))
        except errors.ApiError as error:
            self._note(name, await self._why_not(pod, error))
            return False
        return True

    def _note(self, name: str, text: str) -> None:
        """Say something of a pod, once."""
        note = PodLine(name, text, is_note=True)
        if note not in self._notes:
            self._notes.add(note)
            self._coming.put_nowait(note)

    async def _why_not(self, pod: Manifest, error: errors.ApiError) -> str:
        """Say why the log of a pod cannot be read: kwok, which plays the nodes of fleets without machines, has none."""
        node = pod["spec"].get("nodeName", "")
        is_played = isinstance(error, errors.ServerError) and await self._is_played(node)
        return f"its node {node} is simulated by kwok, which has no logs of pods" if is_played else str(error)

    async def _is_played(self, node: str) -> bool:
        try:
            return BY_KWOK in Node.view(await self.worker.get(Node.resource, node)).metadata.annotations
        except errors.ApiError:
            return False


def _run(pod: Manifest) -> Run:
    """Name a run of a pod's containers: one that starts again begins a new log."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return pod["metadata"]["uid"], sum(status.get("restartCount", 0) for status in statuses)


def _default_container(pod: Manifest) -> str:
    annotated = (pod["metadata"].get("annotations") or {}).get(DEFAULT_CONTAINER)
    return str(annotated or pod["spec"]["containers"][0]["name"])


def _has_ended(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in (SUCCEEDED, FAILED)
