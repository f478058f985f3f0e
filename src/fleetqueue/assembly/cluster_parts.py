"""What makes an API a cluster: Kubernetes' own controllers, a scheduler and a node, in this process."""

from typing import Final

from fleetqueue.apiserver.auth.authentication import Credentials
from fleetqueue.apiserver.server import ApiServer
from fleetqueue.assembly.in_process import InProcessDoor
from fleetqueue.client import Client
from fleetqueue.controllers.kubernetes import room as kubernetes
from fleetqueue.controllers.kubernetes.settings import KubernetesSettings
from fleetqueue.nodes import room as nodes
from fleetqueue.nodes.settings import KubeletSettings, NodeSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

NODE: Final = "{cluster}-control-plane"
"""Named as kind names its only node, so that what is written about kind clusters holds here too."""


def cluster_parts(name: str, server: ApiServer, *, token: str, ca: str = "") -> Manager:
    """Put together what runs in a cluster of its own accord; the token is that of an administrator."""
    cluster = Cluster(name, Client(InProcessDoor(server, Credentials(token=token))))
    metrics = Metrics()
    kubelets = KubeletSettings([NodeSettings(NODE.format(cluster=name))])
    return Manager(
        cluster,
        [
            *kubernetes.controllers(cluster, metrics, KubernetesSettings(ca=ca)),
            *nodes.controllers(cluster, metrics, kubelets),
        ],
    )
