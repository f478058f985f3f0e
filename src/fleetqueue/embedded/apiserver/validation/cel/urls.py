"""URLs, read as Go reads the address of a request."""

import re
from typing import Final
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.validation.cel import addresses
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.functions import Library
from fleetqueue.embedded.apiserver.validation.cel.types import BOOL, STRING, list_of, map_of, opaque

library = Library()
URL = opaque("kubernetes.URL")
_SCHEME: Final = re.compile("([a-zA-Z][a-zA-Z0-9+.-]*):")
_BAD_ESCAPE: Final = re.compile("%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
_HOST_FAULT: Final = re.compile(r"(%(?!25)[0-7][0-9a-fA-F])|([ /@\\^`{|}#?\x00-\x1f])")
_PORT: Final = re.compile("(?::[0-9]*)?")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ENCODED_PATH: Final = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%]*")
_PATH_SAFE: Final = "/$&+,;=:@-_.~"


class Url:
    type_name = "kubernetes.URL"

    def __init__(self, scheme: str, host: str, path: str, query: str) -> None:
        self.scheme = scheme
        self.host = host
        self.path = path
        self.query = query

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.scheme, self.host, self.path, self.query))


class _Fault(Exception):
    pass


def problem_of(text: str) -> str:
    """Say why a text is no absolute URL or absolute path; empty if it is one."""
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    try:
        _split(text, is_request=True)
    except _Fault as fault:
        return str(fault)
    return ""


def _split(text: str, *, is_request: bool) -> Url:
    """Take an address apart; that of a request has no host without a scheme."""
    if text.startswith(":"):
        raise _Fault("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme, rest = (match[1].lower(), text[match.end() :]) if match else ("", text)
    path, _, query = rest.partition("?")
    host = ""
    if text == "*":
        return Url("", "", "*", "")
    if not path.startswith("/"):
        if scheme:
            return Url(scheme, "", "", query)  # opaque, as in mailto:someone
        raise _Fault("invalid URI for request")
    if path.startswith("//") and (scheme or (not is_request and not path.startswith("///"))):
        authority, slash, path = path[2:].partition("/")
        host, path = _host_of(scheme, authority), slash + path
    _check_escapes(path)
    return Url(scheme, host, path, query)


def _check_escapes(text: str) -> None:
    if bad := _BAD_ESCAPE.search(text):
        raise _Fault(f"invalid URL escape {quoted(bad[0])}")


def _host_of(scheme: str, authority: str) -> str:
    user, _, host = authority.rpartition("@")
    if "[" in host:
        host = _literal(host)
    else:
        _check_port(_port_of(scheme, host))
        host = _unescaped_host(host)
    if not _USER.fullmatch(user):
        raise _Fault("net/url: invalid userinfo")
    _check_escapes(user)
    return host


def _port_of(scheme: str, host: str) -> str:
    """Return what follows the colon before a port; only addresses of HTTP are sure to have no other colon."""
    at = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    return host[at:] if at >= 0 else ""


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise _Fault(f"invalid port {quoted(port)} after host")


def _literal(host: str) -> str:
    """Read an address in square brackets."""
    if host.rfind("[") > 0:
        raise _Fault("invalid IP-literal")
    if "]" not in host:
        raise _Fault("missing ']' in host")
    name, _, port = host[1:].rpartition("]")
    _check_port(port)
    plain = _unescaped_host(name)
    if problem := addresses.problem_of(plain):
        raise _Fault(f"invalid host: {problem}")
    if ":" not in plain:
        raise _Fault("invalid IP-literal")
    return f"[{plain}]{port}"


def _unescaped_host(host: str) -> str:
    _check_escapes(host)
    if bad := _HOST_FAULT.search(host):
        raise _Fault(
            f"invalid URL escape {quoted(bad[0])}" if bad[1] else f"invalid character {quoted(bad[0])} in host name"
        )
    return unquote_to_bytes(host).decode(errors="replace")


def is_request_uri(text: str) -> bool:
    return not problem_of(text)


@library.function("url", STRING, result=URL)
def url(text: str) -> Url:
    problem, bare = problem_of(text), text.partition("#")[0]
    if not problem:
        try:
            return _split(bare, is_request=False)
        except _Fault as fault:
            problem = str(fault)
    raise CelError(f"URL parse error during conversion from string: parse {quoted(text)}: {problem}")


def _hostname(address: Url) -> str:
    host = address.host
    if host.startswith("["):
        return host[1 : host.find("]")]
    name, colon, port = host.rpartition(":")
    return name if colon and (port.isdigit() or not port) else host


def _port(address: Url) -> str:
    _, colon, port = address.host.rpartition("]")[2].rpartition(":")
    return port if colon else ""


def _escaped_path(address: Url) -> str:
    if address.path == "*" or _ENCODED_PATH.fullmatch(address.path):
        return address.path
    return quote(unquote_to_bytes(address.path), safe=_PATH_SAFE)


def _queries(address: Url) -> dict[str, list[str]]:
    queries: dict[str, list[str]] = {}
    for part in address.query.split("&"):
        if part and ";" not in part and not _BAD_ESCAPE.search(part):
            key, _, value = part.partition("=")
            queries.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return queries


library.function("isURL", STRING, result=BOOL)(is_request_uri)
library.method("getScheme", URL, result=STRING)(lambda address: address.scheme)
library.method("getHost", URL, result=STRING)(lambda address: address.host)
library.method("getHostname", URL, result=STRING)(_hostname)
library.method("getPort", URL, result=STRING)(_port)
library.method("getEscapedPath", URL, result=STRING)(_escaped_path)
library.method("getQuery", URL, result=map_of(STRING, list_of(STRING)))(_queries)
