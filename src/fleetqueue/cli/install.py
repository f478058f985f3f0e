"""`fleetqueue install`, `fleetqueue uninstall`: make a hub ready for our controller, or take it away while jobs run."""

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure, run
from fleetqueue.cli.options import (
    Context,
    Kubeconfig,
    KueueConfigMapName,
    KueueNamespace,
    Output,
    OutputFormat,
    Timeout,
    opened_hub,
)
from fleetqueue.cli.progress import Progress


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
    output: Output = OutputFormat.TABLE,
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
    from fleetqueue.admin.table_text import written
    from fleetqueue.controllers.processes.capabilities import detect

    async def work(report: Progress) -> InstallState:
        async with opened_hub(kubeconfig, context) as hub:
            capabilities = await detect(hub)
            report(f"the hub has Kueue and OCM; {capabilities.limit}")
            change = ""
            if print_only:
                change = await kueue_dispatcher.change_to_ours(hub, kueue_namespace, config_map, report)
            elif dispatcher:
                await kueue_dispatcher.install(hub, kueue_namespace, config_map, report)
            else:
                report(await kueue_dispatcher.state(hub, kueue_namespace, config_map))
            found = await kueue_dispatcher.look(hub, kueue_namespace, config_map)
            return InstallState(found.where if found else "", found.dispatcher if found else None, change, report.lines)

    with Progress() as report:
        state = run(work(report))
    if output is OutputFormat.TABLE:
        print(state.change, end="")
    else:
        print(written([asdict(state)], (), output.value))


@dataclass(frozen=True, slots=True)
class InstallState:
    """What programs read of a hub that is made ready."""

    config_map: str
    dispatcher: str | None
    change: str
    said: list[str]


def uninstall(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Annotated[str, typer.Option(help="Where our controller runs.")] = "fleetqueue-system",
    kueue_namespace: KueueNamespace = "kueue-system",
    detach_checks: Annotated[
        bool, typer.Option("--detach-checks", help="Take the placement checks off the queues, so that new jobs flow.")
    ] = False,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Also take our labels and entries off what stays, and delete scores, Leases and admin kubeconfigs.",
        ),
    ] = False,
    timeout: Timeout = 60.0,
    config_map: KueueConfigMapName = "",
    kueue_restarted: Annotated[
        bool,
        typer.Option(
            "--kueue-restarted",
            help="Say that Kueue, where it has no Deployment, was restarted since its dispatcher was set back.",
        ),
    ] = False,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the change that sets Kueue's dispatcher back, and change nothing.")
    ] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let Kueue dispatch by itself again and take fleetqueue away; running jobs go on undisturbed.

    MultiKueueConfigs and MultiKueueClusters that queues use stay, as ordinary objects. It can be run again until
    nothing is left to do; exit code 3 means that something is.

    Where Kueue's configuration is kept in Git or by Helm, make the change that --print shows there first.

    \b
    Example:
      fleetqueue uninstall --detach-checks
      helm uninstall fleetqueue --namespace fleetqueue-system
    """
    from fleetqueue.admin.dispatcher import change_back
    from fleetqueue.admin.table_text import told, written
    from fleetqueue.admin.uninstalling import Remains, Removal
    from fleetqueue.admin.uninstalling import uninstall as remove

    removal = Removal(detach_checks, purge, namespace, kueue_namespace, timeout, config_map, kueue_restarted)

    async def show() -> str:
        with Progress() as report:
            async with opened_hub(kubeconfig, context) as hub:
                return await change_back(hub, kueue_namespace, config_map, report)

    if print_only:
        change = run(show())
        row = {**asdict(Remains()), "removed": False, "change": change}
        print(change if output is OutputFormat.TABLE else f"{written([row], (), output.value)}\n", end="")
        return

    async def work() -> Remains:
        with Progress() as report:
            async with opened_hub(kubeconfig, context) as hub:
                return await remove(hub, removal, report)

    remains = run(work())
    lines = [*(f"note: {note}" for note in remains.notes), *(f"to do: {todo}" for todo in remains.todo)]
    if not remains.todo:
        lines.append("fleetqueue is removed from the path of jobs; Kueue dispatches by itself")
    row = {**asdict(remains), "removed": not remains.todo, "change": ""}
    print(told([row], output.value, "\n".join(lines)))
    if remains.todo:
        raise CommandFailure("fleetqueue is not wholly removed yet; see what is to do above", Code.NOT_FOUND)
