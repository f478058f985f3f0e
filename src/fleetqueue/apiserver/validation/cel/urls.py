"""URLs, read as Go reads the address of a request."""

import re
from urllib.parse import parse_qs, quote

from fleetqueue.apiserver.validation.cel.errors import CelError
from fleetqueue.apiserver.validation.cel.functions import Library
from fleetqueue.apiserver.validation.cel.types import BOOL, STRING, list_of, map_of, opaque

library = Library()
URL = opaque("kubernetes.URL")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_HOST = re.compile(r"(?:\[[^\]]*\]|[^:\[\]]*)(?::(\d*))?")
_PATH_SAFE = "/$&+,;=:@-_.~!'()*%[]"


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


def problem_of(text: str) -> str:
    """Say why a text is no absolute URL or absolute path; empty if it is one."""
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if not scheme and ":" in text.split("/")[0]:
        return "missing protocol scheme" if text[0] == ":" else "first path segment in URL cannot contain colon"
    if not scheme and not text.startswith("/"):
        return "invalid URI for request"
    if scheme and not rest.startswith("/"):
        return ""  # opaque, as in mailto:someone
    return _problem_of_host(rest) or _problem_of_path(rest)


def _problem_of_host(rest: str) -> str:
    if not rest.startswith("//") or rest.startswith("///"):
        return ""
    host = re.split(r"[/?#]", rest[2:], maxsplit=1)[0].rpartition("@")[2]
    match = _HOST.fullmatch(host)
    if match is None:
        return f'invalid port "{host[host.find(":") :]}" after host' if "[" not in host else "missing ']' in host"
    return 'invalid character " " in host name' if " " in host else ""


def _problem_of_path(rest: str) -> str:
    bad = _BAD_ESCAPE.search(rest.split("?")[0])
    return f'invalid URL escape "{rest[bad.start() : bad.start() + 3]}"' if bad else ""


def is_request_uri(text: str) -> bool:
    return not problem_of(text)


@library.function("url", STRING, result=URL)
def url(text: str) -> Url:
    problem = problem_of(text)
    if problem:
        raise CelError(f'URL parse error during conversion from string: parse "{text}": {problem}')
    body = text.partition("#")[0]
    scheme = _SCHEME.match(body)
    rest = body[scheme.end() :] if scheme else body
    path, _, query = rest.partition("?")
    host = ""
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        path = slash + path
    return Url(
        scheme[1].lower() if scheme else "", host.rpartition("@")[2], path if path.startswith("/") else "", query
    )


def _hostname(address: Url) -> str:
    host = address.host
    if host.startswith("["):
        return host[1 : host.find("]")]
    return host.partition(":")[0]


def _port(address: Url) -> str:
    return address.host.rpartition("]")[2].partition(":")[2]


library.function("isURL", STRING, result=BOOL)(is_request_uri)
library.method("getScheme", URL, result=STRING)(lambda address: address.scheme)
library.method("getHost", URL, result=STRING)(lambda address: address.host)
library.method("getHostname", URL, result=STRING)(_hostname)
library.method("getPort", URL, result=STRING)(_port)
library.method("getEscapedPath", URL, result=STRING)(lambda address: quote(address.path, safe=_PATH_SAFE))
library.method("getQuery", URL, result=map_of(STRING, list_of(STRING)))(
    lambda address: parse_qs(address.query, keep_blank_values=True)
)
