"""Run our own parts as processes of a fleet, by the same commands as in production."""

import sys
from typing import Final

from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.ports import LOOPBACK
from fleetqueue.lab.probes import answers
from fleetqueue.lab.processes import Command
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.fleet import RealFleet

PROBES: Final = "fleetqueue"
"""The port, on each cluster, on which our part there answers probes."""
CONTROLLER: Final = "controller"
SCORE_AGENT: Final = "score-agent"
SOON_SILENT: Final = ("--set=scores.refresh=5", "--set=scores.validity=70")
"""Makes the hub notice a silent agent within 40 seconds instead of minutes, so that one can watch it."""


async def run_controller(fleet: RealFleet) -> None:
    """Start our controller on the hub and wait until it works."""
    hub = fleet.clusters[HUB]
    await fleet.processes.up(part(hub, CONTROLLER, f"--kubeconfig={hub.kubeconfig}", "--no-leader-election"))


async def run_score_agent(fleet: RealFleet, worker: RealCluster) -> None:
    """Start the score agent of a worker and wait until it works."""
    hub = fleet.clusters[HUB]
    arguments = (f"--kubeconfig={worker.kubeconfig}", f"--hub-kubeconfig={hub.kubeconfig}", *SOON_SILENT)
    await fleet.processes.up(part(worker, SCORE_AGENT, f"--cluster={worker.name}", *arguments))


def part(cluster: RealCluster, name: str, *arguments: str) -> Command:
    """One of our own parts, as a process of a cluster."""
    port = cluster.ports[PROBES]
    return Command(
        name=f"{cluster.name}/{name}",
        arguments=(sys.executable, "-m", "fleetqueue", name, *arguments, f"--set=probes.port={port}"),
        log=cluster.folder / "logs" / f"{name}.log",
        port=port,
        probe=answers(f"http://{LOOPBACK}:{port}/readyz"),
    )
