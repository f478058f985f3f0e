"""`fleetqueue up`: start a fleet on this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from fleetqueue.cli.fleets import Engine, Ocm, Scenario, folder, how_to_go_on, reporter
from fleetqueue.cli.options import DataDir
from fleetqueue.cli.running import run


def up(
    engine: Annotated[Engine, typer.Option(help="What the clusters are made of.")] = Engine.KUBERNETES,
    workers: Annotated[int, typer.Option(help="How many workers, named cluster1, cluster2, ...", min=1, max=50)] = 3,
    data_dir: DataDir = None,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running in the background.")] = False,
    scenario: Annotated[
        Scenario, typer.Option(help="What is set up: the environment of the stories, or bare clusters.")
    ] = Scenario.MULTIKUEUE,
    ocm: Annotated[
        Ocm, typer.Option(help="Open Cluster Management: with its agents, or the placement controller alone (lighter).")
    ] = Ocm.FULL,
    in_memory: Annotated[
        bool, typer.Option("--in-memory", help="Embedded clusters only: keep nothing when they stop.")
    ] = False,
) -> None:
    """Start a hub and workers on this machine.

    With the engine kubernetes: real Kubernetes, Kueue and OCM as plain processes, and fleetqueue at work; half a
    minute. With the engine embedded: bare clusters in one process, for kubectl and for controllers; seconds.
    No containers, no root. A fleet that was stopped goes on with everything that it had.

    \b
    Example:
      fleetqueue up --detach
      export KUBECONFIG=$(fleetqueue kubeconfig --path)
      kubectl get managedclusters
    """
    where, report = folder(data_dir), reporter()
    if engine is Engine.EMBEDDED:
        _embedded(where, workers, report, detach=detach, in_memory=in_memory)
        return
    from fleetqueue.assembly.lab import Lab, LabSettings, start_in_background
    from fleetqueue.engine.supervisor import Supervisor

    report(f"starting a hub and {workers} workers in {where}; three take half a minute on two cores")
    settings = LabSettings(workers=workers, ocm=ocm.value, scenario=scenario.value)
    if detach:
        run(start_in_background(where, settings, report))
        print(how_to_go_on(where, is_detached=True))
        return

    def say_so() -> None:
        print(how_to_go_on(where, is_detached=False), flush=True)

    async def work() -> None:
        await Supervisor(Lab(where, settings, report=report, on_up=say_so)).run()

    run(work())
    report("the fleet is stopped; its state is kept")


def _embedded(where: Path, workers: int, report: Callable[[str], None], *, detach: bool, in_memory: bool) -> None:
    from fleetqueue.assembly.embedded_lab import EmbeddedLab, EmbeddedSettings, start_in_background
    from fleetqueue.engine.supervisor import Supervisor

    settings = EmbeddedSettings(workers=workers, in_memory=in_memory)
    if detach:
        run(start_in_background(where, settings, report))
        print(how_to_go_on(where, is_detached=True, has_ocm=False))
        return

    def say_so() -> None:
        print(how_to_go_on(where, is_detached=False, has_ocm=False), flush=True)

    async def work() -> None:
        await Supervisor(EmbeddedLab(where, settings, report=report, on_up=say_so)).run()

    run(work())
    report("the fleet is stopped" + ("" if in_memory else "; its state is kept"))
