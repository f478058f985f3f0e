"""`fleetqueue controller`, `fleetqueue score-agent`: the process on the hub, and that on a worker."""

from typing import Annotated

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure, run
from fleetqueue.cli.options import (
    ConfigFile,
    Context,
    HubContext,
    HubKubeconfig,
    Kubeconfig,
    Overrides,
    WorkerKubeconfig,
)


def controller(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    config: ConfigFile = None,
    overrides: Overrides = None,
    leader_election: Annotated[
        bool, typer.Option(help="Act only while holding the Lease; turn off for a single replica in a lab.")
    ] = True,
    show_settings: Annotated[bool, typer.Option("--show-settings", help="Print all settings and stop.")] = False,
) -> None:
    """Run on the hub: placements drive MultiKueue, jobs are dispatched, workers get credentials.

    Health is served under /healthz and /readyz, metrics under /metrics. It stops cleanly on SIGTERM and SIGINT, and
    with exit code 1 when another replica may lead.

    \b
    Example:
      fleetqueue controller --kubeconfig hub.kubeconfig --no-leader-election
      fleetqueue controller --config settings.yaml --set placement_admission.drain_timeout=3600
    """
    from fleetqueue.client import kubeconfig as kubeconfigs
    from fleetqueue.controllers.processes.hub import HubProcess
    from fleetqueue.controllers.processes.settings import HubSettings
    from fleetqueue.controllers.processes.settings_file import dump, load
    from fleetqueue.runtime import logs

    election = [] if leader_election else ["leader_election.enabled=false"]
    settings = load(HubSettings, config, [*(overrides or ()), *election])
    if show_settings:
        print(dump(settings), end="")
        return
    logs.set_up(json=settings.logs.format == "json", level=settings.logs.level)
    connection = kubeconfigs.load(kubeconfig, context)

    async def work() -> None:
        await HubProcess(connection, settings).run()

    run(work())


def score_agent(
    cluster: Annotated[str, typer.Option(help="The name of the worker's ManagedCluster.")] = "",
    kubeconfig: WorkerKubeconfig = None,
    context: Context = "",
    hub_kubeconfig: HubKubeconfig = None,
    hub_context: HubContext = "",
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
        raise CommandFailure("the worker has no name: give that of its ManagedCluster with --cluster", Code.USAGE)
    if hub_kubeconfig is None and not hub_context:
        raise CommandFailure("the hub is not named: give its kubeconfig with --hub-kubeconfig", Code.USAGE)
    logs.set_up(json=settings.logs.format == "json", level=settings.logs.level)
    worker, hub = kubeconfigs.load(kubeconfig, context), kubeconfigs.load(hub_kubeconfig, hub_context)

    async def work() -> None:
        await WorkerProcess(worker, hub, settings).run()

    run(work())
