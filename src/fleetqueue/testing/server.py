"""What a test needs of a server, be it an embedded or a real one."""

from collections.abc import Sequence
from typing import Protocol

from fleetqueue.api.requests import Request, Response
from fleetqueue.client.door import Door


class Server(Protocol):
    """One cluster's API as a test holds it."""

    @property
    def door(self) -> Door:
        """The way in for whoever is tested."""
        ...

    @property
    def namespaces(self) -> Sequence[str]:
        """Those that were made for the test."""
        ...

    def ask(self, request: Request) -> Response:
        """Answer at once, whatever a loop does meanwhile."""
        ...

    def compact(self) -> None:
        """Forget the past: watches and lists from an older revision expire."""
        ...

    def end(self) -> None:
        """Be done with it; fail if something happened in the server that must not."""
        ...
