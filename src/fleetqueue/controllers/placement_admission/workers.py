"""Connections to the workers: what they hold of ours, asked live, and what their queues have left, followed.

Each worker has its own connection and its own tasks, so that a dead or slow one never stalls another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import find
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY
from fleetqueue.api.meta import key_of
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, KubeconfigError, parse
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import is_news
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

ANSWER_SECONDS: Final = 5.0
"""A worker that takes longer counts as one that cannot be asked; its work stays where it is."""
SILENCE_SECONDS: Final = 10.0
"""How long a worker that did not answer is not asked again: a hundred questions about it must not wait one by one."""
PAGE: Final = 100
"""How many objects of a worker are looked at in one go."""

log = Log("workers")

Dial = Callable[[Connection], Client]
T = TypeVar("T")
Q = TypeVar("Q", kueue.ClusterQueue, kueue.LocalQueue)


@dataclass(slots=True)
class Worker:
    kubeconfig: str
    """As the secret holds it."""
    cluster: Cluster
    following: "asyncio.Task[None]"
    since: float
    """When it was dialled."""
    silent_until: float = 0.0
    silence: str = ""
    """Why it did not answer."""


@dataclass(frozen=True, slots=True)
class WorkloadCopy:
    """A Workload on a worker that the hub's Kueue put there."""

    key: str
    is_admitted: bool
    created: datetime | None
    has_job: bool = False
    """Whether a job is there: the worker's Kueue makes it the owner."""
    admitted: datetime | None = None
    """When it was admitted, by the worker's clock."""


