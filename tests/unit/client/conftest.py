"""A TLS server on this machine whose every answer the test decides, and an authority for its certificates."""

import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fleetqueue.client.kubeconfig import Connection
from fleetqueue.client.transport import HttpDoor

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Pair:
    certificate: bytes
    key: bytes

    def write(self, folder: Path) -> Path:
        path = folder / "pair.pem"
        path.write_bytes(self.certificate + self.key)
        return path


class Authority:
    """Signs certificates that are good for a day."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self._self = self._build(self._name, self._key.public_key()).sign(self._key, hashes.SHA256())
        self.pem = self._self.public_bytes(serialization.Encoding.PEM)

    def sign(self, name: str, *names: str) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        alternatives = x509.SubjectAlternativeName([_alternative(n) for n in (name, *names)])
        builder = self._build(subject, key.public_key(), is_authority=False).add_extension(alternatives, critical=False)
        return Pair(
            builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

    def _build(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool = True
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class StandIn:
    """An HTTPS server; the test sets `answer` and looks at `seen`."""

    def __init__(self, port: int) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self.seen: list[web.BaseRequest] = []
        self.answer: Handler

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)
        return await self.answer(request)


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def tls(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """What the server shows; it asks clients for a certificate, and goes on without one."""
    folder = tmp_path_factory.mktemp("tls")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.sign("api.test", "127.0.0.1").write(folder))
    context.load_verify_locations(cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


@pytest.fixture
async def server(tls: ssl.SSLContext) -> AsyncIterator[StandIn]:
    stand_in = StandIn(0)
    runner = web.ServerRunner(web.Server(stand_in.handle, handler_cancellation=True), shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    stand_in.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    yield stand_in
    await runner.cleanup()


@pytest.fixture
async def door(server: StandIn, authority: Authority) -> AsyncIterator[Callable[..., HttpDoor]]:
    """`door(token="t")` opens the server with these settings of a connection."""
    opened: list[HttpDoor] = []

    def open_door(**settings: object) -> HttpDoor:
        settings = {"server": server.url, "ca": authority.pem, **settings}
        opened.append(HttpDoor(Connection(**settings)))  # type: ignore[arg-type]
        return opened[-1]

    yield open_door
    for one in opened:
        await one.close()
