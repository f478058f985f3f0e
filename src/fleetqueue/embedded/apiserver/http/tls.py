"""TLS for a server's endpoint: its own certificate, and the authority whose client certificates it believes."""

import os
import ssl
import tempfile
from pathlib import Path

Pem = bytes | Path
"""PEM itself, or the file that it lies in."""


def server_context(certificate: Pem, key: Pem, client_authority: Pem | None = None) -> ssl.SSLContext:
    """Make the context of an endpoint; a client needs no certificate, but one that it shows must hold."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, _content(certificate), _content(key))
    if client_authority is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=_content(client_authority).decode())
    return context


def _content(pem: Pem) -> bytes:
    return pem.read_bytes() if isinstance(pem, Path) else pem


def _load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Hand over certificate and key, for which Python's ssl wants a file; only its owner can read it, and it goes."""
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key + b"\n" + certificate)
        context.load_cert_chain(name)
    finally:
        os.unlink(name)
