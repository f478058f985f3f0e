"""What of a configuration means nothing here, and what is refused because the embedded Kueue does not serve it.

Whatever is in neither table is read into `settings`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden

_IN_PROCESS: Final = "webhooks are asked in process"
_NO_PORTS: Final = "a manager has no ports here"
_OWN_PORT: Final = "its API is served by the API server in process"

WITHOUT_MEANING: Final[Mapping[str, str]] = {
    "webhook": _IN_PROCESS,
    "internalCertManagement": _IN_PROCESS,
    "health": _NO_PORTS,
    "pprofBindAddress": _NO_PORTS,
    "tls": _NO_PORTS,
    "controller": "how many objects are worked on at once changes nothing in the end",
    "clientConnection": "requests are not slowed down",
    "visibilityServer": _OWN_PORT,
    "queueVisibility": _OWN_PORT,
}
"""Sections that are accepted and not looked at, with the reason why nobody misses them."""


@dataclass(frozen=True, slots=True)
class Unserved:
    path: str
    what: str
    idle: tuple[Any, ...] = (None,)
    """The values with which it changes nothing."""


UNSERVED: Final = (Unserved("resources.deviceClassMappings", "resources of device classes", (None, [])),)


def problems(given: Any) -> Iterator[str]:
    """Say what a configuration of the newest version asks for in vain."""
    for unserved in UNSERVED:
        if _at(given, unserved.path) not in unserved.idle:
            yield forbidden(unserved.path, f"{unserved.what} is not served by the embedded Kueue")


def _at(given: Any, path: str) -> Any:
    value = given
    for name in path.split("."):
        value = (value or {}).get(name)
    return value
