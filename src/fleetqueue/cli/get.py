"""`fleetqueue get`: what the fleet looks like."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.exit_codes import CommandFailure
from fleetqueue.cli.options import (
    Context,
    JobOutput,
    JobOutputFormat,
    Kubeconfig,
    KueueNamespace,
    Output,
    OutputFormat,
    Watch,
    show,
    show_each,
    show_facts,
)

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
    watch: Watch = False,
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
    from fleetqueue.admin import inventory, listings

    show_facts(
        kubeconfig,
        context,
        lambda hub: inventory.clusters(hub, kueue_namespace),
        lambda rows: listings.cluster_text(rows, output.value, endless=watch),
        watch=watch,
    )


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
def placements(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    watch: Watch = False,
    output: Output = OutputFormat.TABLE,
    why: Annotated[
        bool, typer.Option("--why", help="A row for each cluster: the rule that dropped it, or its scores.")
    ] = False,
) -> None:
    """Show the Placements and the clusters that they chose.

    \b
    Example:
      fleetqueue get placements
      fleetqueue get placements --why
    """
    from fleetqueue.admin import listings

    show_facts(
        kubeconfig,
        context,
        lambda hub: listings.placement_rows(hub, why=why),
        lambda rows: listings.placement_text(rows, output.value, why=why, endless=watch),
        watch=watch,
    )


@app.command(short_help="Show the jobs: how far, where, and why.")
def jobs(
    name: Annotated[str, typer.Argument(help="A job, such as train or Job/train.", show_default="all of them")] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Only the jobs of this namespace; otherwise of all.")
    ] = "",
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="The jobs of all namespaces, also where -n is given.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on with every job that changes.")] = False,
    output: JobOutput = JobOutputFormat.TABLE,
) -> None:
    """Show the jobs of the hub: how far each has come, on which cluster, and what it waits for.

    POSITION is its place among all that wait for the same ClusterQueue, where Kueue's visibility API tells it; 1 is the
    next. WAITED is the time from its creation to its admission, RAN that from there to its end. A job that names a
    queue and has no Workload is NotQueued. Unlike kubectl it shows all namespaces unless one is named; who may list
    only one of them must name it. With -w, each change is a further line, and with -o json a line of JSON.

    \b
    Example:
      fleetqueue get jobs
      fleetqueue get jobs train -n team-a -w
      fleetqueue get jobs -o wide
    """
    chosen = "" if all_namespaces else namespace
    if watch:
        show_each(kubeconfig, context, lambda hub: watch_jobs(hub, output, chosen, name))
    else:
        show(kubeconfig, context, lambda hub: list_jobs(hub, output, chosen, name))


async def list_jobs(hub: "Client", output: JobOutputFormat, namespace: str, name: str = "") -> str:
    """List the jobs; raises CommandFailure where only those of single namespaces may be listed."""
    from fleetqueue.admin import listings

    with explained(namespace):
        return await listings.jobs(hub, output.value, namespace=namespace, name=name)


async def watch_jobs(hub: "Client", output: JobOutputFormat, namespace: str, name: str) -> AsyncIterator[str]:
    from fleetqueue.admin.listings import watched_jobs

    with explained(namespace):
        async for text in watched_jobs(hub, output.value, namespace=namespace, name=name):
            yield text


@contextmanager
def explained(namespace: str) -> Iterator[None]:
    """Tell who may not list the jobs of all namespaces to name one."""
    from fleetqueue.api import errors

    try:
        yield
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
