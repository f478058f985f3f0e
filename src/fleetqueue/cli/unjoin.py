"""`fleetqueue unjoin`: let a worker go."""

from typing import Annotated

import typer

from fleetqueue.cli.clusters import opened
from fleetqueue.cli.options import Context, Kubeconfig, Timeout
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import run


def unjoin(
    name: Annotated[str, typer.Argument(help="The ManagedCluster.")],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Do not wait for jobs: take them back, or give them up where the worker is silent; then they may run "
            "twice.",
        ),
    ] = False,
    timeout: Timeout = 180.0,
) -> None:
    """Take a worker out of the fleet: no new jobs, wait for running ones, remove what we made there.

    Exit code 3 means that jobs still run there; it takes no new ones, and can be taken out later.

    \b
    Example:
      fleetqueue unjoin cluster1
    """
    from fleetqueue.admin.leaving import unjoin as leave

    async def work() -> None:
        with Progress() as report:
            async with opened(kubeconfig, context) as hub:
                await leave(hub, name, report, force=force, limit=timeout)

    run(work())
    print(f"{name} has left")
