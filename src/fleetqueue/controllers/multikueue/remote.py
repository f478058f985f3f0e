"""One worker as MultiKueue sees it: a connection that comes back, and what the worker has of this hub.

Every worker has its own tasks: the watches, and those that bring its copies right. A dead or slow one holds up nobody
else. What was seen of a worker is kept while it is not connected: its jobs go on running.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import O, Object, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.credentials import Credential
from fleetqueue.client.kubeconfig import Connection, ExecPlugin
from fleetqueue.controllers.multikueue import messages
from fleetqueue.controllers.multikueue.adapters.interface import workload_of
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.logs import Log

FIRST_RETRY: Final = 5.0
LONGEST_STEP: Final = 7
"""Failed attempts are 5, 10, 20 ... 320 seconds apart."""
FIRST_PATIENCE, LAST_PATIENCE = 60.0, 600.0
"""Seconds that the watches may take to begin; twice as many after each failure."""
LEAST_SECONDS: Final = 2.0
"""What did not last so long counts as a failed attempt: else it would be tried without end."""
REOPEN_SECONDS: Final = 0.5
ANSWER_SECONDS: Final = 15.0
"""A worker that takes longer for an answer is connected anew."""
BY_WORKLOAD: Final = "workload"

Dial = Callable[[Connection], Client]
RunPlugin = Callable[[ExecPlugin, Connection], Awaitable[Credential]]
"""Asks a program that gives credentials."""

log = Log("multikueue")


@dataclass(frozen=True, slots=True)
class Sent:
    """A job that was sent and not seen yet."""

    kind: type[Object]
    name: str
    namespace: str


class Follower(Informer[O]):
    """Follows one kind on one worker until anything goes wrong, and raises that."""

    def __init__(self, kind: type[O], *, labels: str, cluster: str) -> None:
        super().__init__(_NOBODY, kind, labels=labels, cluster=cluster)
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


class Remote:
    def __init__(
        self,
        name: str,
        kinds: Sequence[type[Object]],
        *,
        origin: str,
        dial: Dial,
        run_plugin: RunPlugin | None,
        told: Callable[[str], None],
        heard: Callable[["Remote", str, bool], None],
    ) -> None:
        """Take what a worker needs.

        Args:
            kinds: of the jobs that are sent there.
            told: is called with the name when the connection has changed.
            heard: is called with the key of a Workload of which something was seen, and whether it was a job going on.
        """
        labels = f"{kueue.ORIGIN_LABEL}={origin}"
        self.name = name
        self.workloads = Follower(kueue.QueuedWorkload, labels=labels, cluster=name)
        self.jobs: dict[type[Object], Follower[Any]] = {
            kind: Follower(kind, labels=labels, cluster=name) for kind in kinds
        }
        self.sent: dict[str, Sent] = {}
        """By the key of the Workload."""
        self.copies: Controller | None = None
        """Brings what the worker has right."""
        self.is_connected = False
        self.is_known = False
        self.server = ""
        """Its address. Two MultiKueueClusters may name the same worker, and then see the same objects."""
        self.problem = ""
        """Why the last attempt to connect failed; empty where it did not."""
        self.lost_since = clock.monotonic()
        self._attempts = 0
        self._connected_at = 0.0
        self._doubt: asyncio.Future[None] | None = None
        self._dial = dial
        self._run_plugin = run_plugin
        self._told = told
        self._heard = heard
        self._client: Client | None = None
        self.workloads.subscribe(self._workload_changed)
        for follower in self.jobs.values():
            follower.store.add_index(BY_WORKLOAD, _workload_key)
            follower.subscribe(self._job_changed)

    # What it has

    @property
    def client(self) -> Client:
        if self._client is None:
            raise errors.Unreachable(f"{self.name} is not connected")
        return self._client

    def workload(self, key: str) -> Manifest | None:
        return self.workloads.store.raw(key)

    def job(self, key: str) -> tuple[type[Object], Manifest] | None:
        """Return the job of a Workload, and of which kind it is."""
        for kind, follower in self.jobs.items():
            for view in follower.store.by_index(BY_WORKLOAD, key):
                raw = follower.store.raw(view.key)
                if raw is not None:
                    return kind, raw
        return None

    def has_anything(self, key: str) -> bool:
        return key in self.workloads.store or key in self.sent or self.job(key) is not None

    def keys(self) -> list[str]:
        """Return the keys of all Workloads of which it has anything."""
        found = set(self.workloads.store.keys()) | set(self.sent)
        for follower in self.jobs.values():
            found.update(key for view in follower.store.all() for key in _workload_key(view))
        return sorted(found)

    @property
    def lost_for(self) -> float:
        return 0.0 if self.is_connected else clock.monotonic() - self.lost_since

    # The connection

    async def run(self, connection: Connection) -> None:
        """Keep connected until cancelled."""
        self._attempts = 0
        self.server = connection.server
        try:
            while True:
                try:
                    await self._live(connection)
                except (errors.ApiError, errors.Unreachable) as error:
                    self._failed(str(error))
                except Exception as error:
                    log.exception("connection failed", cluster=self.name)
                    self._failed(str(error))
                if self._attempts:
                    await asyncio.sleep(retry_after(self._attempts))
        finally:
            self._lose()

    def doubt(self, error: Exception) -> None:
        """Connect anew, since a request was not answered."""
        if self._doubt is not None and not self._doubt.done():
            self._doubt.set_exception(errors.Unreachable(str(error)))

    async def _live(self, connection: Connection) -> None:
        """Connect, and work until something goes wrong, which is raised."""
        patience = min(FIRST_PATIENCE * 2 ** min(self._attempts, LONGEST_STEP), LAST_PATIENCE)
        try:
            async with asyncio.timeout(patience):
                connection, expires = await self._credential(connection)
        except TimeoutError:
            raise errors.Unreachable(messages.TIMED_OUT) from None
        client = self._dial(connection)
        client.timeout = ANSWER_SECONDS
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._establish(client, tasks, patience)
                self._connected(client, tasks)
                await self._until_doubted(expires)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self._client = None
            await client.close()

    async def _credential(self, connection: Connection) -> tuple[Connection, float | None]:
        """Ask the program that gives the credential, unless the transport does so; return when it ends."""
        if connection.exec is None or self._run_plugin is None:
            return connection, None
        got = await self._run_plugin(connection.exec, connection)
        known = replace(
            connection,
            exec=None,
            token=got.token,
            client_certificate=got.client_certificate,
            client_key=got.client_key,
        )
        return known, (got.expires - clock.now()).total_seconds() if got.expires is not None else None

    async def _establish(self, client: Client, tasks: asyncio.TaskGroup, patience: float) -> None:
        """Open one watch after the other."""
        try:
            async with asyncio.timeout(patience):
                for follower in (self.workloads, *self.jobs.values()):
                    follower.begin(client)
                    tasks.create_task(_followed(follower), name=f"{self.name} {follower.kind.__name__}")
                    await follower.up.wait()
        except TimeoutError:
            raise errors.Unreachable(messages.TIMED_OUT) from None

    def _connected(self, client: Client, tasks: asyncio.TaskGroup) -> None:
        self._client = client
        self.is_connected = self.is_known = True
        self.problem = ""
        self._connected_at = clock.monotonic()
        log.info("worker connected", cluster=self.name)
        if self.copies is not None:
            for number in range(self.copies.concurrency):
                tasks.create_task(self.copies.work(), name=f"copies {self.name} {number}")
        self._told(self.name)

    async def _until_doubted(self, seconds: float | None) -> None:
        self._doubt = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._doubt
        except TimeoutError:
            raise errors.Unreachable("the credential has ended") from None

    def _failed(self, problem: str) -> None:
        was_connected = self.is_connected
        self._lose()
        if was_connected and clock.monotonic() - self._connected_at >= LEAST_SECONDS:
            self._attempts = 0  # try at once; people are told if that fails
            log.warning("worker lost", cluster=self.name, error=problem)
            return
        self._attempts += 1
        if problem != self.problem:
            log.warning("worker cannot be connected", cluster=self.name, error=problem)
        self.problem = problem
        self._told(self.name)

    def _lose(self) -> None:
        if self.is_connected:
            self.is_connected = False
            self.lost_since = clock.monotonic()
            self._told(self.name)

    # What it hears

    def _workload_changed(self, old: kueue.QueuedWorkload | None, new: kueue.QueuedWorkload | None) -> None:
        seen = new or old
        if seen is not None:
            self._heard(self, seen.key, False)

    def _job_changed(self, old: Object | None, new: Object | None) -> None:
        seen = new or old
        for key in _workload_key(seen) if seen is not None else ():
            is_new = old is None or new is None
            if new is not None:
                self.sent.pop(key, None)
            self._heard(self, key, not is_new)


def retry_after(attempts: int) -> float:
    """Return how many seconds to wait after so many failed attempts."""
    return FIRST_RETRY * 2.0 ** (min(attempts, LONGEST_STEP) - 1)


async def _followed(follower: Follower[Any]) -> None:
    """Say of a kind that is not there what Kueue says of it."""
    try:
        await follower.run()
    except errors.NotFound:
        resource = follower.kind.resource
        raise errors.Unreachable(f'no matches for kind "{resource.kind}" in version "{resource.api_version}"') from None


def _workload_key(job: Object) -> Sequence[str]:
    name = workload_of(job)
    return (key_of(job.namespace, name),) if name else ()


class _Nobody:
    """A door before there is one."""

    async def request(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.Unreachable("not connected")

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.Unreachable("not connected")

    async def close(self) -> None:
        """Nothing is open."""


_NOBODY: Final = Client(_Nobody())
