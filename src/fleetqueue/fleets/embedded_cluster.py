"""One embedded cluster: its API server, what runs in it of its own accord, and how others in this process reach it.

They reach it without sockets, by the address of its kubeconfig. What a kubeconfig carries is verified as over TLS: the
token or the client certificate, and whether the authority that it trusts is the cluster's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.client import Client
from fleetqueue.client.door import Door
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.service_account_tokens import Bound
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.registry.conversion import Converters
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.interface import Storage
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.embedded.kubernetes import wiring as kubernetes
from fleetqueue.embedded.kubernetes.account_secrets import Sign
from fleetqueue.embedded.kubernetes.certificate_requests import Signer
from fleetqueue.embedded.kubernetes.settings import KubernetesSettings
from fleetqueue.embedded.kueue import versions as kueue
from fleetqueue.embedded.nodes import wiring as nodes
from fleetqueue.embedded.nodes.settings import KubeletSettings, NodeSettings
from fleetqueue.fleets.faults import FaultyDoor, Way
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.fleets.inert_kinds import InertKindWarnings
from fleetqueue.fleets.pods.images import connect, programs
from fleetqueue.fleets.pods.options import Dial
from fleetqueue.manifests import ocm_versions as ocm
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

if TYPE_CHECKING:
    from fleetqueue.fleets.client_certificates import ClientAuthority  # slow to import, and most clusters sign nothing


NODE: Final = "{cluster}-control-plane"
"""Named as kind names its only node, so that what is written about kind clusters holds here too."""
LEASE_SECONDS: Final = 10.0
MISSED: Final = 5
"""So many times a node may not renew its lease until it counts as lost; as in Kubernetes, with 10 and 50 seconds."""
NO_END: Final = 100 * 365 * 24 * 3600
"""Seconds. Tokens in secrets do not end by themselves, but with their secret."""


def cluster_parts(
    name: str,
    server: ApiServer,
    *,
    token: str,
    ca: str = "",
    sign_certificate: Signer | None = None,
    dial: Dial = connect,
    lease_seconds: float = LEASE_SECONDS,
) -> Manager:
    """Put together what makes an API a cluster: Kubernetes' own controllers, a scheduler and a node.

    Args:
        token: that of an administrator.
        ca: the certificate, as PEM, that clients trust the server by.
        sign_certificate: makes the client certificates that were approved.
        dial: opens other clusters, for pods that are one of our parts.
        lease_seconds: how often a node says that it is alive, which is most of what an idle cluster does.
    """
    cluster = Cluster(name, Client(InProcessDoor(server, RequestCredentials(token=token))))
    metrics = Metrics()
    settings = KubernetesSettings(ca=ca, node_grace=MISSED * lease_seconds)
    nodes_here = [NodeSettings(NODE.format(cluster=name))]
    kubelets = KubeletSettings(nodes_here, all_nodes=True, lease_seconds=lease_seconds)
    return Manager(
        cluster,
        [
            *kubernetes.controllers(
                cluster, metrics, settings, sign_token=_signed_by(server), sign_certificate=sign_certificate
            ),
            *nodes.controllers(cluster, metrics, kubelets, programs(server, dial)),
        ],
    )


def _signed_by(server: ApiServer) -> Sign:
    """Sign the tokens that secrets ask for with the server's own key."""
    authentication = server.authentication

    async def sign(account: ServiceAccount, secret: Secret) -> str:
        about = (account.namespace, account.name, account.uid)
        bound = Bound("secrets", secret.name, secret.uid)
        signed, _ = authentication.accounts.sign(about, audiences=authentication.audiences, seconds=NO_END, bound=bound)
        return signed

    return sign


ADMIN: Final = User("kubernetes-admin", (MASTERS,))
CONVERTERS: Final[Converters] = {**kueue.CONVERTERS, **ocm.CONVERTERS}
"""The conversion webhooks of Kueue and OCM, which every server has in process."""
NewDoor = Callable[[ApiServer, RequestCredentials], Door]


async def new_server(secrets: Secrets, storage: Storage | None = None) -> ApiServer:
    """Start an API server that has what every cluster begins with; in memory, unless a storage is given."""
    own = storage or await ClusterStorage.open(MemoryLog())
    server = ApiServer(own, secrets, CONVERTERS, [InertKindWarnings()])
    await server.start()
    return server


class EmbeddedCluster(ABC):
    server: ApiServer
    """There once the cluster has started."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.admin_token = clock.uid()
        self.way = Way()
        """The way to it for those in this process."""
        self.way_out = Way()
        """The way from its pods to other clusters."""

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    @abstractmethod
    def ca(self) -> bytes:
        """The certificate, as PEM, that clients trust the server by."""

    @property
    @abstractmethod
    def authority(self) -> "ClientAuthority": ...

    def client(self, token: str = "") -> Client:
        """Return a client past all faults, as the administrator or as who holds a token."""
        return Client(InProcessDoor(self.server, RequestCredentials(token=token or self.admin_token)))

    def parts(self, dial: Dial) -> Manager:
        """Put together what runs in the cluster of its own accord; `dial` is how pods reach other clusters."""
        return cluster_parts(
            self.name,
            self.server,
            token=self.admin_token,
            ca=self.ca.decode(),
            sign_certificate=self._sign,
            dial=dial,
        )

    async def _sign(self, request: bytes, seconds: int | None) -> bytes:
        return await self.authority.sign(request, seconds)


def dial(clusters: Iterable[EmbeddedCluster], connection: Connection, door: NewDoor = InProcessDoor) -> Client | None:
    """Open the cluster at an address; None where none of these is. Raises Unreachable where TLS would fail."""
    for cluster in clusters:
        if cluster.url == connection.server:
            opened = door(cluster.server, _credentials(cluster, connection))
            return Client(FaultyDoor(opened, cluster.way))
    return None


def _credentials(cluster: EmbeddedCluster, connection: Connection) -> RequestCredentials:
    if connection.ca is not None and connection.ca.strip() != cluster.ca.strip():
        raise errors.Unreachable(f"{cluster.url}: certificate signed by unknown authority")
    if connection.client_certificate is None:
        return RequestCredentials(token=connection.token)
    from fleetqueue.fleets.client_certificates import NotBelieved

    try:
        shown = cluster.authority.believed(connection.client_certificate, connection.client_key or b"")
    except NotBelieved as error:
        raise errors.Unreachable(f"{cluster.url}: {error}") from None
    return RequestCredentials(shown, connection.token)
