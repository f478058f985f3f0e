"""Run Open Cluster Management: its controllers on the hub, its agents beside the workers.

`placement` is the light form: CRDs and the placement controller. Clusters are then whatever ManagedClusters somebody
creates, and whoever creates them also keeps their status and taints. `full` is the whole: workers join by themselves
and become Available.
"""

import hashlib
from collections.abc import Iterable
from typing import Final, Literal

import orjson

from fleetqueue.lab.concurrent_steps import together
from fleetqueue.lab.pki import ADMIN_USER
from fleetqueue.lab.ports import LOOPBACK
from fleetqueue.lab.probes import answers
from fleetqueue.lab.processes import Command, Processes
from fleetqueue.lab.state import write_private
from fleetqueue.real import manifests
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.manifests import Manifest

Form = Literal["none", "placement", "full"]

HUB_NAMESPACE: Final = "open-cluster-management-hub"
HUB_CONTROLLERS: Final = {
    "placement": ("controller",),
    "registration": (
        "controller",
        "--feature-gates=ClusterProfile=true,DefaultClusterSet=true,ManagedClusterAutoApproval=true",
        f"--auto-approved-csr-users={ADMIN_USER}",
    ),
    "work": ("manager", "--feature-gates=ManifestWorkReplicaSet=true"),
    "addon": ("manager",),
}


def hub_controllers(form: Form) -> tuple[str, ...]:
    """Which controllers run on the hub."""
    if form == "none":
        return ()
    return ("placement",) if form == "placement" else tuple(HUB_CONTROLLERS)


def hub_ports(form: Form) -> tuple[str, ...]:
    """The ports that the hub needs for them."""
    return tuple(f"ocm-{name}" for name in hub_controllers(form))


class OcmHub:
    """OCM's half on the hub."""

    def __init__(self, cluster: RealCluster, processes: Processes, form: Form) -> None:
        self.cluster = cluster
        self.processes = processes
        self.form = form

    async def install(self) -> None:
        """Put the CRDs and the namespace of the controllers on the hub."""
        wanted = [namespace(HUB_NAMESPACE), *manifests.read(self.cluster.layout.ocm_crds)]
        await install(self.cluster, wanted)

    async def start(self) -> None:
        """Start the controllers and wait until each answers."""
        commands = [hub_controller(self.cluster, name) for name in hub_controllers(self.form)]
        await together(*(self.processes.up(command) for command in commands))


def hub_controller(cluster: RealCluster, name: str) -> Command:
    """One controller on the hub."""
    port = cluster.ports[f"ocm-{name}"]
    return cluster.command(
        name,
        *HUB_CONTROLLERS[name],
        f"--kubeconfig={cluster.kubeconfig}",
        "--disable-leader-election",
        f"--namespace={HUB_NAMESPACE}",
        f"--listen={LOOPBACK}:{port}",
        port=port,
        probe=answers(f"https://{LOOPBACK}:{port}/healthz"),
    )


async def install(cluster: RealCluster, wanted: Iterable[Manifest]) -> None:
    """Ensure namespaces and CRDs and wait until the CRDs are served; quick when that was done before."""
    items = list(wanted)
    digest = hashlib.sha256(orjson.dumps(items)).hexdigest().encode()
    marker = cluster.folder / "ocm" / "installed"
    if marker.exists() and marker.read_bytes() == digest:
        return
    async with cluster.api() as api:
        await api.ensure_all(items)
        await api.wait_served(item for item in items if item["kind"] == "CustomResourceDefinition")
    write_private(marker, digest)


def namespace(name: str) -> Manifest:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
