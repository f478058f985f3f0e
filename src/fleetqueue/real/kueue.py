"""Install Kueue on a cluster with its shipped configuration, and run its manager as a process.

The ConfigMap `kueue-manager-config` on the cluster is the source: at every start and restart the manager's file is
derived from it, plus the few settings that a process outside a pod needs. Who edits the ConfigMap and restarts Kueue
gets what a rollout restart would give.

The manager runs with its internal certificate management on, as shipped. With it off, Kueue 0.19 reads a certificate
for metrics from a fixed path in /etc. With it on, it takes what the Secret `kueue-webhook-server-cert` holds if that is
valid; so we put a certificate there that is valid for 127.0.0.1 too, and the same into the folder that a pod would have
mounted.
"""

import base64
import copy
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from fleetqueue.api.job_kinds import BATCH_JOB
from fleetqueue.lab.certificates import Authority, rsa_key
from fleetqueue.lab.errors import EngineError
from fleetqueue.lab.pki import KeyPair, read_pair, write_pair
from fleetqueue.lab.ports import LOOPBACK
from fleetqueue.lab.probes import Probe, accepts, answers, both
from fleetqueue.lab.processes import Command, Processes
from fleetqueue.lab.state import write_private
from fleetqueue.real import manifests
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.cluster_api import ClusterApi
from fleetqueue.real.manifests import Manifest

NAMESPACE: Final = "kueue-system"
CONFIG_MAP: Final = "kueue-manager-config"
CONFIG_KEY: Final = "controller_manager_config.yaml"
SECRET: Final = "kueue-webhook-server-cert"
WEBHOOK_NAME: Final = "kueue-webhook-service.kueue-system.svc"
CA_NAME: Final = "kueue-ca"
PORTS: Final = ("kueue-webhook", "kueue-health", "kueue-metrics")

# What only makes sense for a pod behind a Service, and the Secret, which we write with a certificate in it.
LEFT_OUT: Final = frozenset({"Deployment", "Service", "Secret", "APIService"})


class KueueProcess:
    """Kueue on one cluster."""

    def __init__(self, cluster: RealCluster, processes: Processes, frameworks: Iterable[str] | None = None) -> None:
        """Take the only kinds of jobs that it shall manage; without, it manages what its configuration lists."""
        self.cluster = cluster
        self.processes = processes
        self.frameworks = None if frameworks is None else tuple(frameworks)
        self.name = f"{cluster.name}/kueue"

    async def install(self) -> None:
        """Put CRDs, roles, webhooks and configuration on the cluster; quick when that was done before."""
        certificate = self.ensure_certificate()
        authority = read_pair(self.folder, "ca")
        shipped = manifests.read(self.cluster.layout.kueue_manifests)
        wanted = [rewired(item, self.cluster.ports["kueue-webhook"], authority.certificate) for item in kept(shipped)]
        wanted.append(webhook_secret(authority, certificate))
        if self.frameworks != (BATCH_JOB.framework,):
            # On every cluster: a kind that a worker does not serve fails the whole MultiKueue connection.
            wanted += manifests.read(self.cluster.layout.job_crds)
        digest = hashlib.sha256(orjson.dumps(wanted)).hexdigest().encode()
        marker = self.folder / "installed"
        if marker.exists() and marker.read_bytes() == digest:
            return
        async with self.cluster.api() as api:
            await api.ensure_all(wanted)
            if await api.get(config_map_path()) is None:  # an edited one is the user's
                await api.ensure(config_map(shipped))
            await api.wait_served(item for item in wanted if item["kind"] == "CustomResourceDefinition")
        write_private(marker, digest)

    async def start(self) -> None:
        """Start the manager with the configuration that the cluster holds now, and wait until it is ready."""
        await self.processes.up(await self.command())

    async def restart(self) -> None:
        """Do what a rollout restart does: read the configuration again."""
        await self.processes.restart(self.name, await self.command())

    async def command(self) -> Command:
        """Derive the manager's file from the ConfigMap and say how to run it."""
        async with self.cluster.api() as api:
            shipped = await read_config(api)
        path = self.folder / "config.yaml"
        derived = derive(shipped, self.cluster, self.frameworks)
        write_private(path, yaml.safe_dump(derived, sort_keys=False).encode())
        return self.cluster.command(
            "kueue",
            f"--config={path}",
            f"--kubeconfig={self.cluster.kubeconfig}",
            "--zap-log-level=2",
            port=self.cluster.ports["kueue-webhook"],
            watches_files=True,  # it ends if it cannot
            probe=self.probe(),
        )

    def probe(self) -> Probe:
        """Ready when it says so and its webhooks listen: while it looks after its certificates it always says so."""
        ports = self.cluster.ports
        return both(answers(f"http://{LOOPBACK}:{ports['kueue-health']}/readyz"), accepts(ports["kueue-webhook"]))

    @property
    def folder(self) -> Path:
        """Where the manager's files lie."""
        return self.cluster.folder / "kueue"

    def ensure_certificate(self) -> KeyPair:
        """The webhook's certificate, from an authority that Kueue can go on with."""
        if not (self.folder / "tls.key").exists():
            # Kueue reads this authority's key as PKCS#1 RSA and checks its name.
            authority = Authority.new(CA_NAME, dns=[CA_NAME], key=rsa_key())
            write_pair(self.folder, "ca", authority.pem)
            write_pair(self.folder, "tls", authority.server(WEBHOOK_NAME, dns=[WEBHOOK_NAME], addresses=[LOOPBACK]))
        return read_pair(self.folder, "tls")


