"""`fleetqueue install`: make a hub ready for our controller."""

from typing import Annotated

import typer

from fleetqueue.cli.clusters import opened
from fleetqueue.cli.options import Context, Kubeconfig, KueueNamespace
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import run


def install(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    dispatcher: Annotated[
        bool, typer.Option("--dispatcher", help="Let Kueue leave the choice of clusters to fleetqueue, and restart it.")
    ] = False,
) -> None:
    """Look whether a hub has what fleetqueue needs, and let Kueue leave dispatching to it.

    The controller itself is installed by helm. Start it before --dispatcher: from then on every MultiKueue job of
    the hub waits for it. `uninstall` sets Kueue back.

    \b
    Example:
      helm install fleetqueue deploy/charts/fleetqueue --namespace fleetqueue-system --create-namespace
      fleetqueue install --dispatcher
    """
    from fleetqueue.assembly import dispatcher as kueue_dispatcher
    from fleetqueue.assembly.capabilities import detect
    from fleetqueue.assembly.uninstalling import RESTART_BY_HAND

    async def work(report: Progress) -> None:
        async with opened(kubeconfig, context) as hub:
            found = await detect(hub)
            report(f"the hub has Kueue and OCM; a MultiKueueConfig may list {found.listed_clusters} clusters")
            if not dispatcher:
                report("Kueue's dispatcher is left as it is; set ours with --dispatcher")
            elif not await kueue_dispatcher.set_ours(hub, kueue_namespace):
                report("Kueue leaves dispatching to fleetqueue already")
            elif await kueue_dispatcher.restart_kueue(hub, kueue_namespace):
                report("Kueue leaves dispatching to fleetqueue, and is restarted")
            else:
                report(RESTART_BY_HAND)

    with Progress() as report:
        run(work(report))
