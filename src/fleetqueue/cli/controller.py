"""`fleetqueue controller`: the process on the hub."""

from typing import Annotated

import typer

from fleetqueue.cli.options import ConfigFile, Context, Kubeconfig, Overrides
from fleetqueue.cli.running import run


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
