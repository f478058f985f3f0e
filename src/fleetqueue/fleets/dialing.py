"""How clusters of one process reach each other: without sockets, by the addresses of their kubeconfigs.

What a kubeconfig carries is verified as over TLS: the token or the client certificate, and whether the authority that
it trusts is the cluster's own.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.client.door import Door
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.apiserver.auth.authentication import Credentials
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.fleets.faults import FaultyDoor, Way
from fleetqueue.fleets.in_process import InProcessDoor

if TYPE_CHECKING:
    from fleetqueue.fleets.client_certificates import ClientAuthority

NewDoor = Callable[[ApiServer, Credentials], Door]


class Reachable(Protocol):
    """A cluster of this process."""

    way: Way

    @property
    def url(self) -> str: ...

    @property
    def ca(self) -> bytes: ...

    @property
    def server(self) -> ApiServer: ...

    @property
    def authority(self) -> "ClientAuthority": ...


def dial(clusters: Iterable[Reachable], connection: Connection, door: NewDoor = InProcessDoor) -> Client | None:
    """Open the cluster at an address; None where none of these is. Raises Unreachable where TLS would fail."""
    for cluster in clusters:
        if cluster.url == connection.server:
            opened = door(cluster.server, _credentials(cluster, connection))
            return Client(FaultyDoor(opened, cluster.way))
    return None


def _credentials(cluster: Reachable, connection: Connection) -> Credentials:
    if connection.ca is not None and connection.ca.strip() != cluster.ca.strip():
        raise errors.Unreachable(f"{cluster.url}: certificate signed by unknown authority")
    if connection.client_certificate is None:
        return Credentials(token=connection.token)
    from fleetqueue.fleets.client_certificates import NotBelieved

    try:
        shown = cluster.authority.believed(connection.client_certificate, connection.client_key or b"")
    except NotBelieved as error:
        raise errors.Unreachable(f"{cluster.url}: {error}") from None
    return Credentials(shown, connection.token)
