"""`fleetqueue uninstall`: take fleetqueue away from a hub while jobs run."""

from typing import Annotated

import typer

from fleetqueue.cli.clusters import opened
from fleetqueue.cli.options import Context, Kubeconfig, KueueConfigMapName, KueueNamespace, Timeout
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import Code, Failure, run


def uninstall(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Annotated[str, typer.Option(help="Where our controller runs.")] = "fleetqueue-system",
    kueue_namespace: KueueNamespace = "kueue-system",
    detach_checks: Annotated[
        bool, typer.Option("--detach-checks", help="Take the placement checks off the queues, so that new jobs flow.")
    ] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also strip our labels, and delete scores and admin kubeconfigs.")
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
    from fleetqueue.admin.uninstalling import Remains, Removal
    from fleetqueue.admin.uninstalling import uninstall as remove

    removal = Removal(detach_checks, purge, namespace, kueue_namespace, timeout, config_map, kueue_restarted)

    async def show() -> str:
        with Progress() as report:
            async with opened(kubeconfig, context) as hub:
                return await change_back(hub, kueue_namespace, config_map, report)

    if print_only:
        print(run(show()), end="")
        return

    async def work() -> Remains:
        with Progress() as report:
            async with opened(kubeconfig, context) as hub:
                return await remove(hub, removal, report)

    remains = run(work())
    for note in remains.notes:
        print(f"note: {note}")
    for todo in remains.todo:
        print(f"to do: {todo}")
    if remains.todo:
        raise Failure("fleetqueue is not wholly removed yet; see what is to do above", Code.NOT_FOUND)
    print("fleetqueue is removed from the path of jobs; Kueue dispatches by itself")
