"""`fleetqueue join`: bring a worker into the fleet."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fleetqueue.cli.clusters import opened
from fleetqueue.cli.options import KueueNamespace, Timeout
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import Code, Failure, run


def join(
    name: Annotated[str, typer.Argument(help="The name that the worker has, or shall have, as ManagedCluster.")],
    kubeconfig: Annotated[Path, typer.Option(help="An administrator's kubeconfig of the worker.")],
    context: Annotated[str, typer.Option(help="The context in it; otherwise its current one.")] = "",
    hub_kubeconfig: Annotated[
        Path | None, typer.Option(help="The kubeconfig of the hub; otherwise $KUBECONFIG.")
    ] = None,
    hub_context: Annotated[str, typer.Option(help="The context in that.")] = "",
    clusterset: Annotated[str, typer.Option(help="The cluster set to put it into; made if it is missing.")] = "",
    label: Annotated[
        list[str] | None, typer.Option(help="A label, such as accelerator=nvidia; may be given often.")
    ] = None,
    kueue_namespace: KueueNamespace = "kueue-system",
    wait: Annotated[bool, typer.Option(help="Wait until Kueue on the hub can reach it.")] = True,
    timeout: Timeout = 60.0,
) -> None:
    """Bring a worker into the fleet: registered, in a set, and reachable for Kueue on the hub.

    A worker that Open Cluster Management has registered is completed, not changed. The kubeconfig is kept on the hub,
    in the namespace fleetqueue-system; Kueue gets a smaller one, which the controller makes and renews.

    \b
    Example:
      fleetqueue join cluster1 --kubeconfig cluster1.kubeconfig --clusterset spoke --label accelerator=nvidia-tesla-t4
    """
    from fleetqueue.admin import joining
    from fleetqueue.client.kubeconfig import load
    from fleetqueue.controllers.processes.capabilities import known_identity

    newcomer = joining.Newcomer(
        name, load(kubeconfig, context), clusterset, labels(label or []), kueue_namespace=kueue_namespace
    )

    async def work(report: Progress) -> None:
        async with opened(kubeconfig, context) as worker:
            report(f'worker "{name}" runs Kubernetes {await joining.inspect(worker, name)} with Kueue')
            uid = await known_identity(worker)
        async with opened(hub_kubeconfig, hub_context) as hub:
            await joining.join(hub, replace(newcomer, uid=uid), report)
            if wait:
                report("waiting until the controller has made credentials for Kueue")
                until = await joining.wait_for_credentials(hub, newcomer, limit=timeout)
                report(f"Kueue can reach it; its credentials hold until {until} and are renewed before")

    with Progress() as report:
        run(work(report))
    print(f"{name} is joined")


def labels(given: list[str]) -> dict[str, str]:
    """Read `key=value` pairs."""
    pairs = [pair.partition("=") for pair in given]
    if wrong := [key for key, equals, _ in pairs if not equals or not key]:
        raise Failure(f'a label has the form key=value, and "{wrong[0]}" has not', Code.USAGE)
    return {key: value for key, _, value in pairs}
