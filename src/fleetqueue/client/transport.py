"""The HTTP door: the only place that knows sockets, TLS and bytes."""

import asyncio
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from fleetqueue import __version__
from fleetqueue.api.errors import Unreachable
from fleetqueue.api.requests import Request, Response
from fleetqueue.client import proxies
from fleetqueue.client.client import Client
from fleetqueue.client.credentials import Credential, CredentialSource
from fleetqueue.client.kubeconfig import Connection

CONNECT_SECONDS: Final = 10
KEEPALIVE: Final = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""Seconds, seconds, probes: a peer that has gone without a word is noticed in half a minute. A quiet watch alone would
notice it only when its time is over, ten minutes later."""
MAX_LINE: Final = 64 * 1024 * 1024
"""The longest watch event that is taken. Objects are at most 3 MiB in etcd; a larger line is no Kubernetes API."""


class HttpDoor:
    """Requests and watches to one API server as one user."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        proxy = connection.proxy_url or proxies.from_environment(connection.server)
        self._proxy = proxies.parse(proxy) if proxy else None
        self._credentials = CredentialSource(connection)
        self._session: aiohttp.ClientSession | None = None
        self._retired: aiohttp.ClientSession | None = None
        self._session_trust: tuple[bytes | None, bytes | None] = (None, None)

    async def request(self, request: Request, *, timeout: float) -> Response:
        response, credential = await self._request(request, timeout)
        if response.status == 401 and self._credentials.renew(credential):
            response, _ = await self._request(request, timeout)
        return response

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator["HttpStream"]:
        credential = await self._credentials.current()
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence)
        with self._explained(request):
            async with await self._open(request, credential, limits) as response:
                if response.status == 401:
                    self._credentials.renew(credential)
                yield HttpStream(response)

    async def close(self) -> None:
        sessions, self._session, self._retired = (self._session, self._retired), None, None
        for session in sessions:
            if session is not None:
                await session.close()

    async def _request(self, request: Request, timeout: float) -> tuple[Response, Credential]:
        credential = await self._credentials.current()
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS)
        with self._explained(request):
            async with await self._open(request, credential, limits) as response:
                answer = Response(response.status, await _body(response), response.headers.get("Date", ""))
                return answer, credential

    async def _open(self, request: Request, credential: Credential, limits: aiohttp.ClientTimeout) -> Any:
        """Begin a request; aiohttp repeats it on a kept-alive connection that just closed, but never POST or PATCH."""
        headers = {"Accept": "application/json", **self.connection.impersonate}
        if credential.token:
            headers["Authorization"] = f"Bearer {credential.token}"
        body = None
        if request.body is not None:
            headers["Content-Type"] = request.content_type
            body = orjson.dumps(request.body)
        proxy_headers = self._proxy_headers(request)
        if self.connection.server.lower().startswith("http:"):
            headers |= proxy_headers  # no tunnel: the proxy reads the request itself
        session = await self._client(credential)
        return session.request(
            request.method,
            self.connection.server + request.path,
            params=request.query,
            data=body,
            headers=headers,
            timeout=limits,
            proxy=self._proxy.url if self._proxy else None,
            proxy_headers=proxy_headers,
            server_hostname=self.connection.tls_server_name or None,
            allow_redirects=False,
        )

    def _proxy_headers(self, request: Request) -> dict[str, str]:
        if self._proxy is None:
            return {}
        if not self._proxy.is_usable:  # not quoted: what cannot be read may be a password
            raise Unreachable(f"{request} on {self.connection.server}: its proxy's address is not http://host:port")
        return {"Proxy-Authorization": self._proxy.authorization} if self._proxy.authorization else {}

    async def _client(self, credential: Credential) -> aiohttp.ClientSession:
        trust = credential.client_certificate, credential.ca
        if self._session is not None and self._session_trust != trust:
            old, self._session = self._session, None
            await self._retire(old)  # there is a new certificate, ours or the server's authority
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._tls(credential), limit=0, keepalive_timeout=60, socket_factory=_socket
            )
            agent = {"User-Agent": f"fleetqueue/{__version__}"}
            self._session = aiohttp.ClientSession(connector=connector, headers=agent, auto_decompress=True)
            self._session_trust = trust
        return self._session

    def _tls(self, credential: Credential) -> ssl.SSLContext | bool:
        try:
            return tls_context(self.connection, credential)
        except ssl.SSLError:
            self._credentials.renew(credential)  # read while it was being written: a certificate beside the old key
            raise

    async def _retire(self, session: aiohttp.ClientSession) -> None:
        """Let the watches on a session go on until the next one is retired, by when they have normally ended."""
        retired, self._retired = self._retired, session
        if retired is not None:
            await retired.close()

    @contextmanager
    def _explained(self, request: Request) -> Iterator[None]:
        """Say of whatever aiohttp raises that there was no answer."""
        try:
            yield
        except aiohttp.InvalidURL:  # it quotes the address, of the proxy perhaps, in which a password may stand
            raise Unreachable(
                f"{request} on {self.connection.server}: this, or its proxy's address, is no URL"
            ) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unreachable(f"{request} on {self.connection.server}: {str(error) or type(error).__name__}") from error
        except asyncio.CancelledError as error:
            if _is_told_to_stop():  # perhaps before the request began: a task hears of it when it waits
                raise
            # When a session is closed, aiohttp cancels whoever still looks for an address. Nobody told this task to
            # stop, and a task that ends so is not missed: a TaskGroup goes on without it.
            raise Unreachable(f"{request} on {self.connection.server}: the session was closed") from error


