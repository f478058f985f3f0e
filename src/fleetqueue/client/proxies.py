"""The proxy that the environment names for a server: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, read as client-go does.

A kubeconfig's own `proxy-url` goes before it. Nothing on this machine is asked through a proxy. NO_PROXY is a list of
names (of a domain: all below it, and with a leading dot only those), addresses and networks, each perhaps with a port;
`*` is everything.

A proxy's address may carry a user and a password. Errors quote the address, and users read errors in Events and
conditions; so the two are parted from it before it is used, and sent as a header.
"""

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

PORTS: Final = {"http": 80, "https": 443}
_PARTS: Final = re.compile(r"([a-z][a-z0-9+.-]*://)?(?:(.*)@)?([^@]*)", re.IGNORECASE | re.DOTALL)
"""Scheme, user with password, host. What stands before the last @ is a password even where its letters should have been
escaped; a URL's parser would take a part of it for the host, and say so."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy whose address may be shown."""

    url: str
    authorization: str = field(default="", repr=False)
    """The value of Proxy-Authorization; empty where the address has no user."""

    @property
    def is_usable(self) -> bool:
        """Tell whether it is asked over HTTP and has a host; aiohttp takes an address without one for no proxy."""
        try:
            url = urlsplit(self.url)
            return url.scheme in PORTS and bool(url.hostname) and url.port != 0
        except ValueError:
            return False


def parse(address: str) -> Proxy:
    """Part the user and the password from a proxy's address."""
    parts = _PARTS.fullmatch(address)
    scheme, user, host = parts.groups() if parts else ("", None, "")
    return Proxy(f"{scheme or ''}{host}", "" if user is None else _basic(user))


def from_environment(server: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the proxy's URL; empty where the server is asked without one."""
    url = urlsplit(server)
    proxy = _variable(environ, f"{url.scheme}_proxy")
    host = (url.hostname or "").rstrip(".")
    if not proxy or not host or _is_here(host) or _is_excluded(url, host, _variable(environ, "no_proxy")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _basic(user: str) -> str:
    name, _, password = user.encode(errors="surrogateescape").partition(b":")
    return f"Basic {base64.b64encode(unquote_to_bytes(name) + b':' + unquote_to_bytes(password)).decode()}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _is_here(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _is_excluded(url: SplitResult, host: str, excluded: str) -> bool:
    port = url.port or PORTS.get(url.scheme, 0)
    return any(_is_meant(entry.strip().lower(), host, port) for entry in excluded.split(",") if entry.strip())


def _is_meant(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, number = _split_port(entry)
    if number and number != str(port):
        return False
    if address is not None or _address(name) is not None:
        return address == _address(name)
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    """Part an entry's port from it; an IPv6 address has colons of its own, and brackets around it with a port."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    if entry.count(":") != 1:
        return entry, ""
    name, _, number = entry.partition(":")
    return name, number


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
