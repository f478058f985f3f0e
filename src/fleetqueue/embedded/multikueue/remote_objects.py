"""What one worker has of this hub, as far as it was seen: Workloads, jobs, and jobs that were sent and not seen yet."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import O, Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.multikueue.bound_copies import workloads_of
from fleetqueue.embedded.multikueue.workload_group import copy_facts
from fleetqueue.runtime.informer import Informer, WatchScope, is_news

REOPEN_SECONDS: Final = 0.5


class Follower(Informer[O]):
    """Follows one kind on one worker until anything goes wrong, and raises that."""

    def __init__(self, kind: type[O], *, labels: str, cluster: str) -> None:
        super().__init__(_NOT_CONNECTED, kind, WatchScope(labels=labels), cluster=cluster)
        self.up = asyncio.Event()
        """Set while the watch is open and all there is was seen."""

    def begin(self, client: Client) -> None:
        """Go on by another connection; it may be to another cluster, so that all is listed anew."""
        self._client = client
        self._version = ""
        self.up.clear()

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except errors.Gone:
                self._version = ""
            await asyncio.sleep(clock.jitter(REOPEN_SECONDS))

    def _well(self) -> None:
        super()._well()
        self.up.set()


async def followed(follower: Follower[Any]) -> None:
    """Say of a kind that is not there what Kueue says of it."""
    try:
        await follower.run()
    except errors.NotFound:
        resource = follower.kind.resource
        raise errors.Unreachable(f'no matches for kind "{resource.kind}" in version "{resource.api_version}"') from None


class _NotConnected:
    """The door of a worker that is not connected yet."""

    async def request(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.Unreachable("not connected")

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.Unreachable("not connected")

    async def close(self) -> None:
        """Nothing is open."""


_NOT_CONNECTED: Final = Client(_NotConnected())


BY_WORKLOAD: Final = "workload"

OnEvent = Callable[[str, bool], None]
"""Called with the key of a Workload of which something was seen, and whether it was a job going on."""


@dataclass(frozen=True, slots=True)
class Sent:
    """An object of a job that was sent and not seen yet."""

    kind: type[Object]
    name: str
    namespace: str


class RemoteObjects:
    def __init__(self, name: str, kinds: Sequence[type[Object]], *, origin: str, on_event: OnEvent) -> None:
        """`kinds`: of the jobs that are sent there."""
        labels = f"{kueue.ORIGIN_LABEL}={origin}"
        self.name = name
        self.workloads = Follower(kueue.QueuedWorkload, labels=labels, cluster=name)
        self.jobs: dict[type[Object], Follower[Any]] = {
            kind: Follower(kind, labels=labels, cluster=name) for kind in kinds
        }
        self._seen: dict[type[Object], Follower[Any]] = {}
        """Of the jobs, those of which there has been any."""
        self.sent: dict[str, list[Sent]] = {}
        """By the key of the Workload."""
        self._on_event = on_event
        self.workloads.subscribe(self._workload_changed)
        for kind, follower in self.jobs.items():
            follower.store.add_index(BY_WORKLOAD, workloads_of)
            follower.subscribe(partial(self._see, kind))
            follower.subscribe(self._job_changed)

    def workload(self, key: str) -> Manifest | None:
        return self.workloads.store.raw(key)

    def jobs_of(self, key: str) -> list[tuple[type[Object], Manifest]]:
        """Return what it has of a Workload's job, and of which kind that is."""
        return [
            (kind, raw)
            for kind, follower in self._seen.items()
            for view in follower.store.by_index(BY_WORKLOAD, key)
            if (raw := follower.store.raw(view.key)) is not None
        ]

    def own_jobs_of(self, key: str) -> list[tuple[type[Object], Manifest]]:
        """Return the same, without what is there for other Workloads of the same job only."""
        jobs = self.jobs_of(key)
        if key in self.workloads.store:
            return jobs
        return [(kind, job) for kind, job in jobs if not self._is_for_others(kind.view(job))]

    def _is_for_others(self, job: Object) -> bool:
        return any(other in self.workloads.store for other in workloads_of(job))

    def has_anything(self, key: str) -> bool:
        return key in self.workloads.store or key in self.sent or bool(self.jobs_of(key))

    def note_sent(self, key: str, sent: Sent) -> None:
        """Remember what is sent until it is seen."""
        self.sent[key] = [*self.sent.get(key, ()), sent]

    def forget_sent(self, key: str, name: str) -> None:
        """Wait no longer for an object: it was seen, or never came."""
        if left := [one for one in self.sent.get(key, ()) if one.name != name]:
            self.sent[key] = left
        else:
            self.sent.pop(key, None)

    def keys(self) -> list[str]:
        """Return the keys of all Workloads of which it has anything."""
        keys = set(self.workloads.store.keys()) | set(self.sent)
        for follower in self.jobs.values():
            keys.update(key for view in follower.store.all() for key in workloads_of(view))
        return sorted(keys)

    def _see(self, kind: type[Object], old: Object | None, new: Object | None) -> None:
        self._seen.setdefault(kind, self.jobs[kind])

    def _workload_changed(self, old: kueue.QueuedWorkload | None, new: kueue.QueuedWorkload | None) -> None:
        seen = new or old
        if seen is not None and is_news(copy_facts, old, new):
            self._on_event(seen.key, False)

    def _job_changed(self, old: Object | None, new: Object | None) -> None:
        seen = new or old
        for key in workloads_of(seen) if seen is not None else ():
            is_new = old is None or new is None
            if new is not None:
                self.forget_sent(key, new.name)
            self._on_event(key, not is_new)