class Workers:
    def __init__(self, dial: Dial, metrics: Metrics, *, on_change: Callable[[], None]) -> None:
        self._dial = dial
        self._metrics = metrics
        self._on_change = on_change
        self._workers: dict[str, Worker] = {}
        self._broken: dict[str, str] = {}
        """Kubeconfigs that cannot be used, so that each is told of once."""

    async def held(self, secret: Secret | None, origins: Collection[str]) -> set[str]:
        """Ask a worker which Workloads and unfinished Jobs of this hub it holds; return the Workloads' keys.

        Without `origins` every copy counts, also one of another hub: then it is not known which are ours.
        A Workload counts until Kueue has removed it, which it does after it has learned how the job ended. A job of
        whatever kind runs only while its Workload is there: without one, the worker's Kueue stops it. May raise
        Unreachable.
        """
        label = f"{kueue.ORIGIN_LABEL} in ({','.join(sorted(origins))})" if origins else kueue.ORIGIN_LABEL
        workloads, jobs = await self._ask(
            secret,
            lambda client: asyncio.gather(_workloads(client, label), _of_unfinished_jobs(client, label)),
        )
        return workloads | jobs

    async def copy(self, secret: Secret | None, workload: kueue.Workload) -> WorkloadCopy | None:
        """Ask a worker for its copy of a Workload; None where it has none. May raise Unreachable."""
        resource = kueue.Workload.resource
        try:
            raw = await self._ask(secret, lambda client: client.get(resource, workload.name, workload.namespace))
        except errors.NotFound:
            return None
        copy = kueue.Workload.view(kueue.Workload.trim(raw))
        admitted = find(copy.status.conditions, kueue.ADMITTED)
        return WorkloadCopy(
            copy.key,
            copy.is_true(kueue.ADMITTED),
            copy.metadata.creation_timestamp,
            has_job=bool(copy.metadata.owner_references),
            admitted=admitted.last_transition_time if admitted is not None else None,
        )

    def queue(self, secret: Secret | None, workload: kueue.Workload) -> kueue.ClusterQueue | None:
        """Return the worker's queue for a Workload; None where it is not known."""
        return self._queues(secret, workload)[1]

    def why_closed(self, secret: Secret | None, workload: kueue.Workload) -> str:
        """Say why the worker's queue takes no Workload now; empty where it takes them, or that is not known."""
        worker = self._workers.get(secret.name) if secret else None
        if worker is None or not worker.cluster.is_synced or worker.cluster.problems():
            return ""
        local, queue = self._queues(secret, workload)
        if local is None:
            return messages.no_local_queue(workload.namespace, workload.spec.queue_name)
        stopped = next(
            (candidate for candidate in (local, queue) if candidate is not None and candidate.is_stopped), None
        )
        return messages.queue_stopped(stopped) if stopped is not None else ""

    def _queues(
        self, secret: Secret | None, workload: kueue.Workload
    ) -> tuple[kueue.LocalQueue | None, kueue.ClusterQueue | None]:
        """Return the worker's queues for a Workload, as far as they are known."""
        worker = self._workers.get(secret.name) if secret else None
        if worker is None or worker.cluster.problems():
            return None, None
        local = worker.cluster.get(kueue.LocalQueue, workload.spec.queue_name, workload.namespace)
        return local, worker.cluster.get(kueue.ClusterQueue, local.spec.cluster_queue) if local else None

    def is_being_read(self, secret: Secret | None) -> bool:
        """Tell whether the queues of a worker are about to be known: it is just being asked for them."""
        self.follow(secret)
        worker = self._workers.get(secret.name) if secret else None
        return (
            worker is not None
            and clock.monotonic() < worker.since + ANSWER_SECONDS
            and not worker.cluster.is_synced
            and not worker.cluster.problems()
        )

    def follow(self, secret: Secret | None) -> None:
        """Follow the queues of the worker behind a secret; a changed kubeconfig opens a new connection."""
        text = secret.data.get(KUBECONFIG_KEY) if secret else None
        if secret is None or text is None or self._broken.get(secret.name) == text:
            return
        known = self._workers.get(secret.name)
        if known is not None and known.kubeconfig == text and not known.following.done():
            return
        self.forget(secret.name)
        try:
            client = self._dial(parse(secret.text(KUBECONFIG_KEY) or ""))
        except (KubeconfigError, ValueError) as error:  # ValueError: no base64, or no text
            log.warning("kubeconfig cannot be used", secret=secret.name, error=error)
            self._broken[secret.name] = text
            return
        client.timeout = ANSWER_SECONDS
        cluster = Cluster(secret.name, client, metrics=self._metrics)
        cluster.informer(kueue.ClusterQueue).subscribe(self._changed)
        cluster.informer(kueue.LocalQueue).subscribe(self._changed)
        task = asyncio.create_task(_follow(cluster), name=f"worker {secret.name}")
        self._workers[secret.name] = Worker(text, cluster, task, clock.monotonic())

    def forget(self, secret_name: str) -> None:
        """Close the connection behind a secret, if there is one."""
        self._broken.pop(secret_name, None)
        worker = self._workers.pop(secret_name, None)
        if worker is not None:
            worker.following.cancel()

    async def close(self) -> None:
        tasks = [worker.following for worker in self._workers.values()]
        for name in list(self._workers):
            self.forget(name)
        if tasks:
            await asyncio.wait(tasks)

    async def _ask(self, secret: Secret | None, question: Callable[[Client], Awaitable[T]]) -> T:
        self.follow(secret)
        worker = self._workers.get(secret.name) if secret else None
        if worker is None:
            raise errors.Unreachable(f"no usable kubeconfig in secret {secret.name if secret else '(missing)'}")
        if clock.monotonic() < worker.silent_until:
            raise errors.Unreachable(worker.silence)
        try:
            return await question(worker.cluster.client)
        except errors.Unreachable as error:
            worker.silent_until = clock.monotonic() + SILENCE_SECONDS
            worker.silence = str(error)
            raise

    def _changed(self, old: Q | None, new: Q | None) -> None:
        """Tell of quota that changed, and of queues that lead elsewhere; what is used changes all the time."""
        if is_news(lambda queue: queue.spec, old, new):
            self._on_change()


async def _follow(cluster: Cluster) -> None:
    try:
        await cluster.run()
    finally:
        await cluster.client.close()


async def _workloads(client: Client, label: str) -> set[str]:
    """Return the keys of all; a worker may hold thousands, so that no more than a page of them is kept whole."""
    pages = client.pages(kueue.Workload.resource, labels=label, limit=PAGE)
    return {key_of(raw["metadata"]["namespace"], raw["metadata"]["name"]) async for page in pages for raw in page.items}


async def _of_unfinished_jobs(client: Client, label: str) -> set[str]:
    """Return the Workloads of Jobs that have not ended, as far as they may be seen.

    A hub that sends no Jobs has no right to see any.
    """
    pages = client.pages(Job.resource, labels=label, limit=PAGE)
    try:
        jobs = (Job.view(raw) async for page in pages for raw in page.items)
        return {_workload_of(job) async for job in jobs if not job.has_ended}
    except (errors.Forbidden, errors.NotFound):
        return set()


def _workload_of(job: Job) -> str:
    """Return the key of the Workload that a copied Job belongs to; a Job that names none stands for itself."""
    metadata = job.metadata
    name = metadata.annotations.get(kueue.PREBUILT_WORKLOAD) or metadata.labels.get(kueue.PREBUILT_WORKLOAD)
    return key_of(metadata.namespace, name or f"job/{metadata.name}")
