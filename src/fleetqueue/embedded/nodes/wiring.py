"""Wire the nodes of a cluster together: its scheduler, and its kubelets."""

from collections.abc import Sequence

from fleetqueue.embedded.nodes.kubelet import KubeletController
from fleetqueue.embedded.nodes.leases import NodeLeaseController
from fleetqueue.embedded.nodes.programs import Programs
from fleetqueue.embedded.nodes.scheduler import PodSchedulerController
from fleetqueue.embedded.nodes.settings import KubeletSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(
    cluster: Cluster, metrics: Metrics, settings: KubeletSettings, programs: Programs | None = None
) -> Sequence[Controller]:
    """Return the controllers of all nodes of a cluster; `programs` are the pods that mean something."""
    return (
        PodSchedulerController(cluster, metrics),
        NodeLeaseController(cluster, metrics, settings=settings),
        KubeletController(cluster, metrics, settings=settings, programs=programs),
    )
