"""Run OCM's half beside a worker: the agent that joins it to the hub and the agent that applies ManifestWorks."""

import shutil
from base64 import b64encode
from pathlib import Path
from typing import Final

from fleetqueue.api.condition_lists import is_true
from fleetqueue.lab.ports import LOOPBACK
from fleetqueue.lab.probes import answers
from fleetqueue.lab.processes import Command, Processes
from fleetqueue.lab.state import write_private
from fleetqueue.real import manifests
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.manifests import Manifest
from fleetqueue.real.ocm import install, namespace

NAMESPACE: Final = "open-cluster-management-agent"
ADD_ONS: Final = "open-cluster-management-agent-addon"
"""Where add-ons put their agents; OCM's operator, which does not run here, makes it on every worker."""
HUB_SECRET: Final = "hub-kubeconfig-secret"
MANAGED_CLUSTERS: Final = "/apis/cluster.open-cluster-management.io/v1/managedclusters"
SET_LABEL: Final = "cluster.open-cluster-management.io/clusterset"
PORTS: Final = ("ocm-registration-agent", "ocm-work-agent")
# The kinds that the agents keep on the worker itself.
WORKER_CRDS: Final = frozenset(
    {
        "appliedmanifestworks.work.open-cluster-management.io",
        "clusterclaims.cluster.open-cluster-management.io",
    }
)


class OcmWorker:
    """OCM's half on one worker."""

    def __init__(self, cluster: RealCluster, hub: RealCluster, processes: Processes) -> None:
        self.cluster = cluster
        self.hub = hub
        self.processes = processes

    @property
    def hub_folder(self) -> Path:
        """Where the agent puts the kubeconfig that the hub gave it."""
        return self.cluster.folder / "ocm" / "hub"

    async def install(self) -> None:
        """Put the agents' namespaces and CRDs on the worker."""
        crds = [crd for crd in manifests.read(self.cluster.layout.ocm_crds) if crd["metadata"]["name"] in WORKER_CRDS]
        await install(self.cluster, [namespace(NAMESPACE), namespace(ADD_ONS), *crds])
        await self.forget_moved_hub()

    async def join(self) -> None:
        """Start the agents and wait until the hub calls the worker Available."""
        await self.ensure_managed_cluster()
        registration = registration_agent(self.cluster, self.hub, self.hub_folder)
        await self.processes.up(registration)
        await self.processes.ready(registration.name, self.has_hub_kubeconfig)
        await self.processes.up(work_agent(self.cluster, self.hub_folder))
        await self.processes.ready(registration.name, self.is_available)
        await self.put_into_default_set()

    async def ensure_managed_cluster(self) -> None:
        """Create the worker's ManagedCluster before its agent tries to.

        The agent gives up its own attempt for ever when it has its certificate, a second after it started. While a CRD
        is younger than two seconds the API server holds every create back for two: on a new hub the attempt could be
        lost, and the hub gives no rights to an agent whose cluster it does not know.
        """
        async with self.hub.api() as api:
            if await api.get(f"{MANAGED_CLUSTERS}/{self.cluster.name}") is None:
                await api.ensure(managed_cluster(self.cluster))

    async def has_hub_kubeconfig(self) -> bool:
        """Whether the hub has given the agent a certificate."""
        return (self.hub_folder / "kubeconfig").is_file() and (self.hub_folder / "tls.crt").is_file()

    async def is_available(self) -> bool:
        """Whether the hub calls this worker Available."""
        async with self.hub.api() as api:
            reported = await api.get(f"{MANAGED_CLUSTERS}/{self.cluster.name}")
        return is_true(reported or {}, "ManagedClusterConditionAvailable")

    async def put_into_default_set(self) -> None:
        """Do what OCM's webhook, which does not run here, does for a new cluster that names no set."""
        path = f"{MANAGED_CLUSTERS}/{self.cluster.name}"
        async with self.hub.api() as api:
            manifest = await api.get(path) or {}
            if SET_LABEL in manifest.get("metadata", {}).get("labels", {}):
                return
            patch = {"metadata": {"labels": {SET_LABEL: "default"}}}
            await api.request("PATCH", path, patch, "application/merge-patch+json")

    async def forget_moved_hub(self) -> None:
        """Let the agent join anew if the hub's address changed: its kubeconfig would name the old one for ever."""
        marker = self.cluster.folder / "ocm" / "hub-server"
        server = self.hub.server.encode()
        if marker.exists() and marker.read_bytes() != server:
            shutil.rmtree(self.hub_folder, ignore_errors=True)
            async with self.cluster.api() as api:
                await api.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/secrets/{HUB_SECRET}")
        write_private(marker, server)


def managed_cluster(cluster: RealCluster) -> Manifest:
    """The worker as its agent would introduce it; to accept it is the hub's decision."""
    authority = b64encode((cluster.pki / "ca.crt").read_bytes()).decode()
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": cluster.name},
        "spec": {
            "hubAcceptsClient": False,
            "managedClusterClientConfigs": [{"url": cluster.remote_server, "caBundle": authority}],
        },
    }


def registration_agent(cluster: RealCluster, hub: RealCluster, hub_folder: Path) -> Command:
    """The agent that joins the worker, keeps its lease and reports its capacity."""
    port = cluster.ports["ocm-registration-agent"]
    return cluster.command(
        "registration-agent",
        "agent",
        *common(cluster, port),
        f"--bootstrap-kubeconfig={hub.kubeconfig}",
        f"--hub-kubeconfig-dir={hub_folder}",
        f"--spoke-external-server-urls={cluster.remote_server}",
        program="registration",
        port=port,
        probe=answers(f"https://{LOOPBACK}:{port}/healthz"),
    )


def work_agent(cluster: RealCluster, hub_folder: Path) -> Command:
    """The agent that applies ManifestWorks."""
    port = cluster.ports["ocm-work-agent"]
    return cluster.command(
        "work-agent",
        "agent",
        *common(cluster, port),
        f"--workload-source-config={hub_folder / 'kubeconfig'}",
        program="work",
        port=port,
        probe=answers(f"https://{LOOPBACK}:{port}/healthz"),
    )


def common(cluster: RealCluster, port: int) -> tuple[str, ...]:
    """What both agents need to know."""
    return (
        f"--kubeconfig={cluster.kubeconfig}",
        f"--spoke-cluster-name={cluster.name}",
        f"--namespace={NAMESPACE}",
        f"--listen={LOOPBACK}:{port}",
        "--disable-leader-election",
    )
