"""Run one real Kubernetes cluster without machines: storage, API, controllers, scheduler, and kwok for nodes and pods.

etcd is reached through a socket in the cluster's folder, which only its owner may enter: it knows no users, and on a
port every user of the machine could read the secrets.
"""

from importlib.resources import as_file, files
from typing import Final

from fleetqueue.lab.concurrent_steps import together
from fleetqueue.lab.pki import ensure_pki
from fleetqueue.lab.ports import LOOPBACK
from fleetqueue.lab.probes import answers
from fleetqueue.lab.processes import Command, Processes, Tier
from fleetqueue.lab.state import write_private
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.manifests import Manifest

# Relative to the cluster's folder. etcd insists on something that looks like a port; it becomes part of the file name.
ETCD_SOCKET: Final = "unix://etcd.sock:0"
ETCD_PEER_SOCKET: Final = "unix://etcd-peer.sock:0"

# What jobs, sets, garbage collection and certificates need; nodes live by kwok, so nothing watches over them.
CONTROLLERS: Final = (
    "namespace",
    "garbage-collector",
    "job",
    "ttl-after-finished",
    "deployment",
    "replicaset",
    "statefulset",
    "daemonset",
    "cronjob",
    "persistentvolumeclaim-protection",
    "serviceaccount",
    "serviceaccount-token",
    "root-ca-certificate-publisher",
    "certificatesigningrequest-signing",
    "certificatesigningrequest-approving",
    "clusterrole-aggregation",
)
PORTS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
NODE_ADDRESS: Final = "172.18.0.2"
NODE_CAPACITY: Final = {"cpu": "8", "memory": "8027168Ki", "pods": "110"}


class ControlPlane:
    """The processes that make one cluster."""

    def __init__(self, cluster: RealCluster, processes: Processes, *, fsync: bool = False) -> None:
        self.cluster = cluster
        self.processes = processes
        self.fsync = fsync

    async def start(self) -> None:
        """Bring the cluster up; returns when its API serves and its node is there."""
        cluster = self.cluster
        cluster.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        ensure_pki(cluster.name, cluster.pki)
        cluster.write_kubeconfigs()
        self.processes.start(etcd(cluster, fsync=self.fsync))
        await self.processes.up(kube_apiserver(cluster))
        async with cluster.api() as api:
            for command in (kube_controller_manager(cluster), kube_scheduler(cluster), kwok(cluster)):
                self.processes.start(command)
            if await api.get(f"/api/v1/nodes/{node_name(cluster)}") is None:
                await api.ensure(node(cluster))

    async def wait_ready(self) -> None:
        """Wait until pods can be created and run: the node is Ready and the default service account is there."""
        async with self.cluster.api() as api:

            async def node_is_ready() -> bool:
                manifest = await api.get(f"/api/v1/nodes/{node_name(self.cluster)}")
                conditions = (manifest or {}).get("status", {}).get("conditions", [])
                return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)

            async def account_is_there() -> bool:
                return await api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None

            await together(
                self.processes.ready(f"{self.cluster.name}/kwok", node_is_ready),
                self.processes.ready(f"{self.cluster.name}/kube-controller-manager", account_is_there),
                self.processes.ready(f"{self.cluster.name}/kube-scheduler"),
            )


def etcd(cluster: RealCluster, *, fsync: bool) -> Command:
    """The storage of a cluster, with one member that talks to nobody."""
    return cluster.command(
        "etcd",
        f"--name={cluster.name}",
        "--data-dir=etcd",
        f"--listen-client-urls={ETCD_SOCKET}",
        f"--advertise-client-urls={ETCD_SOCKET}",
        f"--listen-peer-urls={ETCD_PEER_SOCKET}",
        f"--initial-advertise-peer-urls={ETCD_PEER_SOCKET}",
        f"--initial-cluster={cluster.name}={ETCD_PEER_SOCKET}",
        "--log-level=warn",
        *([] if fsync else ["--unsafe-no-fsync"]),  # a laboratory survives kill -9, but need not survive a power cut
        tier=Tier.STORAGE,
        stop_seconds=2.0,  # it would wait for the streams of a living API server, and survives kill -9
    )


