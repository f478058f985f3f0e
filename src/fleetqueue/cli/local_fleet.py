"""`fleetqueue up`, `down`, `status`, `restart`: a fleet on this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.admin.table_text import written
from fleetqueue.cli.exit_codes import Code, CommandFailure, run
from fleetqueue.cli.fleets import Engine, Ocm, Scenario, folder, how_to_go_on, usable_folder
from fleetqueue.cli.options import DataDir, Output, OutputFormat
from fleetqueue.cli.progress import Progress

if TYPE_CHECKING:
    from fleetqueue.fleets.embedded_settings import EmbeddedSettings
    from fleetqueue.lab.supervisor import SupervisedFleet

WORKERS = 3
MOST_REAL_WORKERS = 50
"""Each is a dozen processes and a gigabyte."""


def up(
    engine: Annotated[
        Engine | None,
        typer.Option(help="What the clusters are made of.", show_default="as the folder has it, otherwise embedded"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="How many workers, named cluster1, cluster2, ...",
            show_default="as the folder has it, otherwise 3",
            min=1,
            max=200,
        ),
    ] = None,
    data_dir: DataDir = None,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running in the background.")] = False,
    in_memory: Annotated[
        bool, typer.Option("--in-memory", help="Embedded clusters only: keep nothing when they stop.")
    ] = False,
    ports_from: Annotated[
        int | None,
        typer.Option(
            help="Embedded clusters only: the port of the hub; cluster1 has the next one, and so on.",
            show_default="those of the last start, otherwise any",
            min=1,
            max=65535,
        ),
    ] = None,
    scenario: Annotated[
        Scenario | None,
        typer.Option(
            help="The environment of the stories (Kueue, Open Cluster Management, fleetqueue), or bare clusters.",
            show_default="bare embedded clusters, real ones with everything",
        ),
    ] = None,
    ocm: Annotated[
        Ocm | None,
        typer.Option(
            help="Real clusters only: Open Cluster Management with its agents, or the placement controller alone "
            "(lighter).",
            show_default="full",
        ),
    ] = None,
) -> None:
    """Start a hub and workers on this machine.

    Embedded clusters are Kubernetes APIs in one process, each with a scheduler and a node: a second. With
    --scenario multikueue, Kueue, Open Cluster Management and fleetqueue run in them as pods: some seconds. With
    --engine kubernetes they are real Kubernetes, Kueue and OCM as plain processes, and fleetqueue at work: half a
    minute. No containers, no root. A fleet that was stopped goes on with everything that it had.

    \b
    Example:
      fleetqueue up --detach
      export KUBECONFIG=$(fleetqueue kubeconfig --path)
      kubectl --context cluster1 create job hello --image=busybox
    """
    from fleetqueue.fleets.embedded_settings import EmbeddedSettings
    from fleetqueue.lab.state import kept, refuse_running

    where = usable_folder(folder(data_dir))
    refuse_running(where)
    there = kept(where)
    made_of = engine or (Engine(there.engine) if there else Engine.EMBEDDED)
    number = workers or (there.workers if there else WORKERS)
    if made_of is Engine.EMBEDDED:
        refuse("real clusters; they come with --engine kubernetes", ocm=ocm)
        kind = scenario.value if scenario else there.scenario if there else "none"
        settings = EmbeddedSettings(number, in_memory=in_memory, ports_from=ports_from, scenario=kind)
        _embedded(where, settings, detach=detach)
        return
    refuse("embedded clusters; they come with --engine embedded", in_memory=in_memory, ports_from=ports_from)
    if number > MOST_REAL_WORKERS:
        raise CommandFailure(
            f"{number} real workers are more than one machine takes; at most {MOST_REAL_WORKERS}", Code.USAGE
        )
    _real(where, number, detach=detach, scenario=scenario or Scenario.MULTIKUEUE, ocm=ocm or Ocm.FULL)


def refuse(what_for: str, **options: object) -> None:
    """Refuse options that say nothing to the chosen engine."""
    for name, value in options.items():
        if value:
            raise CommandFailure(f"--{name.replace('_', '-')} is for {what_for}", Code.USAGE)


def _embedded(where: Path, settings: "EmbeddedSettings", *, detach: bool) -> None:
    from fleetqueue.fleets.embedded_settings import start_in_background

    is_bare = settings.scenario == "none"
    with Progress() as report:
        report(f"starting a hub and {number_of(settings.workers)} in {where}")
        if detach:
            run(start_in_background(where, settings, report))
            report.settle()
            print(how_to_go_on(where, is_detached=True, is_bare=is_bare))
            return
        from fleetqueue.fleets import embedded_log
        from fleetqueue.fleets.embedded_lab import EmbeddedLab

        embedded_log.keep(where)
        say_so = on_up(where, report, is_bare=is_bare)
        keep_up(lambda: EmbeddedLab(where, settings, report=report, on_up=say_so))
        report("the fleet is stopped" + ("" if settings.in_memory else "; its state is kept"))


def _real(where: Path, workers: int, *, detach: bool, scenario: Scenario, ocm: Ocm) -> None:
    from fleetqueue.fleets.lab import Lab, LabSettings, start_in_background

    settings = LabSettings(workers=workers, ocm=ocm.value, scenario=scenario.value)
    with Progress() as report:
        report(f"starting a hub and {number_of(workers)} in {where}; three take half a minute on two cores")
        if detach:
            run(start_in_background(where, settings, report))
            report.settle()
            print(how_to_go_on(where, is_detached=True))
            return
        keep_up(lambda: Lab(where, settings, report=report, on_up=on_up(where, report)))
        report("the fleet is stopped; its state is kept")


def on_up(where: Path, report: Progress, *, is_bare: bool = False) -> Callable[[], None]:
    """Return what is done when a fleet in this terminal is up: nothing is waited for, and the user may go on."""

    def say_so() -> None:
        report.settle()
        print(how_to_go_on(where, is_detached=False, is_bare=is_bare), flush=True)

    return say_so


def number_of(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"


def keep_up(fleet: Callable[[], "SupervisedFleet"]) -> None:
    """Run a fleet in this terminal until Ctrl-C."""
    from fleetqueue.lab.supervisor import Supervisor

    async def work() -> bool:
        return await Supervisor(fleet()).run()

    if not run(work()):
        raise CommandFailure("the fleet was ended before it was up", Code.INTERRUPTED)


def down(
    data_dir: DataDir = None,
    delete: Annotated[bool, typer.Option("--delete", help="Forget its state as well.")] = False,
) -> None:
    """End the fleet on this machine, wherever it was started; no process of it stays.

    \b
    Example:
      fleetqueue down
      fleetqueue down --delete
    """
    from fleetqueue.lab import control
    from fleetqueue.lab.state import kept, refuse_foreign

    where = folder(data_dir)
    if not where.is_dir():
        print(f"there is no fleet in {where}")
        return
    refuse_foreign(where)
    is_running = run(control.ask_if_there(where, "status")) is not None
    with Progress() as report:
        if is_running:
            report(f"ending the fleet in {where}")
        run(control.down(where, delete=delete))
    if delete:
        print(f"the fleet in {where} is gone")
        return
    message = f"the fleet in {where} is stopped" if is_running else f"no fleet runs in {where}"
    there = kept(where)  # now that it is stopped: what is remembered of it may be broken
    print(f"{message}; its state is kept" if there and not there.in_memory else message)


def status(data_dir: DataDir = None, output: Output = OutputFormat.TABLE) -> None:
    """Show every process of the fleet on this machine; exit code 1 if one is down, 3 if no fleet runs.

    \b
    Example:
      fleetqueue status
      fleetqueue status -o json
    """
    from dataclasses import asdict

    from fleetqueue.lab import control

    processes = run(control.status(folder(data_dir)))
    print(written([asdict(process) for process in processes], ("name", "state", "pid", "port"), output.value))
    if ended := [process.name for process in processes if process.state.startswith("down")]:
        raise CommandFailure(f"{', '.join(ended)} ended; see `fleetqueue logs {ended[0]}`")


def restart(
    name: Annotated[str, typer.Argument(help="The process as `status` names it, such as hub/kueue.")],
    data_dir: DataDir = None,
) -> None:
    """Restart one process of the fleet on this machine; Kueue then reads its ConfigMap again.

    Embedded clusters share one process, and their parts are pods: `kubectl rollout restart` restarts one of them.

    \b
    Example:
      fleetqueue restart hub/kueue
      fleetqueue restart hub/controller
    """
    from fleetqueue.lab import control

    run(control.ask(folder(data_dir), "restart", name))
    print(f"{name} is restarted")
