"""A fleet of embedded clusters on this machine: one process, and for each cluster a TLS endpoint and a kubeconfig.

Usage of the file itself, by `fleetqueue up --detach`: python -m fleetqueue.fleets.embedded_lab <data dir> <settings
as JSON>

What a cluster is lies in its folder (`store.db`, `pki/`), so that a second start on the same folder goes on with all of
it. In memory, only the kubeconfigs and the keys are written.
"""

import gc
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.apiserver.storage.log import MemoryLog, StorageLog
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.fleets import embedded_log
from fleetqueue.fleets.embedded_cluster import dial
from fleetqueue.fleets.embedded_endpoint import EmbeddedEndpoint, How
from fleetqueue.fleets.embedded_log import API
from fleetqueue.fleets.embedded_settings import EmbeddedSettings, Report
from fleetqueue.fleets.pods.images import connect
from fleetqueue.lab import kubeconfigs, ports
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.lab.errors import EngineError, NoProcess
from fleetqueue.lab.processes import ProcessStatus
from fleetqueue.lab.state import Ownership, read_json, refuse_other_engine, write_json, write_private
from fleetqueue.lab.supervisor import serve

GARBAGE: Final = (10_000, 10, 10)
"""How many new objects Python looks for garbage after, and how rarely among older ones. A job makes thousands that stay
and next to none in circles: with Python's own 700, a tenth of a burst's time goes into looking."""


class EmbeddedLab:
    """All clusters of a fleet, in the form that a Supervisor keeps up."""

    def __init__(
        self,
        data_dir: Path,
        settings: EmbeddedSettings,
        *,
        report: Report = lambda line: None,
        on_up: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_up` is called once everything is up."""
        self.data_dir = data_dir.absolute()
        self.settings = settings
        self.report = report
        self.on_up = on_up
        self.ownership = Ownership(self.data_dir)
        self.endpoints: dict[str, EmbeddedEndpoint] = {}
        self._writer = writer_thread()

    async def start(self) -> None:
        """Bring everything up; if anything fails, nothing stays open."""
        gc.set_threshold(*GARBAGE)  # a fifth of the start would go into looking for some
        self.ownership.take()
        try:
            refuse_other_engine(self.data_dir, self.settings.engine)
            self.endpoints = self._place()
            await together(*(endpoint.start(self._log(endpoint), self.dial) for endpoint in self.endpoints.values()))
            self._write_kubeconfig()
            for endpoint in self.endpoints.values():
                self.report(f"{endpoint.name} answers at {endpoint.url}")
            await self._set_up()
        except BaseException:
            await self.stop()
            raise
        gc.collect()  # garbage would stay too, with what it holds open
        gc.freeze()  # what is there now mostly stays: a tenth of a busy fleet's time would go into looking through it
        self.on_up()

    async def stop(self) -> None:
        await together(*(endpoint.stop() for endpoint in self.endpoints.values()))
        self._writer.shutdown()
        self.ownership.release()

    def status(self) -> list[ProcessStatus]:
        """How every cluster is; they all live in this process."""
        return [
            ProcessStatus(f"{one.name}/{API}", os.getpid(), f"cut ({one.cut_how})" if one.cut_how else "up", one.port)
            for one in self.endpoints.values()
        ]

    async def cut(self, cluster: str, how: How = "refuse") -> None:
        """Make a worker unreachable, while it keeps running and keeps its state.

        `refuse` closes every connection and refuses new ones; `hang` leaves them open and lets nothing through.
        """
        worker = self._worker(cluster)
        if how not in ("refuse", "hang"):
            raise EngineError(f'a worker cannot be cut by "{how}"; it can refuse or hang')
        await worker.cut(how)

    async def heal(self, cluster: str) -> None:
        """Make a worker reachable again."""
        await self._worker(cluster).heal()

    def dial(self, connection: Connection) -> Client:
        """Open a cluster by its kubeconfig: one of ours without sockets, any other over HTTP."""
        return dial(self.endpoints.values(), connection) or connect(connection)

    async def restart(self, name: str) -> None:
        cluster = self._known(name)
        raise EngineError(
            f"{_shares_its_process('restarted', name)}; a part of it is restarted as `kubectl --context {cluster} -n "
            f"{KUEUE_NAMESPACE} rollout restart deployment kueue-controller-manager` restarts Kueue"
        )

    def pause(self, name: str) -> None:
        cluster = self._known(name)
        freeze = "" if cluster == HUB else f"; `fleetqueue cut {cluster} --how hang` freezes the way to all of it"
        raise EngineError(
            f"{_shares_its_process('paused', name)}; a part of it is stopped as `kubectl --context {cluster} -n "
            f"{KUEUE_NAMESPACE} scale deployment kueue-controller-manager --replicas=0` stops Kueue{freeze}"
        )

    def resume(self, name: str) -> None:
        self._known(name)
        raise EngineError(_shares_its_process("resumed", name))

    async def _set_up(self) -> None:
        if self.settings.scenario == "multikueue":
            from fleetqueue.fleets import embedded_environment

            hub, *workers = self.endpoints.values()
            await embedded_environment.set_up(hub, workers, self.report)

    def _known(self, name: str) -> str:
        """Return the cluster that a process is named by; raises NoProcess."""
        cluster = name.partition("/")[0]
        if cluster not in self.endpoints:
            raise NoProcess(f'there is no cluster "{cluster}"; there are: {", ".join(self.endpoints)}')
        return cluster

    def _worker(self, cluster: str) -> EmbeddedEndpoint:
        if cluster == HUB or cluster not in self.endpoints:
            workers = ", ".join(name for name in self.endpoints if name != HUB)
            raise NoProcess(f'only workers can be cut, and "{cluster}" is none; they are: {workers}')
        return self.endpoints[cluster]

    def _place(self) -> dict[str, EmbeddedEndpoint]:
        """Give every cluster its folder and its port."""
        book = self.data_dir / "ports.json"
        names = [f"{name}/{API}" for name in self.settings.clusters]
        first = self.settings.ports_from
        assigned = ports.assign(names, read_json(book, {})) if first is None else ports.consecutive(names, first)
        write_json(book, assigned)
        write_json(self.data_dir / "fleet.json", asdict(self.settings))
        return {
            name: EmbeddedEndpoint(name, self.data_dir / name, assigned[f"{name}/{API}"])
            for name in self.settings.clusters
        }

    def _log(self, endpoint: EmbeddedEndpoint) -> StorageLog:
        if self.settings.in_memory:
            return MemoryLog()
        endpoint.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return SqliteLog(endpoint.folder / "store.db", self._writer)

    def _write_kubeconfig(self) -> None:
        configs = [endpoint.kubeconfig for endpoint in self.endpoints.values()]
        aliases = kubeconfigs.aliases(HUB, self.settings.clusters[1:])
        write_private(self.data_dir / "kubeconfig", kubeconfigs.dump(kubeconfigs.merged(configs, aliases)))


def _shares_its_process(what: str, name: str) -> str:
    return (
        f"{name} cannot be {what} by itself, since embedded clusters share one process, which `fleetqueue down` and "
        "`fleetqueue up` start anew"
    )


def main() -> int:
    data_dir, settings = Path(sys.argv[1]), EmbeddedSettings(**orjson.loads(sys.argv[2]))
    embedded_log.keep(data_dir)
    return serve(lambda log: EmbeddedLab(data_dir, settings, report=log))


if __name__ == "__main__":
    sys.exit(main())
