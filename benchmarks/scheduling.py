"""How fast does the embedded Kueue admit Workloads beside the real one, and what does it cost? One run, one table.

The load is that of Kueue's own two scheduler benchmarks, made by one generator for both sides: 15,000 Workloads in 30
queues of five cohorts, of which a tenth comes here; and the same in a topology of 640 nodes. They are created on a
worker of a fleet, where nothing but Kueue touches them, and ended by the benchmark when they have run. Then ours alone:
what an admission costs with ten times the queues, and with ten times the nodes; and, in the scheduler's core without an
API, what a cycle costs, and that for each of its heads.

    make bench ONLY=scheduling
    python benchmarks/scheduling.py --part baseline --share 0.02 --skip-real
"""

import argparse
import asyncio
from dataclasses import dataclass, replace

from apiserver import bytecode
from fleets.cycles import cost_of_a_cycle
from fleets.running import RunningFleet
from fleets.workloads import BASELINE, FURTHER_KINDS, TOPOLOGY, Load, Runner, Size, WorkloadClass
from servers import peers
from servers.report import Report, Row, machine

from fleetqueue import __version__
from fleetqueue.embedded.kueue.settings import FairSharingSettings, SchedulingSettings
from fleetqueue.real import parts

EMBEDDED, KUBERNETES = "embedded", "kubernetes"
WORKER = "cluster1"
BESIDE = "Kueue on etcd and kube-apiserver"
LIMIT = 1800.0
PARTS = {"baseline": BASELINE, "topology": TOPOLOGY}
TENFOLD = {"baseline": (Size(cohorts=1), Size(cohorts=10)), "topology": (Size(racks=1), Size(racks=10))}
GROWN = {"baseline": "queues", "topology": "nodes"}
PLAIN, FAIR = SchedulingSettings(), SchedulingSettings(fair_sharing=FairSharingSettings())
ONE_COHORT = (Size(cohorts=1), Size(cohorts=1, queues=60))
MANY_HEADS = tuple(replace(size, cohorts=10) for size in TENFOLD["topology"])
CYCLES: dict[str, tuple[tuple[str, tuple[WorkloadClass, ...], tuple[Size, ...], SchedulingSettings], ...]] = {
    "baseline": (
        ("", BASELINE, TENFOLD["baseline"], PLAIN),
        ("in one cohort, ", BASELINE, ONE_COHORT, PLAIN),
        ("in one cohort with fair sharing, ", BASELINE, ONE_COHORT, FAIR),
    ),
    "topology": (
        ("", TOPOLOGY, MANY_HEADS, PLAIN),
        ("60 kinds of pods, ", FURTHER_KINDS, MANY_HEADS, PLAIN),
    ),
}


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What one side needed for a load."""

    admissions: int
    seconds: float
    waited: float
    """The mean seconds from created to admitted."""
    cpu: float
    """Of all processes of the cluster, in seconds."""

    @property
    def rate(self) -> float:
        return self.admissions / self.seconds

    @property
    def milliseconds(self) -> float:
        """CPU of one admission, with the Workload's creation and its end."""
        return 1000 * self.cpu / self.admissions


async def scheduled(engine: str, classes: tuple[WorkloadClass, ...], size: Size) -> Scheduled:
    with peers.folder(None) as folder:
        async with RunningFleet.up(folder / "fleet", engine, workers=1) as fleet:
            load = Load(fleet.clients[WORKER], classes, size)
            await load.prepare()
            before = await fleet.cpu(WORKER)
            run = await Runner(load)(LIMIT)
            return Scheduled(run.admissions, run.seconds, run.waited, await fleet.cpu(WORKER) - before)


async def measure(part: str, options: argparse.Namespace, report: Report) -> None:
    size = Size(options.share)
    ours = await scheduled(EMBEDDED, PARTS[part], size)
    theirs = None if options.skip_real else await scheduled(KUBERNETES, PARTS[part], size)

    def row(question: str, unit: str, what: str, **more: bool) -> None:
        peer = getattr(theirs, what) if theirs else None
        report.add(Row(f"{part}: {question}", unit, getattr(ours, what), peer, BESIDE, **more))

    row("admissions", "/s", "rate", more_is_better=True)
    row("created to admitted, mean", "s", "waited")
    row("CPU of an admission, all processes of the cluster", "ms", "milliseconds")
    smaller, larger = TENFOLD[part]
    few = await scheduled(
        EMBEDDED, PARTS[part], Size(options.share * 5 / smaller.cohorts, smaller.cohorts, smaller.racks)
    )
    many = await scheduled(
        EMBEDDED, PARTS[part], Size(options.share * 5 / larger.cohorts, larger.cohorts, larger.racks)
    )
    report.add(Row(f"{part}: CPU of an admission, few {GROWN[part]}", "ms", few.milliseconds))
    report.add(Row(f"{part}: ... ten times the {GROWN[part]}", "ms", many.milliseconds))
    report_cycles(part, report)


def report_cycles(part: str, report: Report) -> None:
    """Report what a cycle of the scheduler's core costs for each of its heads."""
    for form, classes, sizes, settings in CYCLES[part]:
        for grown, size in zip((f"few {GROWN[part]}", f"ten times the {GROWN[part]}"), sizes, strict=True):
            load = Load(None, classes, size)
            cost = cost_of_a_cycle(load, settings) / len(load.queues)
            report.add(Row(f"{part}: CPU of a cycle for each of {len(load.queues)} heads, {form}{grown}", "ms", cost))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.1, help="of the 15,000 Workloads, how many")
    parser.add_argument("--skip-real", action="store_true", help="only ours")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; may be given twice")
    parser.add_argument("-o", "--output", choices=("table", "markdown", "json"), default="table")
    options = parser.parse_args()
    report = Report(is_quiet=options.output != "table")
    versions = {"kueue": parts.KUEUE_VERSION, "fleetqueue": __version__}
    with bytecode(), peers.folder(None) as place:
        about = machine(place, versions)
        for part in options.part or PARTS:
            asyncio.run(measure(part, options, report))
    if options.output == "json":
        print(report.json(about))
    else:
        print(", ".join(f"{name} {value}" for name, value in about.items()))
        print(report.markdown() if options.output == "markdown" else report.table())


if __name__ == "__main__":
    main()
