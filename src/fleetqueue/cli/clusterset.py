"""`fleetqueue clusterset`: sets of clusters, and who may choose from them."""

from typing import Annotated

import typer

from fleetqueue.cli.options import Context, Kubeconfig, show

app = typer.Typer(
    no_args_is_help=True,
    help="""Make cluster sets, and let the Placements of a namespace choose from one.

    \b
    Example:
      fleetqueue clusterset create spoke
      fleetqueue clusterset bind spoke --namespace kueue-system
    """,
)

SetName = Annotated[str, typer.Argument(metavar="SET", help="The cluster set.")]
BoundNamespace = Annotated[str, typer.Option("--namespace", "-n", help="The namespace of the Placements.")]


@app.command()
def create(name: SetName, kubeconfig: Kubeconfig = None, context: Context = "") -> None:
    """Make a cluster set; clusters are put into it by `join --clusterset`, or by a label.

    \b
    Example:
      fleetqueue clusterset create spoke
      kubectl label managedcluster cluster1 cluster.open-cluster-management.io/clusterset=spoke --overwrite
    """
    from fleetqueue.admin import cluster_sets

    show(kubeconfig, context, lambda hub: cluster_sets.create_command(hub, name))


@app.command()
def bind(name: SetName, namespace: BoundNamespace, kubeconfig: Kubeconfig = None, context: Context = "") -> None:
    """Let the Placements of a namespace choose from a set.

    \b
    Example:
      fleetqueue clusterset bind spoke --namespace kueue-system
    """
    from fleetqueue.admin import cluster_sets

    show(kubeconfig, context, lambda hub: cluster_sets.bind_command(hub, name, namespace))


@app.command()
def unbind(name: SetName, namespace: BoundNamespace, kubeconfig: Kubeconfig = None, context: Context = "") -> None:
    """Take a set away from the Placements of a namespace; what runs goes on, nothing new is placed.

    \b
    Example:
      fleetqueue clusterset unbind spoke --namespace kueue-system
    """
    from fleetqueue.admin import cluster_sets

    show(kubeconfig, context, lambda hub: cluster_sets.unbind_command(hub, name, namespace))
