"""`fleetqueue score-agent`: the process on a worker."""

from pathlib import Path
from typing import Annotated

import typer

from fleetqueue.cli.options import ConfigFile, Overrides
from fleetqueue.cli.running import Code, Failure, run


def score_agent(
    cluster: Annotated[str, typer.Option(help="The name of the worker's ManagedCluster.")] = "",
    kubeconfig: Annotated[
        Path | None, typer.Option(help="The kubeconfig of the worker; otherwise as for all commands.")
    ] = None,
    context: Annotated[str, typer.Option(help="The context in it; otherwise its current one.")] = "",
    hub_kubeconfig: Annotated[Path | None, typer.Option(help="The kubeconfig of the hub.")] = None,
    hub_context: Annotated[str, typer.Option(help="The context in that.")] = "",
    config: ConfigFile = None,
    overrides: Overrides = None,
) -> None:
    """Run on a worker: tell the hub how much of it is free, as scores that Placements can use.

    \b
    Example:
      fleetqueue score-agent --cluster cluster1 --kubeconfig cluster1.kubeconfig --hub-kubeconfig hub.kubeconfig
    """
    from fleetqueue.client import kubeconfig as kubeconfigs
    from fleetqueue.controllers.processes.settings import WorkerSettings
    from fleetqueue.controllers.processes.settings_file import load
    from fleetqueue.controllers.processes.worker import WorkerProcess
    from fleetqueue.runtime import logs

    name = [f'cluster="{cluster}"'] if cluster else []
    settings = load(WorkerSettings, config, [*(overrides or ()), *name])
    if not settings.cluster:
        raise Failure("the worker has no name: give that of its ManagedCluster with --cluster", Code.USAGE)
    if hub_kubeconfig is None and not hub_context:
        raise Failure("the hub is not named: give its kubeconfig with --hub-kubeconfig", Code.USAGE)
    logs.set_up(json=settings.logs.format == "json", level=settings.logs.level)
    worker, hub = kubeconfigs.load(kubeconfig, context), kubeconfigs.load(hub_kubeconfig, hub_context)

    async def work() -> None:
        await WorkerProcess(worker, hub, settings).run()

    run(work())
