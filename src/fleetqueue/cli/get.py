"""`fleetqueue get`: what the fleet looks like."""

from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.exit_codes import CommandFailure
from fleetqueue.cli.options import Context, Kubeconfig, KueueNamespace, Output, OutputFormat, show

if TYPE_CHECKING:
    from fleetqueue.client import Client

app = typer.Typer(
    no_args_is_help=True,
    help="""Show clusters, cluster sets, placements, scores and jobs of the hub.

    \b
    Example:
      fleetqueue get clusters
      fleetqueue get scores -o json
    """,
)


@app.command(short_help="Show the workers.")
def clusters(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show the workers: registered, available, in which set, and until when Kueue can reach them.

    CONNECTED is what Kueue itself says of its connection, with the reason where it has none; it is empty for a worker
    that no Placement with a check selects. -o json has the whole message, for each MultiKueueCluster. Notes under the
    table say why a selected worker is left out, and why a column could not be read.

    \b
    Example:
      fleetqueue get clusters
    """
    from fleetqueue.admin import listings

    show(kubeconfig, context, lambda hub: listings.clusters(hub, output.value, kueue_namespace=kueue_namespace))


@app.command(short_help="Show the cluster sets.")
def clustersets(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = OutputFormat.TABLE,
    tree: Annotated[bool, typer.Option("--tree", help="Draw them as `clusteradm get clustersets` does.")] = False,
) -> None:
    """Show the cluster sets: who is in them, and which namespaces may choose from them.

    \b
    Example:
      fleetqueue get clustersets --tree
    """
    from fleetqueue.admin import listings

    show(kubeconfig, context, lambda hub: listings.cluster_sets(hub, output.value, tree=tree))


@app.command(short_help="Show the Placements and what they chose.")
def placements(kubeconfig: Kubeconfig = None, context: Context = "", output: Output = OutputFormat.TABLE) -> None:
    """Show the Placements and the clusters that they chose.

    \b
    Example:
      fleetqueue get placements
    """
    from fleetqueue.admin import listings

    show(kubeconfig, context, lambda hub: listings.placements(hub, output.value))


@app.command(short_help="Show the jobs: how far, where, and why.")
def jobs(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Only the jobs of this namespace; otherwise of all.")
    ] = "",
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="The jobs of all namespaces, also where -n is given.")
    ] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show the jobs of the hub: how far each has come, on which cluster, and what it waits for.

    Unlike kubectl it shows all namespaces unless one is named; who may list only one of them must name it.

    \b
    Example:
      fleetqueue get jobs
      fleetqueue get jobs -n team-a
    """
    chosen = "" if all_namespaces else namespace
    show(kubeconfig, context, lambda hub: list_jobs(hub, output, chosen))


async def list_jobs(hub: "Client", output: OutputFormat, namespace: str) -> str:
    """List the jobs; raises CommandFailure where only those of single namespaces may be listed."""
    from fleetqueue.admin import listings
    from fleetqueue.api import errors

    try:
        return await listings.jobs(hub, output.value, namespace=namespace)
    except errors.Forbidden as error:
        if namespace:
            raise
        raise CommandFailure(f"{error}; try -n NAMESPACE, or use a kubeconfig with more rights") from error


@app.command(short_help="Show how much of each cluster is free.")
def scores(kubeconfig: Kubeconfig = None, context: Context = "", output: Output = OutputFormat.TABLE) -> None:
    """Show how much of each cluster is free, as scores from -100 (nothing) to 100.

    \b
    Example:
      fleetqueue get scores
      fleetqueue get scores -o json | jq '.[] | {cluster, gpu: .scores.gpuClusterAvailable}'
    """
    from fleetqueue.admin import listings

    show(kubeconfig, context, lambda hub: listings.scores(hub, output.value))
