"""How numbers are told: each beside its peer, with the ratio, as a table or as JSON."""

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    question: str
    unit: str
    ours: float
    peer: float | None = None
    """None where there is nothing to compare with."""
    beside: str = "etcd and kube-apiserver"
    more_is_better: bool = False
    aim: str = ""
    note: str = ""

    @property
    def times(self) -> float | None:
        """How many times better than the peer."""
        if self.peer is None:
            return None
        return self.ours / self.peer if self.more_is_better else self.peer / self.ours


HEAD = ("question", "ours", "peer", "times", "beside", "aim", "note")


@dataclass
class Report:
    rows: list[Row] = field(default_factory=list)
    is_quiet: bool = False

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if not self.is_quiet:
            print(" | ".join(cells(row)), flush=True)

    def json(self, machine: dict[str, Any]) -> str:
        return json.dumps({"machine": machine, "rows": [{**asdict(row), "times": row.times} for row in self.rows]})

    def table(self) -> str:
        lines = [HEAD, *map(cells, self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def markdown(self) -> str:
        lines = [HEAD, tuple("---" for _ in HEAD), *map(cells, self.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(row: Row) -> tuple[str, ...]:
    times = "" if row.times is None else f"{row.times:.1f}"
    peer = "" if row.peer is None else told(row.peer, row.unit)
    return row.question, told(row.ours, row.unit), peer, times, row.beside if peer else "", row.aim, row.note


def told(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 3
    return f"{value:.{digits}f} {unit}"


def machine(disk: Path, versions: dict[str, str]) -> dict[str, Any]:
    """What the numbers were measured on."""
    model = next((line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if "model name" in line), "")
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "cpus": os.cpu_count(),
        "model": model or platform.machine(),
        "memory GiB": round(memory / 2**20, 1),
        "fsync ms": round(1000 * fsync_seconds(disk), 2),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **versions,
    }


def fsync_seconds(disk: Path, times: int = 50) -> float:
    """How long the disk takes to keep four kilobytes."""
    path, taken = disk / "fsync", []
    with path.open("wb") as file:
        for _ in range(times):
            began = perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            taken.append(perf_counter() - began)
    path.unlink()
    return statistics.median(taken)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
