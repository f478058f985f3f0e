"""`fleetqueue install`: make a hub ready for our controller."""

from typing import Annotated

import typer

from fleetqueue.cli.clusters import opened
from fleetqueue.cli.options import Context, Kubeconfig, KueueConfigMapName, KueueNamespace
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import run


def install(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    dispatcher: Annotated[
        bool, typer.Option("--dispatcher", help="Let Kueue leave the choice of clusters to fleetqueue, and restart it.")
    ] = False,
    config_map: KueueConfigMapName = "",
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the change of Kueue's configuration, and change nothing.")
    ] = False,
) -> None:
    """Look whether a hub has what fleetqueue needs, and let Kueue leave dispatching to it.

    The controller itself is installed by helm. Start it before --dispatcher: from then on every MultiKueue job of
    the hub waits for it. `uninstall` sets Kueue back.

    Where Kueue's configuration is kept in Git or by Helm, a change on the hub would be undone: --print shows it as a
    diff, and for Helm as values, to be made there.

    \b
    Example:
      helm install fleetqueue deploy/charts/fleetqueue --namespace fleetqueue-system --create-namespace \\
        --set image.repository=registry.example.com/fleetqueue
      fleetqueue install --dispatcher
      fleetqueue install --print
    """
    from fleetqueue.admin import dispatcher as kueue_dispatcher
    from fleetqueue.controllers.processes.capabilities import detect

    async def work(report: Progress) -> str:
        async with opened(kubeconfig, context) as hub:
            found = await detect(hub)
            report(f"the hub has Kueue and OCM; {found.limit}")
            if print_only:
                return await kueue_dispatcher.change_to_ours(hub, kueue_namespace, config_map, report)
            if dispatcher:
                await kueue_dispatcher.install(hub, kueue_namespace, config_map, report)
            else:
                report(await kueue_dispatcher.state(hub, kueue_namespace, config_map))
            return ""

    with Progress() as report:
        change = run(work(report))
    print(change, end="")
