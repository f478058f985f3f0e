"""`fleetqueue kubeconfig`: the kubeconfigs of a fleet on this machine, and new ones for MultiKueue."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fleetqueue.cli.exit_codes import Code, CommandFailure, run
from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import AdminKubeconfig, Context, DataDir

HELP = ("--help", "-h")


def group_with_default(default: str) -> type[TyperGroup]:
    """Return a group class: `group x` means `group <default> x` unless x is one of its commands."""

    class GroupWithDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            if not args or (args[0] not in self.commands and args[0] not in HELP):
                args = [default, *args]
            return super().parse_args(ctx, args)

    return GroupWithDefault


app = typer.Typer(
    cls=group_with_default("show"),
    help="""Print a kubeconfig of the fleet on this machine, or make one for MultiKueue on any worker.

    \b
    Example:
      fleetqueue kubeconfig cluster1  # short for: kubeconfig show cluster1
      export KUBECONFIG=$(fleetqueue kubeconfig --path)
      fleetqueue kubeconfig create --kubeconfig admin.kubeconfig > worker1.kubeconfig
    """,
)


def clusters_in(where: Path) -> list[str]:
    """Return the clusters of a fleet on this machine."""
    return sorted(kubeconfig.parent.name for kubeconfig in where.glob("*/kubeconfig"))


def completed(context: typer.Context, incomplete: str) -> list[str]:
    return [name for name in clusters_in(folder(context.params.get("data_dir"))) if name.startswith(incomplete)]


@app.command(short_help="Print one of the fleet on this machine.")
def show(
    name: Annotated[
        str,
        typer.Argument(help="The cluster; all of them in one file where none is named.", autocompletion=completed),
    ] = "",
    merged: Annotated[bool, typer.Option("--merged", help="All clusters in one file.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print where the file is, not what is in it.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Print a kubeconfig of the fleet on this machine.

    \b
    Example:
      fleetqueue kubeconfig show hub
      fleetqueue kubeconfig show --merged --path
    """
    from fleetqueue.lab.state import option

    where = folder(data_dir)
    file = where / "kubeconfig" if merged or not name else where / name / "kubeconfig"
    if not file.is_file():
        there = clusters_in(where)
        known = f"known are: {', '.join(there)}" if there else f"start a fleet with `fleetqueue up{option(where)}`"
        raise CommandFailure(f"there is no {file}; {known}", Code.NOT_FOUND)
    sys.stdout.write(f"{file}\n" if path else file.read_text())


def known_kinds(given: list[str] | None) -> list[str] | None:
    """Refuse what is no kind of jobs before anything is made on the worker."""
    if given:
        from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS, NEVER_DISPATCHED

        if unknown := [kind for kind in given if kind not in {*JOB_KINDS, *NEVER_DISPATCHED}]:
            raise CommandFailure(
                f'there is no kind of jobs "{unknown[0]}"; known are {", ".join(sorted(JOB_KINDS))}', Code.USAGE
            )
    return given


@app.command(short_help="Make one for MultiKueue on any worker.")
def create(
    kubeconfig: AdminKubeconfig = None,
    context: Context = "",
    cluster: Annotated[str, typer.Option(help="What the cluster is called in the new file.")] = "",
    lifetime: Annotated[int, typer.Option(help="Seconds that its token is good for; nobody renews it.", min=600)] = 24
    * 3600,
    job_kind: Annotated[
        list[str] | None,
        typer.Option(
            help="A kind of jobs, as Kueue names it; may be given often.",
            callback=known_kinds,
            show_default="all of Kueue's kinds that the worker serves",
        ),
    ] = None,
    kueue_namespace: Annotated[
        str, typer.Option(help="Where Kueue runs on the worker; the service account is made there.")
    ] = "kueue-system",
) -> None:
    """Make a kubeconfig with which MultiKueue reaches a worker, and print it.

    It may do what Kueue does there and no more. The service account and its roles stay on the worker until they are
    deleted. Workers that were joined need none: the controller makes and renews theirs.

    \b
    Example:
      fleetqueue kubeconfig create --context worker1-cluster > worker1.kubeconfig
      kubectl create secret generic worker1-secret -n kueue-system --from-file=kubeconfig=worker1.kubeconfig
    """
    from fleetqueue.client.kubeconfig import load
    from fleetqueue.client.transport import connect
    from fleetqueue.controllers.credentials.create import create_kubeconfig
    from fleetqueue.controllers.credentials.served_kinds import served_job_kinds

    connection = load(kubeconfig, context)

    async def work() -> str:
        client = connect(connection)
        try:
            kinds = job_kind or await served_job_kinds(client)
            return await create_kubeconfig(
                client, connection, cluster=cluster, job_kinds=kinds, lifetime=lifetime, namespace=kueue_namespace
            )
        finally:
            await client.close()

    sys.stdout.write(run(work()))
