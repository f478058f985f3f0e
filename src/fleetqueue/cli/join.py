"""`fleetqueue join`, `fleetqueue unjoin`: bring a worker into the fleet, and let it go."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure, run
from fleetqueue.cli.options import (
    Context,
    HubContext,
    HubKubeconfig,
    Kubeconfig,
    KueueNamespace,
    Output,
    OutputFormat,
    Timeout,
    opened,
    opened_hub,
    refuse_worker,
)
from fleetqueue.cli.progress import Progress

NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def join(
    name: Annotated[str, typer.Argument(help="The name that the worker has, or shall have, as ManagedCluster.")],
    kubeconfig: Annotated[Path, typer.Option(help="An administrator's kubeconfig of the worker.")],
    context: Context = "",
    hub_kubeconfig: HubKubeconfig = None,
    hub_context: HubContext = "",
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
    from fleetqueue.client.transport import connect
    from fleetqueue.controllers.processes.capabilities import known_identity

    check_name(name)
    newcomer = joining.Newcomer(
        name, load(kubeconfig, context), clusterset, labels(label or []), kueue_namespace=kueue_namespace
    )

    async def work(report: Progress) -> None:
        async with opened(kubeconfig, context) as worker:
            report(f'worker "{name}" runs Kubernetes {await joining.inspect(worker, name)} with Kueue')
            known = replace(newcomer, uid=await known_identity(worker))
        async with opened(hub_kubeconfig, hub_context) as hub:
            await refuse_worker(hub, "--hub-kubeconfig or --hub-context", needs_clusters=True)
            await joining.join(hub, known, report)
            if wait:
                report("waiting until the controller has made credentials for Kueue")
                await joining.mark_refused(hub, known, connect)
                until = await joining.wait_for_credentials(hub, known, limit=timeout)
                report(f"Kueue can reach it; its credentials hold until {until} and are renewed before")

    with Progress() as report:
        run(work(report))
    print(f"{name} is joined")


def check_name(name: str) -> None:
    """Refuse what cannot be a ManagedCluster's name, which is also that of a namespace."""
    if not NAME.fullmatch(name):
        raise CommandFailure(
            f'"{name}" cannot be the name of a cluster: it has at most 63 lowercase letters, digits and "-",'
            " and a letter or digit at both ends",
            Code.USAGE,
        )


def labels(given: list[str]) -> dict[str, str]:
    """Read `key=value` pairs."""
    pairs = [pair.partition("=") for pair in given]
    if wrong := [key for key, equals, _ in pairs if not equals or not key]:
        raise CommandFailure(f'a label has the form key=value, and "{wrong[0]}" has not', Code.USAGE)
    return {key: value for key, _, value in pairs}


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
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take a worker out of the fleet: no new jobs, wait for running ones, remove what we made there.

    The namespaces of the jobs, and the queues in them, stay on the worker.

    Exit code 3 means that it was not done in time: jobs still run there, or the account that we made there is not
    removed yet, and the message says which. The worker takes no new jobs, and can be taken out later.

    \b
    Example:
      fleetqueue unjoin cluster1
    """
    from fleetqueue.admin.leaving import unjoin as leave
    from fleetqueue.admin.table_text import told

    async def work() -> list[str]:
        with Progress() as report:
            async with opened_hub(kubeconfig, context) as hub:
                await leave(hub, name, report, force=force, limit=timeout)
                return report.lines

    said = run(work())
    print(told([{"cluster": name, "forced": force, "said": said}], output.value, f"{name} has left"))
