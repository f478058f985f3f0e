"""What a request proves itself with: what is fixed, files that are renewed, or what an exec plugin prints."""

import asyncio
import base64
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson

from fleetqueue import clock
from fleetqueue.api.errors import Unreachable
from fleetqueue.client.kubeconfig import Connection, ExecPlugin

FILE_SECONDS: Final = 60
"""How long a file's content is trusted; the kubelet and OCM write a new one well before the old one ends."""
EXEC_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Credential:
    token: str = field(default="", repr=False)
    client_certificate: bytes | None = None
    client_key: bytes | None = field(default=None, repr=False)
    expires: datetime | None = None
    ca: bytes | None = None
    """Whom the server must be signed by; None means the system's certificate authorities."""

    def is_fresh(self) -> bool:
        return self.expires is None or clock.now() < self.expires


class CredentialSource:
    """Gives the current credential; after a 401, `renew` forgets it once so that the next request asks again."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._current: Credential | None = None
        self._lock = asyncio.Lock()

    async def current(self) -> Credential:
        if self._current is not None and self._current.is_fresh():
            return self._current
        async with self._lock:
            if self._current is None or not self._current.is_fresh():
                self._current = await self._fetch()
            return self._current

    def renew(self, refused: Credential) -> bool:
        """Forget a refused credential; False where another one cannot be had."""
        if self._connection.exec is None and not self._connection.has_files:
            return False
        if self._current is refused:
            self._current = None
        return True

    async def _fetch(self) -> Credential:
        connection = self._connection
        if connection.file is not None:
            connection = await asyncio.to_thread(connection.read_again)
        if connection.exec is not None:
            return replace(await run_plugin(connection.exec, connection), ca=connection.ca)
        if connection.has_files:
            return await asyncio.to_thread(_from_files, connection, clock.now() + timedelta(seconds=FILE_SECONDS))
        return Credential(connection.token, connection.client_certificate, connection.client_key, ca=connection.ca)


async def run_plugin(plugin: ExecPlugin, connection: Connection) -> Credential:
    """Run an exec plugin and read the ExecCredential that it prints."""
    environment = {**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": _exec_info(plugin, connection)}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise Unreachable(not_started(plugin, error)) from error
    try:
        out, err = await asyncio.wait_for(process.communicate(), EXEC_SECONDS)
    except TimeoutError:
        raise Unreachable(f'exec plugin "{plugin.command}" gave no answer within {EXEC_SECONDS} s') from None
    finally:
        if process.returncode is None:  # it hangs, or whoever asked has given up
            process.kill()
            await process.wait()
    if process.returncode:
        raise Unreachable(failed(plugin, process.returncode, err.decode(errors="replace").strip()[-500:]))
    return read_exec_credential(plugin, out)


def not_started(plugin: ExecPlugin, error: OSError) -> str:
    """Say why a program does not run, in client-go's words."""
    hint = f"; {plugin.install_hint}" if plugin.install_hint else ""
    if isinstance(error, FileNotFoundError) and os.sep not in plugin.command:
        return f"exec: executable {plugin.command} not found{hint}"
    return f"exec: fork/exec {plugin.command}: {(error.strerror or str(error)).lower()}{hint}"


def failed(plugin: ExecPlugin, code: int, message: str) -> str:
    """Say that a program has failed, in client-go's words, and what it said itself."""
    return f"exec: executable {plugin.command} failed with exit code {code}{f': {message}' if message else ''}"


def read_exec_credential(plugin: ExecPlugin, out: bytes) -> Credential:
    """Read what a plugin printed; anything but a credential of the version asked for is an error."""
    try:
        printed = orjson.loads(out)
    except orjson.JSONDecodeError:
        printed = None
    if not isinstance(printed, dict):
        raise Unreachable(f"decoding stdout: {plugin.command} printed no ExecCredential")
    if (version := printed.get("apiVersion")) != plugin.api_version:
        wanted = f"exec plugin is configured to use API version {plugin.api_version}"
        raise Unreachable(f"{wanted}, plugin returned version {version}")
    status = printed.get("status")
    if not isinstance(status, dict):
        raise Unreachable("exec plugin didn't return a status field")
    certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
    if not status.get("token") and not certificate and not key:
        raise Unreachable("exec plugin didn't return a token or cert/key pair")
    if bool(certificate) != bool(key):
        raise Unreachable("exec plugin returned only certificate or key, not both")
    return Credential(
        token=status.get("token") or "",
        client_certificate=certificate.encode() if certificate else None,
        client_key=key.encode() if key else None,
        expires=_moment(plugin, status.get("expirationTimestamp")),
    )


def _moment(plugin: ExecPlugin, text: Any) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise Unreachable(
            f'exec plugin "{plugin.command}" printed an end of its credential: {text!r} is no time'
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _exec_info(plugin: ExecPlugin, connection: Connection) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        cluster: dict[str, Any] = {"server": connection.server}
        if connection.ca:
            cluster["certificate-authority-data"] = base64.b64encode(connection.ca).decode()
        if connection.proxy_url:
            cluster["proxy-url"] = connection.proxy_url
        if connection.tls_server_name:
            cluster["tls-server-name"] = connection.tls_server_name
        if connection.insecure:
            cluster["insecure-skip-tls-verify"] = True
        if plugin.cluster_config is not None:
            cluster["config"] = plugin.cluster_config
        spec["cluster"] = cluster
    return orjson.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}).decode()


def _from_files(connection: Connection, until: datetime) -> Credential:
    token, certificate, key = connection.token, connection.client_certificate, connection.client_key
    if connection.token_file is not None:
        token = _read("token file", connection.token_file).decode().strip()
    if connection.certificate_files is not None:
        of_certificate, of_key = connection.certificate_files
        certificate, key = _read("client certificate", of_certificate), _read("client key", of_key)
    return Credential(token, certificate, key, until, connection.ca)


def _read(what: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unreachable(f"cannot read the {what} {path}: {error.strerror}") from error
