"""Where a worker's API is, as Kueue on the hub shall reach it."""

import base64
import ipaddress
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.controllers.credentials.problems import CredentialProblem

_DNS_NAME: Final = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Endpoint:
    server: str
    ca: bytes
    """PEM; empty means the system's certificate authorities."""
    tls_server_name: str = ""
    proxy_url: str = field(default="", repr=False)
    """May carry a password."""

    def kubeconfig(self, cluster: str, *, token: str, user: str) -> str:
        return render(
            cluster,
            server=self.server,
            ca=self.ca,
            token=token,
            user=user,
            tls_server_name=self.tls_server_name,
            proxy_url=self.proxy_url,
        )


def advertised_server(cluster: ManagedCluster) -> str:
    """Return the first URL under which a cluster says that it is reached."""
    configs = cluster.spec.managed_cluster_client_configs
    if not configs or not configs[0].url:
        raise CredentialProblem(f"no client config found for cluster {cluster.name}")
    return configs[0].url


def endpoint(cluster: ManagedCluster, admin: Connection) -> Endpoint:
    """Take what the cluster advertises; what it does not say is taken from the admin's kubeconfig.

    The name in the server's certificate is that of the server in the kubeconfig; another one has its own.
    """
    configs = cluster.spec.managed_cluster_client_configs
    server = configs[0].url if configs and configs[0].url else admin.server
    ca = base64.b64decode(configs[0].ca_bundle) if configs and configs[0].ca_bundle else admin.ca
    tls_server_name = admin.tls_server_name if is_same_server(server, admin.server) else ""
    return Endpoint(server, ca or b"", tls_server_name, admin.proxy_url)


def is_same_server(one: str, other: str) -> bool:
    """Tell whether two URLs of API servers say the same."""
    return _address(one) == _address(other)


def _address(server: str) -> tuple[str, str]:
    url = urlsplit(server)
    return url.netloc.lower().removesuffix(":443"), url.path.rstrip("/")


def refusal(server: str) -> str:
    """Say why Kueue would refuse a server, or nothing: it takes an IP address or a DNS name, in any case."""
    url = urlsplit(server)
    host = url.hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "" if _DNS_NAME.fullmatch(host) else f'"{server}" names neither an IP address nor a DNS name'
    if address.version == 6 and url.port is None:
        return f'"{server}" has no port, which Kueue needs after an IPv6 address'
    return ""
