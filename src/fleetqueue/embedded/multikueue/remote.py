"""One worker as MultiKueue sees it: a connection that comes back, and what the worker has of this hub.

Every worker has its own tasks: the watches, and those that bring its copies right. A dead or slow one holds up nobody
else. What was seen of a worker is kept while it is not connected: its jobs go on running.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.meta import Object
from fleetqueue.client import Client
from fleetqueue.client.credentials import Credential
from fleetqueue.client.kubeconfig import Connection, ExecPlugin
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.remote_objects import OnEvent, RemoteObjects, followed
from fleetqueue.runtime.attempts import attempt
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.logs import Log

FIRST_RETRY: Final = 5.0
LONGEST_STEP: Final = 7
"""Failed attempts are 5, 10, 20 ... 320 seconds apart."""
FIRST_PATIENCE, LAST_PATIENCE = 60.0, 600.0
"""Seconds that the watches may take to begin; twice as many after each failure."""
LEAST_SECONDS: Final = 2.0
"""What did not last so long counts as a failed attempt: else it would be tried without end."""
ANSWER_SECONDS: Final = 15.0
"""A worker that takes longer for an answer is connected anew."""
EXEC_VERSIONS: Final = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))

Dial = Callable[[Connection], Client]
Spawn = Callable[["RemoteClient", Connection], "asyncio.Task[None]"]
RunPlugin = Callable[[ExecPlugin, Connection], Awaitable[Credential]]
"""Asks a program that gives credentials."""

log = Log("multikueue")


class RemoteClient(RemoteObjects):
    def __init__(
        self,
        name: str,
        kinds: Sequence[type[Object]],
        *,
        origin: str,
        dial: Dial,
        run_plugin: RunPlugin | None,
        on_connection_change: Callable[[str], None],
        on_event: OnEvent,
    ) -> None:
        """Take what a worker needs.

        Args:
            kinds: of the jobs that are sent there.
            on_connection_change: is called with the name when the connection has changed.
            on_event: is called when something was seen.
        """
        super().__init__(name, kinds, origin=origin, on_event=on_event)
        self.copies: Controller | None = None
        """Brings what the worker has right."""
        self.is_connected = False
        self.is_known = False
        self.address: tuple[str, ...] = ()
        """Where it is, once that is known. Two MultiKueueClusters may lead to one worker, and see the same objects."""
        self.problem = ""
        """Why the last attempt to connect failed; empty where it did not."""
        self.lost_since = clock.monotonic()
        self._attempts = 0
        self._connected_at = 0.0
        self._doubt: asyncio.Future[None] | None = None
        self._dial = dial
        self._run_plugin = run_plugin
        self._on_connection_change = on_connection_change
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        if self._client is None:
            raise errors.Unreachable(f"{self.name} is not connected")
        return self._client

    @property
    def lost_for(self) -> float:
        return 0.0 if self.is_connected else clock.monotonic() - self.lost_since

    async def run(self, connection: Connection) -> None:
        """Keep connected until cancelled."""
        self._attempts = 0
        self.address = connection.server, connection.tls_server_name, connection.proxy_url
        try:
            while True:
                living = await attempt(self._live(connection))
                try:
                    living.result()
                except (errors.ApiError, errors.Unreachable) as error:
                    self._failed(str(error))
                except (Exception, asyncio.CancelledError) as error:
                    log.exception("connection failed", cluster=self.name)
                    self._failed(str(error) or type(error).__name__)
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
        if connection.exec.api_version not in EXEC_VERSIONS:
            raise errors.Unreachable(messages.bad_exec_version(connection.exec.api_version))
        try:
            credential = await self._run_plugin(connection.exec, connection)
        except errors.Unreachable as error:
            raise errors.Unreachable(messages.no_credential(connection.server, str(error))) from error
        known = replace(
            connection,
            exec=None,
            token=credential.token,
            client_certificate=credential.client_certificate,
            client_key=credential.client_key,
        )
        return known, (credential.expires - clock.now()).total_seconds() if credential.expires is not None else None

    async def _establish(self, client: Client, tasks: asyncio.TaskGroup, patience: float) -> None:
        """Open one watch after the other."""
        try:
            async with asyncio.timeout(patience):
                for follower in (self.workloads, *self.jobs.values()):
                    follower.begin(client)
                    tasks.create_task(followed(follower), name=f"{self.name} {follower.kind.__name__}")
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
        self._on_connection_change(self.name)

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
        self._on_connection_change(self.name)

    def _lose(self) -> None:
        if self.is_connected:
            self.is_connected = False
            self.lost_since = clock.monotonic()
            self._on_connection_change(self.name)


def retry_after(attempts: int) -> float:
    """Return how many seconds to wait after so many failed attempts."""
    return FIRST_RETRY * 2.0 ** (min(attempts, LONGEST_STEP) - 1)


class RemoteClients:
    """All workers that the hub knows, by the names of their MultiKueueClusters."""

    def __init__(self, make: Callable[[str], RemoteClient]) -> None:
        self._make = make
        self._remotes: dict[str, RemoteClient] = {}
        self._tasks: dict[str, tuple[Connection, asyncio.Task[None]]] = {}
        self._gone: dict[str, float] = {}
        """Since when those are away that somebody removed."""
        self.started = clock.now()

    def __iter__(self) -> Iterator[RemoteClient]:
        return iter([self._remotes[name] for name in sorted(self._remotes)])

    def get(self, name: str) -> RemoteClient | None:
        return self._remotes.get(name)

    def lost_for(self, name: str) -> float:
        """Return for how many seconds a worker has been away that there is no MultiKueueCluster for."""
        since = self._gone.setdefault(name, clock.monotonic())
        return clock.monotonic() - since

    async def ensure(self, name: str, connection: Connection, spawn: Spawn) -> RemoteClient:
        """Keep a worker connected; another kubeconfig is another connection."""
        remote = self._remotes.get(name)
        if remote is None:
            remote = self._remotes[name] = self._make(name)
            self._gone.pop(name, None)
        known = self._tasks.get(name)
        if known is not None and known[0] == connection and not known[1].done():
            return remote
        await self.stop(name)
        self._tasks[name] = (connection, spawn(remote, connection))
        return remote

    async def stop(self, name: str) -> None:
        """Disconnect, and remember what the worker has."""
        known = self._tasks.pop(name, None)
        if known is not None:
            known[1].cancel()
            await asyncio.wait({known[1]})

    async def forget(self, name: str) -> None:
        await self.stop(name)
        if self._remotes.pop(name, None) is not None:
            self._gone[name] = clock.monotonic()