class HttpStream:
    """Lines of JSON or of text, split on newline bytes (other separators may stand inside a line)."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status

    async def body(self) -> Any:
        return await _body(self._response)

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        async for line in self._lines():
            if line:
                yield _event(line)

    async def text(self) -> AsyncIterator[str]:
        async for line in self._lines():
            yield line.decode(errors="replace")

    async def _lines(self) -> AsyncIterator[bytearray]:
        rest = bytearray()
        async for chunk in self._response.content.iter_any():
            rest += chunk
            if b"\n" in chunk:
                *whole, rest = rest.split(b"\n")
                for line in whole:
                    yield line
            if len(rest) > MAX_LINE:
                raise Unreachable(f"a line is longer than {MAX_LINE} bytes; is this a Kubernetes API?")


def _is_told_to_stop() -> bool:
    """Tell whether somebody told the running task to stop; what comes without that was not meant for it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def connect(connection: Connection) -> Client:
    """Open a cluster over HTTP; nothing is sent yet."""
    return Client(HttpDoor(connection))


def _event(line: bytes | bytearray) -> dict[str, Any]:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Unreachable(f"a watch line is not JSON: {bytes(line[:80])!r}") from error
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict) or "type" not in event:
        raise Unreachable(f"a watch line is no event: {bytes(line[:80])!r}")
    return event


async def _body(response: aiohttp.ClientResponse) -> Any:
    """Read an answer; a time to wait that stands in its header only, as that of a server with too much to do, is put
    where a Status has it."""
    body = decoded(await response.read())
    wait = response.headers.get("Retry-After", "")
    if response.status < 400 or not wait.isdecimal():
        return body
    status = body if isinstance(body, dict) else {"message": str(body)}
    details = status.get("details")
    return {**status, "details": {"retryAfterSeconds": float(wait), **(details if isinstance(details, dict) else {})}}


def decoded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")


def _socket(address: Any) -> socket.socket:
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        if hasattr(socket, option):  # not every system can be told
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return opened


def tls_context(connection: Connection, credential: Credential) -> ssl.SSLContext | bool:
    """Return how a server is verified; False, which means not at all, only where it has no TLS."""
    if connection.server.lower().startswith("http://"):
        return False
    authority = credential.ca.decode("ascii", errors="ignore") if credential.ca else None
    origin = connection.file or "the kubeconfig"
    with _named(f"the certificate authority of {origin} cannot be read"):
        context = ssl.create_default_context(cadata=authority)
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if credential.client_certificate and credential.client_key:
        with _named(f"the client certificate and key of {origin} cannot be read, or are not of one pair"):
            _load_certificate(context, credential.client_certificate, credential.client_key)
    return context


class UnreadableCertificate(ssl.SSLError):
    """What a kubeconfig has as a certificate, or as its key, is none."""


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Say what OpenSSL could not use: of a text without a certificate it says that there is no start line."""
    try:
        yield
    except ssl.SSLError as error:
        raise UnreadableCertificate(error.errno, f"{what} ({error.reason or error.strerror})") from error


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load from memory; OpenSSL reads files only, so they exist for a moment, readable by us alone."""
    with tempfile.TemporaryDirectory(prefix="fleetqueue-") as directory:
        path = Path(directory) / "client.pem"
        path.touch(mode=0o600)
        path.write_bytes(certificate + b"\n" + key)
        context.load_cert_chain(path)