async def read_config(api: ClusterApi) -> dict[str, Any]:
    """The manager's configuration as the cluster holds it."""
    manifest = await api.get(config_map_path())
    text = (manifest or {}).get("data", {}).get(CONFIG_KEY)
    parsed = yaml.safe_load(text) if text else None
    if not isinstance(parsed, dict):
        raise EngineError(
            f'cluster "{api.name}": ConfigMap "{NAMESPACE}/{CONFIG_MAP}" has no configuration under "{CONFIG_KEY}"; '
            "put one there and restart Kueue"
        )
    return parsed


def derive(shipped: dict[str, Any], cluster: RealCluster, frameworks: Iterable[str] | None = None) -> dict[str, Any]:
    """The configuration of a manager that runs as a process: what the cluster says, plus what a process needs."""
    config = copy.deepcopy(shipped)
    section(config, "health")["healthProbeBindAddress"] = f"{LOOPBACK}:{cluster.ports['kueue-health']}"
    section(config, "metrics")["bindAddress"] = f"{LOOPBACK}:{cluster.ports['kueue-metrics']}"
    webhook = {"host": LOOPBACK, "port": cluster.ports["kueue-webhook"], "certDir": str(cluster.folder / "kueue")}
    section(config, "webhook").update(webhook)
    section(config, "leaderElection")["leaderElect"] = False
    config["namespace"] = NAMESPACE
    config["internalCertManagement"] = {
        "enable": True,
        "webhookServiceName": "kueue-webhook-service",
        "webhookSecretName": SECRET,
    }
    if frameworks is not None:
        section(config, "integrations")["frameworks"] = list(frameworks)
    # Its server wants to write a certificate to a fixed path at the root of the file system.
    section(config, "featureGates")["VisibilityOnDemand"] = False
    return config


def section(config: dict[str, Any], name: str) -> dict[str, Any]:
    """One section of the configuration, made if it is missing."""
    content = config.get(name)
    if not isinstance(content, dict):
        content = config[name] = {}
    return content


def kept(shipped: Iterable[Manifest]) -> list[Manifest]:
    """What of the shipped manifests goes to a cluster whose manager is no pod."""
    return [item for item in shipped if item["kind"] not in LEFT_OUT and not is_config(item)]


def is_config(item: Manifest) -> bool:
    """Whether this is the ConfigMap with the manager's configuration."""
    return bool(item["kind"] == "ConfigMap" and item["metadata"]["name"] == CONFIG_MAP)


def config_map(shipped: Iterable[Manifest]) -> Manifest:
    """The shipped ConfigMap."""
    return next(item for item in shipped if is_config(item))


def config_map_path() -> str:
    """Where the cluster keeps it."""
    return f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"


def rewired(item: Manifest, port: int, authority: bytes) -> Manifest:
    """Point webhooks and conversion at the process instead of at a Service."""
    if item["kind"].endswith("WebhookConfiguration"):
        webhooks = [
            hook | {"clientConfig": address(hook["clientConfig"], port, authority)} for hook in item["webhooks"]
        ]
        return item | {"webhooks": webhooks}
    conversion = item.get("spec", {}).get("conversion") if item["kind"] == "CustomResourceDefinition" else None
    if not conversion or "webhook" not in conversion:
        return item
    webhook = conversion["webhook"] | {"clientConfig": address(conversion["webhook"]["clientConfig"], port, authority)}
    return item | {"spec": item["spec"] | {"conversion": conversion | {"webhook": webhook}}}


def address(client_config: dict[str, Any], port: int, authority: bytes) -> dict[str, Any]:
    """The address of a webhook path on the process."""
    path = client_config["service"].get("path", "/")
    return {"url": f"https://{LOOPBACK}:{port}{path}", "caBundle": base64.b64encode(authority).decode()}


def webhook_secret(authority: KeyPair, server: KeyPair) -> Manifest:
    """The Secret in which Kueue looks for its certificate before it makes one."""
    content = {
        "ca.crt": authority.certificate,
        "ca.key": authority.key,
        "tls.crt": server.certificate,
        "tls.key": server.key,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": NAMESPACE},
        "data": {name: base64.b64encode(value).decode() for name, value in content.items()},
    }
