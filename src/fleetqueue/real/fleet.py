"""A fleet of real clusters on one machine: a hub and workers, each with Kueue, and OCM on the hub.

    async with RealFleet(Path("/tmp/fleet"), workers=3) as fleet:
        print(fleet.kubeconfig)

State lives in the data folder: a second start on the same folder goes on with everything that was there.
"""

import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

import orjson

from fleetqueue.lab import forwarder, kubeconfigs, ports
from fleetqueue.lab.cluster_names import HUB, cluster_names
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.lab.errors import EngineError, NoProcess
from fleetqueue.lab.probes import accepts
from fleetqueue.lab.processes import Command, Processes, ProcessStatus, Tier
from fleetqueue.lab.state import Ownership, delete_state, read_json, refuse_other_engine, write_json, write_private
from fleetqueue.lab.supervisor import serve
from fleetqueue.real import control_plane, layout
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.control_plane import ControlPlane
from fleetqueue.real.kueue import PORTS as KUEUE_PORTS
from fleetqueue.real.kueue import KueueProcess
from fleetqueue.real.ocm import Form, OcmHub, hub_ports
from fleetqueue.real.ocm_agents import PORTS as AGENT_PORTS
from fleetqueue.real.ocm_agents import OcmWorker

FORWARDER: Final = str(Path(forwarder.__file__))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a fleet is made up; kept with its state."""

    workers: int = 3
    ocm: Form = "placement"
    kueue: bool = True
    fsync: bool = False
    """Whether etcd waits for the disk: slower starts, and state that survives a power cut."""
    frameworks: tuple[str, ...] | None = None
    """The only kinds of jobs that Kueue manages, for a fleet that serves no others; None: all that it ships with."""

    @property
    def clusters(self) -> tuple[str, ...]:
        return cluster_names(self.workers)

    def ports(self, cluster: str) -> tuple[str, ...]:
        """The names of all ports of one cluster."""
        own = control_plane.PORTS + (KUEUE_PORTS if self.kueue else ())
        if cluster == HUB:
            return own + hub_ports(self.ocm)
        return (*own, "forwarder", *(AGENT_PORTS if self.ocm == "full" else ()))


class RealFleet:
    """A hub and workers that run as processes of this one.

    They end with the thread that starts them (see `processes.py`): start a fleet on a thread that lives as long as it.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        workers: int = 3,
        ocm: Form = "placement",
        kueue: bool = True,
        fsync: bool = False,
        frameworks: Iterable[str] | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.settings = Settings(
            workers, ocm, kueue, fsync, frameworks=None if frameworks is None else tuple(frameworks)
        )
        self.report = report
        self.ownership = Ownership(self.data_dir)
        self.processes = Processes(self.data_dir / "processes.json")
        self.clusters: dict[str, RealCluster] = {}
        self.held: dict[str, socket.socket] = {}

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Bring everything up; if anything fails, nothing is left running."""
        engine = layout.require()
        self.ownership.take()
        try:
            refuse_other_engine(self.data_dir, "kubernetes")
            for name in await self.processes.end_leftovers():
                self.report(f"ended {name}, left behind by an earlier run")
            with self.reserved_ports() as assigned:
                self.clusters = self.place(engine, assigned)
                await together(*(self.bring_up(cluster) for cluster in self.clusters.values()))
                self.write_kubeconfig()
                if self.settings.ocm == "full":
                    await together(*(self.agents(worker).join() for worker in self.workers()))
        except BaseException:
            self.processes.kill_all()
            self.ownership.release()
            raise

    @contextmanager
    def reserved_ports(self) -> Iterator[dict[str, int]]:
        """Reserve the ports of all clusters, the same ones as last time where they are free."""
        book = self.data_dir / "ports.json"
        names = [f"{cluster}/{port}" for cluster in self.settings.clusters for port in self.settings.ports(cluster)]
        with ports.reserved(names, read_json(book, {})) as assigned:
            write_json(book, assigned)
            yield assigned

    def place(self, engine: layout.Layout, assigned: Mapping[str, int]) -> dict[str, RealCluster]:
        """Give every cluster its folder and its ports."""
        write_json(self.data_dir / "fleet.json", asdict(self.settings))
        return {
            cluster: RealCluster(
                name=cluster,
                folder=self.data_dir / cluster,
                ports={port: assigned[f"{cluster}/{port}"] for port in self.settings.ports(cluster)},
                layout=engine,
            )
            for cluster in self.settings.clusters
        }

    async def bring_up(self, cluster: RealCluster) -> None:
        """Bring one cluster up with all that belongs on it."""
        plane = ControlPlane(cluster, self.processes, fsync=self.settings.fsync)
        await plane.start()
        steps = [plane.wait_ready()]
        if self.settings.kueue:
            steps.append(self.bring_up_kueue(cluster))
        if cluster.name == HUB:
            steps.append(self.bring_up_ocm(cluster))
        else:
            steps.append(self.processes.up(forwarding(cluster)))
        if cluster.name != HUB and self.settings.ocm == "full":
            steps.append(self.agents(cluster).install())
        await together(*steps)
        self.report(f"{cluster.name} is up at {cluster.server}")

    async def bring_up_kueue(self, cluster: RealCluster) -> None:
        """Install and run Kueue."""
        manager = self.kueue(cluster)
        await manager.install()
        await manager.start()

    def kueue(self, cluster: RealCluster) -> KueueProcess:
        """Kueue on a cluster."""
        return KueueProcess(cluster, self.processes, self.settings.frameworks)

    async def bring_up_ocm(self, cluster: RealCluster) -> None:
        """Install and run the hub's half of OCM, as much of it as is wanted."""
        if self.settings.ocm == "none":
            return
        hub = OcmHub(cluster, self.processes, self.settings.ocm)
        await hub.install()
        await hub.start()

    def workers(self) -> list[RealCluster]:
        """Every cluster but the hub."""
        return [cluster for cluster in self.clusters.values() if cluster.name != HUB]

    def agents(self, worker: RealCluster) -> OcmWorker:
        """OCM's half on a worker."""
        return OcmWorker(worker, self.clusters[HUB], self.processes)

    async def stop(self) -> None:
        """End every process and keep the state."""
        await self.processes.stop_all()
        for holder in self.held.values():
            holder.close()
        self.held.clear()
        self.ownership.release()

    def delete(self) -> None:
        """Remove the state of a fleet that is stopped."""
        if self.ownership.file is not None:
            raise EngineError(f"the fleet in {self.data_dir} is running; stop it before its state is deleted")
        delete_state(self.data_dir)

    async def restart(self, name: str) -> None:
        """Restart one process by its name, such as `hub/kueue`; Kueue reads its ConfigMap again."""
        cluster, _, program = name.partition("/")
        if program == "kueue" and cluster in self.clusters:
            await self.kueue(self.clusters[cluster]).restart()
            return
        await self.processes.restart(name)
        if program == "etcd":
            await self.processes.ready(f"{cluster}/kube-apiserver")

    def status(self) -> list[ProcessStatus]:
        """How every process is."""
        return self.processes.status()

    def pause(self, name: str) -> None:
        """Freeze one process: connections to it stay open and nothing answers."""
        self.processes.pause(name)

    def resume(self, name: str) -> None:
        """Let a frozen process go on."""
        self.processes.resume(name)

    def kill(self, name: str) -> None:
        """End one process as a crash would; `restart` brings it back."""
        self.processes.kill(name)

    async def cut(self, cluster: str, how: Literal["refuse", "hang"] = "refuse") -> None:
        """Make a worker unreachable for others, while it keeps running and keeps its state.

        `refuse` closes every connection and refuses new ones; `hang` leaves them open and lets nothing through.
        """
        name = self.forwarder_of(cluster)
        if cluster in self.held:
            return
        if how == "hang":
            self.processes.pause(name)
        elif how == "refuse":
            await self.processes.stop(name)
            self.held[cluster] = ports.hold(self.clusters[cluster].ports["forwarder"])
        else:
            raise EngineError(f'a worker cannot be cut by "{how}"; it can refuse or hang')

    async def heal(self, cluster: str) -> None:
        """Make a worker reachable again."""
        name = self.forwarder_of(cluster)
        if holder := self.held.pop(cluster, None):
            holder.close()
            await self.processes.up(self.processes.get(name).command)
            return
        self.processes.resume(name)

    def forwarder_of(self, cluster: str) -> str:
        """The process between a worker and the others."""
        if cluster == HUB or cluster not in self.clusters:
            workers = ", ".join(name for name in self.clusters if name != HUB)
            raise NoProcess(f'only workers can be cut, and "{cluster}" is none; they are: {workers}')
        return f"{cluster}/forwarder"

    @property
    def kubeconfig(self) -> Path:
        """All clusters in one file, with direct addresses: contexts `hub`, `cluster1`, ... and their aliases."""
        return self.data_dir / "kubeconfig"

    def write_kubeconfig(self) -> None:
        """Write the merged kubeconfig."""
        configs = [cluster.config(cluster.server) for cluster in self.clusters.values()]
        aliases = kubeconfigs.aliases(HUB, [worker.name for worker in self.workers()])
        write_private(self.kubeconfig, kubeconfigs.dump(kubeconfigs.merged(configs, aliases)))


def forwarding(cluster: RealCluster) -> Command:
    """The process between a worker's API server and the others."""
    listen, target = cluster.ports["forwarder"], cluster.ports["kube-apiserver"]
    return Command(
        name=f"{cluster.name}/forwarder",
        arguments=(sys.executable, "-I", "-S", FORWARDER, str(listen), str(target)),
        log=cluster.folder / "logs" / "forwarder.log",
        tier=Tier.API,
        port=listen,
        probe=accepts(listen),
        stop_seconds=1.0,
    )


def main() -> int:
    data_dir, settings = Path(sys.argv[1]), orjson.loads(sys.argv[2])
    return serve(lambda log: RealFleet(data_dir, **settings, report=log))


if __name__ == "__main__":
    sys.exit(main())
