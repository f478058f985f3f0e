"""Who may ask: by a token, at a loopback name, from no other site. And in which language the answer is.

The token is drawn at the start and stands in the fragment of the link, which browsers send to nobody. The page keeps it
in the storage of its own tab and sends it with every request for data, as a header: no cookie, which a browser would
send to all ports of this machine, and nothing that another site could make a browser send.

A page of another site can reach loopback under a name of its own (DNS rebinding). It then sends that name as the Host,
and gets nothing. Any port is fine, since it changes on the way through `ssh -L`.
"""

import hmac
import secrets
from collections.abc import Mapping
from typing import Final

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
LANGUAGES: Final = ("en", "zh")
HEADERS: Final = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""On every answer. Scripts and styles are files of ours, and no text can become one."""


def new_token() -> str:
    """Draw a token. It is no chance of a simulated world, which could be drawn again, but a secret."""
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Tell whether a Host header names this machine, at any port."""
    name, colon, port = host.rpartition(":")
    if not colon or (host.startswith("[") and host.endswith("]")):
        name, port = host, "0"
    return name.lower() in LOOPBACK_NAMES and port.isdecimal()


def is_authorized(headers: Mapping[str, str], token: str) -> bool:
    """Tell whether a request carries the token."""
    given = headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def preferred_language(accept_language: str) -> str:
    """Return the language of ours that a browser likes best."""
    ranked = sorted(map(_wish, accept_language.split(",")), key=lambda wish: -wish[1])
    return next((name for name, weight in ranked if name in LANGUAGES and weight > 0), LANGUAGES[0])


def _wish(entry: str) -> tuple[str, float]:
    tag, _, parameters = entry.partition(";")
    _, _, weight = parameters.partition("q=")
    try:
        return tag.strip().lower().split("-")[0], float(weight) if weight else 1.0
    except ValueError:
        return "", 0.0
