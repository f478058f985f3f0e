"""An embedded cluster that is reached over TLS: its storage, its endpoint and its kubeconfig."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Literal

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.http.front_end import FrontEnd
from fleetqueue.embedded.apiserver.http.listener import server_context
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.embedded.apiserver.storage.log import LogError, StorageLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.embedded.nodes.crash_back_off import BackOff
from fleetqueue.fleets.embedded_cluster import ADMIN, EmbeddedCluster, new_server
from fleetqueue.fleets.faults import named_status
from fleetqueue.fleets.faulty_replies import FaultyReplies
from fleetqueue.fleets.pods import kueue, operators
from fleetqueue.fleets.pods.options import Dial
from fleetqueue.lab import kubeconfigs, ports
from fleetqueue.lab.errors import EngineError
from fleetqueue.lab.pki import ensure_pki, read_pair
from fleetqueue.lab.state import write_private
from fleetqueue.runtime.attempts import attempt
from fleetqueue.runtime.logs import Log, tagged

log = Log("cluster")

if TYPE_CHECKING:
    from fleetqueue.fleets.client_certificates import ClientAuthority

How = Literal["refuse", "hang"]


class EmbeddedEndpoint(EmbeddedCluster):
    def __init__(self, name: str, folder: Path, port: int) -> None:
        super().__init__(name)
        self.folder = folder
        self.port = port
        self.cut_how: How | None = None
        """How others fail to reach it; None while they do."""
        self._open = AsyncExitStack()
        self._held: socket.socket | None = None
        self._front_end: FrontEnd | None = None

    @property
    def authority(self) -> "ClientAuthority":
        # Slow to import, and most clusters sign nothing.
        from fleetqueue.fleets.client_certificates import ClientAuthority
        from fleetqueue.lab.certificates import Authority

        return ClientAuthority(Authority.load(read_pair(self.pki, "ca")))

    @property
    def ca(self) -> bytes:
        return (self.pki / "ca.crt").read_bytes()

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def url(self) -> str:
        return f"https://{ports.LOOPBACK}:{self.port}"

    @property
    def kubeconfig(self) -> kubeconfigs.Kubeconfig:
        return kubeconfigs.kubeconfig(self.name, self.url, self.ca, read_pair(self.pki, "admin"))

    async def start(self, log: StorageLog, dial: Dial) -> None:
        """Open the storage, serve it, and write the administrator's kubeconfig; `dial` is how pods reach others."""
        ensure_pki(self.name, self.pki, front_proxy=False)
        storage = await _opened(log)
        self._open.push_async_callback(storage.close)
        self.server = await new_server(Secrets(_signing_key(self.pki / "sa.key"), {self.admin_token: ADMIN}), storage)
        kueue.expect_webhooks(self.server)
        operators.expect_webhooks(self.server)
        self._keep(self.server.run, "API")
        self._keep(lambda: self.parts(dial).run(), "parts")
        self._front_end = FrontEnd(self.server.handler, self.server.authentication, partial(FaultyReplies, self.way))
        self._open.push_async_callback(self._front_end.stop)
        await self._listen(self._front_end)
        write_private(self.folder / "kubeconfig", kubeconfigs.dump(self.kubeconfig))

    async def stop(self) -> None:
        """The endpoint first, the storage last."""
        self._let_go()
        await self._open.aclose()

    async def cut(self, how: How) -> None:
        """Make it unreachable for others, while it keeps running: connections are refused, or nothing is answered."""
        assert self._front_end is not None
        if self.cut_how is not None:
            return
        self.cut_how = how
        self.way.cut(silently=how == "hang")
        if how == "hang":
            await self._front_end.freeze()
        else:
            await self._front_end.refuse()
            self._held = ports.hold(self.port)

    async def heal(self) -> None:
        """Make it reachable again."""
        assert self._front_end is not None
        how, self.cut_how = self.cut_how, None
        self.way.heal()
        if how == "hang":
            self._front_end.thaw()
        elif how == "refuse":
            self._let_go()
            await self._listen(self._front_end)

    def end_watches(self, error: errors.ApiError | None = None) -> None:
        """End every open watch: cleanly, or with an ERROR event."""
        assert self._front_end is not None
        self.way.end_streams(error)
        self._front_end.end_watches(None if error is None else named_status(error))

    async def compact(self) -> None:
        """Forget the past: watches and lists from an older revision expire."""
        await self.server.storage.compact(self.server.storage.revision)

    async def _listen(self, front_end: FrontEnd) -> None:
        try:
            await front_end.start(ports.LOOPBACK, self.port, self._tls)
        except OSError as error:
            raise EngineError(
                f"{self.name} cannot listen on port {self.port} of {ports.LOOPBACK} ({error.strerror}); "
                "stop what listens there, or start again"
            ) from error

    def _tls(self) -> SSLContext:
        return server_context(self.pki / "apiserver.crt", self.pki / "apiserver.key", self.pki / "ca.crt")

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def _keep(self, begin: Callable[[], Coroutine[Any, Any, None]], what: str) -> None:
        with tagged(on=self.name):  # what they log says on which of the clusters of this process
            task = asyncio.create_task(kept_up(begin, cluster=self.name, what=what), name=f"{self.name} {what}")
        self._open.push_async_callback(_end, task)


async def _opened(log: StorageLog) -> ClusterStorage:
    try:
        return await ClusterStorage.open(log)
    except LogError as error:
        raise EngineError(str(error)) from error


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _signing_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


async def kept_up(begin: Callable[[], Coroutine[Any, Any, None]], *, cluster: str, what: str) -> None:
    """Work until cancelled. Each time all is begun anew, since what failed may be half of its old self."""
    back_off = BackOff()
    while True:
        work = await attempt(begin())
        try:
            work.result()
            log.warning("work has ended by itself", cluster=cluster, what=what)
        except (Exception, asyncio.CancelledError):
            log.exception("work failed", cluster=cluster, what=what)
        await asyncio.sleep(back_off.pause_after(clock.monotonic()))
        back_off.starts(clock.monotonic())
