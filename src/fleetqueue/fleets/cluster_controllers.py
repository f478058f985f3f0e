"""What makes an API a cluster: Kubernetes' own controllers, a scheduler and a node, in this process."""

from typing import Final

from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import Credentials
from fleetqueue.embedded.apiserver.auth.service_account_tokens import Bound
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.kubernetes import wiring as kubernetes
from fleetqueue.embedded.kubernetes.account_secrets import Sign
from fleetqueue.embedded.kubernetes.certificate_requests import Signer
from fleetqueue.embedded.kubernetes.settings import KubernetesSettings
from fleetqueue.embedded.nodes import wiring as nodes
from fleetqueue.embedded.nodes.settings import KubeletSettings, NodeSettings
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.fleets.pods.images import connect, programs
from fleetqueue.fleets.pods.options import Dial
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

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
    """Put together what runs in a cluster of its own accord.

    Args:
        token: that of an administrator.
        ca: the certificate, as PEM, that clients trust the server by.
        sign_certificate: makes the client certificates that were approved.
        dial: opens other clusters, for pods that are one of our parts.
        lease_seconds: how often a node says that it is alive, which is most of what an idle cluster does.
    """
    cluster = Cluster(name, Client(InProcessDoor(server, Credentials(token=token))))
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
