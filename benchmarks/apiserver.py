"""How fast is the embedded API server beside etcd and kube-apiserver, and what does it cost? One run, one table.

Both run at the same time, each in processes of its own, with TLS, and with a disk that is waited for. They are asked by
turns, by a third process that sends finished bytes; its own CPU time is told, to show that it is not what is measured.
Numbers are medians over the turns.

    make bench ONLY=apiserver
    python benchmarks/apiserver.py -o json
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from servers import peers
from servers.peers import HERE, Ours, Real, Server, generate, memory, running
from servers.report import Report, Row, machine, percentile

from fleetqueue import __version__
from fleetqueue.fleets.embedded_settings import EmbeddedSettings, start_in_background
from fleetqueue.lab import control
from fleetqueue.real import parts
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.layout import require

VERBS = ("create ConfigMap", "create Job", "get", "patch", "list 200")
STARTED = ("fleetqueue.cli.main", "fleetqueue.fleets.embedded_lab", "fleetqueue.lab.certificates", "servers.ours")
"""What is started again and again: compiled once before."""
LISTED, WRITERS, WATCHERS, FURTHER = 200, 16, 100, 10


class Bench:
    def __init__(self, options: argparse.Namespace, report: Report) -> None:
        self.options = options
        self.report = report

    def folder(self) -> Any:
        return peers.folder(self.options.disk)

    # Starting

    def start_to_ready(self) -> None:
        """Start each anew, by turns."""
        ours, real = [], []
        for _ in range(self.options.starts):
            with self.folder() as one, running(Ours(one)) as server:
                ours.append(server.seconds)
            with self.folder() as other, running(Real(other)) as server:
                real.append(server.seconds)
        self.report.add(Row("start to ready", "s", _median(ours), _median(real), aim="5 times"))

    def memory_per_cluster(self) -> None:
        """Ten further clusters in one process, beside a further pair of processes."""
        with self.folder() as one, running(Ours(one)) as server:
            alone = memory(server.pids)
        with self.folder() as one, running(Ours(one, clusters=1 + FURTHER)) as server:
            further = (memory(server.pids) - alone) / FURTHER
        with self.folder() as other, running(Real(other)) as server:
            pair = memory(server.pids)
        self.report.add(Row("memory of the first cluster", "MB", alone, pair))
        self.report.add(Row("memory of each further cluster", "MB", further, pair, aim="50 times"))

    # Asking

    def requests(self) -> None:
        """Everything that is asked of two servers which run beside each other."""
        with self.folder() as one, self.folder() as other, running(Ours(one)) as ours, running(Real(other)) as real:
            for server in (ours, real):
                generate(server, "fill", LISTED)
                generate(server, "verbs", "warm", self.options.requests)
            self._verbs(ours, real)
            self._writers(ours, real)
            self._watchers(ours, real)

    def _verbs(self, ours: Server, real: Server) -> None:
        turns: dict[str, list[dict[str, Any]]] = {"ours": [], "real": []}
        for turn in range(self.options.rounds):
            turns["ours"].append(generate(ours, "verbs", f"turn{turn}", self.options.requests))
            turns["real"].append(generate(real, "verbs", f"turn{turn}", self.options.requests))
        for verb in VERBS:
            mine, theirs = ([turn[verb] for turn in turns[side]] for side in ("ours", "real"))
            cpu = 1000 * _median([turn["cpu"] for turn in mine])
            note = f"of ours, {cpu:.2f} ms are CPU of the asking process"
            self.report.add(Row(f"{verb}, p50", "ms", _typical(mine), _typical(theirs), aim="not slower", note=note))
            self.report.add(Row(f"{verb}, p99", "ms", _worst(mine), _worst(theirs)))

    def _writers(self, ours: Server, real: Server) -> None:
        found: dict[str, list[float]] = {"ours": [], "real": []}
        busy = []
        for turn in range(self.options.rounds):
            for side, server in (("ours", ours), ("real", real)):
                answer = generate(server, "writers", f"writers{turn}", WRITERS, self.options.requests // 4)
                found[side].append(answer["per second"])
                busy.append(answer["cpu"])
        note = f"the asking process was busy for {100 * _median(busy):.0f} % of one CPU"
        numbers = _median(found["ours"]), _median(found["real"])
        self.report.add(Row(f"creates by {WRITERS} writers at once", "/s", *numbers, more_is_better=True, note=note))

    def _watchers(self, ours: Server, real: Server) -> None:
        found: dict[str, list[float]] = {"ours": [], "real": []}
        for turn in range(self.options.rounds):
            for side, server in (("ours", ours), ("real", real)):
                found[side] += generate(server, "watchers", f"watched{turn}", WATCHERS, 5)["seconds"]
        numbers = (1000 * _median(found["ours"]), 1000 * _median(found["real"]))
        self.report.add(Row(f"create to the last of {WATCHERS} watchers", "ms", *numbers))

    # In process

    def in_process(self) -> None:
        """Our own two doors beside each other, with a disk and without."""
        for storage in ("sqlite", "memory"):
            with self.folder() as one, running(Ours(one, storage=storage)) as server:
                generate(server, "fill", LISTED)
                over_tls = [generate(server, "verbs", f"turn{turn}", self.options.requests) for turn in range(3)]
                inside = [self._inside(one / f"inside{turn}", storage) for turn in range(3)]
            verbs = ("create ConfigMap",) if storage == "sqlite" else ("get", "create ConfigMap")
            for verb in verbs:
                mine = 1000 * _median([_median(turn[verb]) for turn in inside])
                where = "" if verb == "get" else ", with a disk" if storage == "sqlite" else ", in memory"
                theirs = _typical([turn[verb] for turn in over_tls])
                self.report.add(Row(f"{verb} in process{where}", "ms", mine, theirs, beside="ours over TLS"))

    def _inside(self, folder: Path, storage: str) -> dict[str, list[float]]:
        folder.mkdir()
        command = [sys.executable, "-m", "servers.in_process", str(folder), storage, str(2 * self.options.requests)]
        found: dict[str, list[float]] = json.loads(subprocess.run(command, cwd=HERE.parent, capture_output=True).stdout)
        return found

    # Whole fleets

    def many_clusters(self) -> None:
        """A hub and many workers, each with its controllers, its scheduler and its node, in one process."""
        for number in (4, self.options.clusters):
            with self.folder() as one:
                began = perf_counter()
                asyncio.run(start_in_background(one / "fleet", EmbeddedSettings(workers=number - 1), _say_nothing))
                seconds = perf_counter() - began
                pids = {status.pid for status in asyncio.run(control.status(one / "fleet")) if status.pid}
                used = memory(list(pids))
                asyncio.run(control.down(one / "fleet"))
            self.report.add(Row(f"{number} whole clusters in one process: start", "s", seconds))
            note = f"{used / number:.2f} MB for each"
            self.report.add(Row(f"{number} whole clusters in one process: memory", "MB", used, note=note))

    def first_answer(self) -> None:
        """From the command to what kubectl prints, on a new folder, beside four real control planes."""
        ups, answers, helps, imports = [], [], [], []
        for _ in range(self.options.starts):
            with self.folder() as one:
                helps.append(_seconds("-m", "fleetqueue", "--help"))
                imports.append(_seconds("-c", "import fleetqueue.fleets.embedded_lab"))
                began = perf_counter()
                _fleetqueue("up", "--detach", "--data-dir", str(one / "fleet"))
                ups.append(perf_counter() - began)
                _kubectl(one / "fleet")
                answers.append(perf_counter() - began)
                _fleetqueue("down", "--data-dir", str(one / "fleet"))
        real = None if self.options.skip_real_fleet else self._real_fleet()
        self.report.add(Row("fleetqueue --help", "s", _median(helps)))
        self.report.add(Row("import of an embedded fleet", "s", _median(imports)))
        self.report.add(Row("fleetqueue up: hub and three workers", "s", _median(ups), real, "real control planes"))
        self.report.add(Row("... and kubectl has its first answer", "s", _median(answers), aim="under 1 s"))

    def _real_fleet(self) -> float:
        async def work(folder: Path) -> float:
            began = perf_counter()
            async with RealFleet(folder, workers=3, ocm="none", kueue=False):
                return perf_counter() - began

        with self.folder() as one:
            return asyncio.run(work(one))


def _fleetqueue(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "fleetqueue", *arguments], check=True, capture_output=True)


def _kubectl(fleet: Path) -> None:
    home = fleet / "home"  # as for the first time: kubectl keeps what it has discovered
    program = str(require().binary("kubectl"))
    environ = {**os.environ, "HOME": str(home), "KUBECONFIG": str(fleet / "kubeconfig")}
    subprocess.run([program, "get", "namespaces"], check=True, capture_output=True, env=environ)
    shutil.rmtree(home, ignore_errors=True)


def _seconds(*arguments: str) -> float:
    """How long Python takes for something."""
    began = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return perf_counter() - began


def _median(values: list[float]) -> float:
    return statistics.median(values)


def _typical(turns: list[dict[str, Any]]) -> float:
    """The median over turns of each turn's median, in milliseconds."""
    return 1000 * _median([_median(turn["seconds"]) for turn in turns])