def kube_apiserver(cluster: RealCluster) -> Command:
    """The API of a cluster."""
    port = cluster.ports["kube-apiserver"]
    return cluster.command(
        "kube-apiserver",
        f"--etcd-servers={ETCD_SOCKET}",
        f"--secure-port={port}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        # It taints a new node until a controller that we do not run has seen it Ready.
        "--disable-admission-plugins=TaintNodesByCondition",
        "--client-ca-file=pki/ca.crt",
        "--tls-cert-file=pki/apiserver.crt",
        "--tls-private-key-file=pki/apiserver.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=pki/sa.pub",
        "--service-account-signing-key-file=pki/sa.key",
        "--requestheader-client-ca-file=pki/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        tier=Tier.API,
        port=port,
        probe=answers(f"https://{LOOPBACK}:{port}/readyz"),
    )


def kube_controller_manager(cluster: RealCluster) -> Command:
    """The controllers of a cluster, all as the administrator."""
    port = cluster.ports["kube-controller-manager"]
    return cluster.command(
        "kube-controller-manager",
        *watching(cluster),
        f"--controllers={','.join(f'{name}-controller' for name in CONTROLLERS)}",
        "--use-service-account-credentials=false",
        "--service-account-private-key-file=pki/sa.key",
        "--root-ca-file=pki/ca.crt",
        # Only this signer: the others serve kubelets, and each watches its files with one of the few inotify instances.
        "--cluster-signing-kube-apiserver-client-cert-file=pki/ca.crt",
        "--cluster-signing-kube-apiserver-client-key-file=pki/ca.key",
        f"--secure-port={port}",
        port=port,
        probe=answers(f"https://{LOOPBACK}:{port}/healthz"),
    )


def kube_scheduler(cluster: RealCluster) -> Command:
    """The scheduler of a cluster."""
    port = cluster.ports["kube-scheduler"]
    return cluster.command(
        "kube-scheduler",
        *watching(cluster),
        f"--secure-port={port}",
        port=port,
        probe=answers(f"https://{LOOPBACK}:{port}/healthz"),
    )


def watching(cluster: RealCluster) -> tuple[str, ...]:
    """What the two Kubernetes controllers have in common: whom they watch, and that there is only one of each."""
    path = cluster.kubeconfig
    return (
        f"--kubeconfig={path}",
        f"--authentication-kubeconfig={path}",
        f"--authorization-kubeconfig={path}",
        f"--bind-address={LOOPBACK}",
        "--leader-elect=false",
    )


def kwok(cluster: RealCluster) -> Command:
    """The stand-in for kubelets: it plays `stages.yaml` on every node and every pod."""
    stages = cluster.folder / "kwok" / "stages.yaml"
    with as_file(files("fleetqueue.real") / "stages.yaml") as source:
        write_private(stages, source.read_bytes())
    port = cluster.ports["kwok"]
    return cluster.command(
        "kwok",
        f"--kubeconfig={cluster.kubeconfig}",
        f"--config={stages}",
        "--manage-all-nodes=true",
        # With leases a restarted kwok would first wait until those of its predecessor have run out.
        "--node-lease-duration-seconds=0",
        f"--node-ip={NODE_ADDRESS}",
        "--cidr=10.244.0.0/16",
        f"--server-address={LOOPBACK}:{port}",
        port=port,
        probe=answers(f"http://{LOOPBACK}:{port}/healthz"),
        environ={"KWOK_WORKDIR": str(stages.parent)},  # or it would read the user's own ~/.kwok too
    )


def node_name(cluster: RealCluster) -> str:
    """The name that kind would give it, which the stories print."""
    return f"{cluster.name}-control-plane"


def node(cluster: RealCluster) -> Manifest:
    """The one node of a cluster, as large as a small machine."""
    name = node_name(cluster)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "node-role.kubernetes.io/control-plane": "",
            },
        },
        "status": {
            "capacity": dict(NODE_CAPACITY),
            "allocatable": dict(NODE_CAPACITY),
            "addresses": [
                {"type": "InternalIP", "address": NODE_ADDRESS},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "kwok",
                "kernelVersion": "kwok",
                "kubeProxyVersion": "",
                "kubeletVersion": f"v{cluster.layout.versions().kubernetes}",
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "kwok",
                "systemUUID": "",
            },
        },
    }
