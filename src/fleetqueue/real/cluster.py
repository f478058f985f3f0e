"""What every part of the engine knows about one cluster: its name, its folder and its ports."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.lab import kubeconfigs
from fleetqueue.lab.pki import read_pair
from fleetqueue.lab.ports import LOOPBACK
from fleetqueue.lab.probes import Probe
from fleetqueue.lab.processes import STOP_SECONDS, Command, Tier
from fleetqueue.lab.state import write_private
from fleetqueue.real.cluster_api import ClusterApi
from fleetqueue.real.layout import Layout


@dataclass(frozen=True, slots=True)
class RealCluster:
    """One cluster of a fleet, on disk and on the network."""

    name: str
    folder: Path
    ports: Mapping[str, int]
    """By program: `kube-apiserver`, `kueue-webhook`, `forwarder`, ..."""

    layout: Layout

    @property
    def pki(self) -> Path:
        """The folder with its keys."""
        return self.folder / "pki"

    @property
    def server(self) -> str:
        """The API server itself, as the cluster's own parts and tests reach it."""
        return f"https://{LOOPBACK}:{self.ports['kube-apiserver']}"

    @property
    def remote_server(self) -> str:
        """The API server as other clusters reach it: through the forwarder, which can be cut."""
        return f"https://{LOOPBACK}:{self.ports['forwarder']}" if "forwarder" in self.ports else self.server

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, with the direct address."""
        return self.folder / "kubeconfig"

    @property
    def remote_kubeconfig(self) -> Path:
        """The administrator's kubeconfig for others, with the address that can be cut."""
        return self.folder / "kubeconfig-remote"

    def api(self) -> ClusterApi:
        """A door to the cluster, to be opened with `async with`."""
        return ClusterApi(self.name, self.server, self.pki)

    def config(self, server: str) -> kubeconfigs.Kubeconfig:
        """The administrator's kubeconfig with one of the addresses."""
        authority = (self.pki / "ca.crt").read_bytes()
        return kubeconfigs.kubeconfig(self.name, server, authority, read_pair(self.pki, "admin"))

    def write_kubeconfigs(self) -> None:
        """Write both files; ports may have changed since the last start."""
        write_private(self.kubeconfig, kubeconfigs.dump(self.config(self.server)))
        write_private(self.remote_kubeconfig, kubeconfigs.dump(self.config(self.remote_server)))

    def command(
        self,
        name: str,
        *arguments: str,
        program: str = "",
        tier: Tier = Tier.CONTROLLER,
        port: int | None = None,
        probe: Probe | None = None,
        watches_files: bool = False,
        environ: Mapping[str, str] | None = None,
        stop_seconds: float = STOP_SECONDS,
    ) -> Command:
        """A process of this cluster that runs one of the engine's programs in the cluster's folder."""
        return Command(
            name=f"{self.name}/{name}",
            arguments=(str(self.layout.binary(program or name)), *arguments),
            log=self.folder / "logs" / f"{name}.log",
            tier=tier,
            port=port,
            probe=probe,
            folder=self.folder,
            watches_files=watches_files,
            environ=environ or {},
            stop_seconds=stop_seconds,
        )