def _worst(turns: list[dict[str, Any]]) -> float:
    """The 99th percentile of all, in milliseconds."""
    return 1000 * percentile([second for turn in turns for second in turn["seconds"]], 0.99)


def _say_nothing(line: str) -> None:
    pass


@contextmanager
def bytecode() -> Iterator[None]:
    """Let Python keep what it compiles, as it does for everybody who has not forbidden it."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with peers.folder(None) as one:
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(one))
        subprocess.run([sys.executable, "-c", f"import {', '.join(STARTED)}"], cwd=HERE.parent, check=True)
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="turns of each server")
    parser.add_argument("--requests", type=int, default=100, help="requests of a turn")
    parser.add_argument("--starts", type=int, default=5, help="starts of each server")
    parser.add_argument("--clusters", type=int, default=100, help="clusters in one process")
    parser.add_argument("--disk", type=Path, help="a folder on the disk that is measured")
    parser.add_argument("--skip-real-fleet", action="store_true", help="do not start four real control planes")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; may be given often")
    parser.add_argument("-o", "--output", choices=("table", "markdown", "json"), default="table")
    options = parser.parse_args()
    report = Report(is_quiet=options.output != "table")
    bench = Bench(options, report)
    with bytecode(), peers.folder(options.disk) as place:
        about = machine(place, {"kubernetes": parts.KUBERNETES_VERSION, "fleetqueue": __version__})
        for part in options.part or PARTS:
            getattr(bench, part)()
    if options.output == "json":
        print(report.json(about))
    else:
        print(", ".join(f"{name} {value}" for name, value in about.items()))
        print(report.markdown() if options.output == "markdown" else report.table())


PARTS = ("start_to_ready", "memory_per_cluster", "requests", "in_process", "many_clusters", "first_answer")

if __name__ == "__main__":
    main()
