"""`fleetqueue clusterset`: sets of clusters, and who may choose from them."""

from typing import Annotated

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure
from fleetqueue.cli.options import Context, Kubeconfig, Output, OutputFormat, show

app = typer.Typer(
    no_args_is_help=True,
    help="""Make cluster sets, put clusters into them, and let the Placements of a namespace choose from one.

    \b
    Example:
      fleetqueue clusterset create spoke
      fleetqueue clusterset set spoke --clusters cluster1,cluster2
      fleetqueue clusterset bind spoke --namespace kueue-system
    """,
)

SetName = Annotated[str, typer.Argument(metavar="SET", help="The cluster set.")]
BoundNamespace = Annotated[str, typer.Option("--namespace", "-n", help="The namespace of the Placements.")]


@app.command(short_help="Make a cluster set.")
def create(
    name: SetName, kubeconfig: Kubeconfig = None, context: Context = "", output: Output = OutputFormat.TABLE
) -> None:
    """Make a cluster set; clusters are put into it by `join --clusterset`, or by `clusterset set`.

    \b
    Example:
      fleetqueue clusterset create spoke
    """
    from fleetqueue.admin import cluster_sets

    show(kubeconfig, context, lambda hub: cluster_sets.create_command(hub, name, output.value))


@app.command("set", short_help="Put clusters into a set.")
def set_clusters(
    name: SetName,
    clusters: Annotated[str, typer.Option(help="The clusters, by name, with commas between them.")],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Put clusters into a set, by its label; a cluster is in one such set only, and leaves the one that it was in.

    What runs on a cluster that leaves a set goes on there. A set that chooses by labels, such as `global`, takes none.

    \b
    Example:
      fleetqueue clusterset set spoke --clusters cluster1,cluster2
    """
    from fleetqueue.admin import cluster_sets

    names = [cluster for one in clusters.split(",") if (cluster := one.strip())]
    if not names:
        raise CommandFailure("--clusters names no cluster", Code.USAGE)
    show(kubeconfig, context, lambda hub: cluster_sets.set_command(hub, name, names, output.value))


@app.command(short_help="Let the Placements of a namespace choose from a set.")
def bind(
    name: SetName,
    namespace: BoundNamespace,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let the Placements of a namespace choose from a set.

    \b
    Example:
      fleetqueue clusterset bind spoke --namespace kueue-system
    """
    from fleetqueue.admin import cluster_sets

    show(kubeconfig, context, lambda hub: cluster_sets.bind_command(hub, name, namespace, output.value))


@app.command(short_help="Take a set away from them.")
def unbind(
    name: SetName,
    namespace: BoundNamespace,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take a set away from the Placements of a namespace; what runs goes on, nothing new is placed.

    \b
    Example:
      fleetqueue clusterset unbind spoke --namespace kueue-system
    """
    from fleetqueue.admin import cluster_sets

    show(kubeconfig, context, lambda hub: cluster_sets.unbind_command(hub, name, namespace, output.value))
