"""`fleetqueue get`: what the fleet looks like."""

from typing import Annotated, Any

import typer

from fleetqueue.cli.clusters import opened
from fleetqueue.cli.options import Context, Format, Kubeconfig, KueueNamespace, Output
from fleetqueue.cli.running import run
from fleetqueue.cli.tables import age, show

app = typer.Typer(
    no_args_is_help=True,
    help="""Show clusters, cluster sets, placements, scores and jobs of the hub.

    \b
    Example:
      fleetqueue get clusters
      fleetqueue get scores -o json
    """,
)

Row = dict[str, Any]

SHORT = {
    "cpu": "cpuClusterAvailable",
    "memory": "memClusterAvailable",
    "gpu": "gpuClusterAvailable",
    "tpu": "tpuClusterAvailable",
}
"""The scores that fit into a table, by the heading of their column."""


@app.command()
def clusters(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = Format.TABLE,
) -> None:
    """Show the workers: registered, available, in which set, and until when Kueue can reach them.

    \b
    Example:
      fleetqueue get clusters
    """
    from fleetqueue import clock
    from fleetqueue.assembly import inventory

    async def work() -> list[Row]:
        async with opened(kubeconfig, context) as hub:
            return await inventory.clusters(hub, kueue_namespace)

    rows = run(work())
    now = clock.now()
    rows = [{**row, "age": age(row["created"], now)} for row in rows] if output is Format.TABLE else rows
    columns = ("name", "accepted", "joined", "available", "set", "urls", "credentials_until", "age")
    show(rows, columns, output, empty="no clusters; bring one in with `fleetqueue join`")


@app.command()
def clustersets(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = Format.TABLE,
    tree: Annotated[bool, typer.Option("--tree", help="Draw them as `clusteradm get clustersets` does.")] = False,
) -> None:
    """Show the cluster sets: who is in them, and which namespaces may choose from them.

    \b
    Example:
      fleetqueue get clustersets --tree
    """
    from fleetqueue.assembly import inventory

    async def work() -> list[Row]:
        async with opened(kubeconfig, context) as hub:
            return await inventory.cluster_sets(hub)

    rows = run(work())
    if tree:
        print(inventory.set_tree(rows))
        return
    show(rows, ("name", "bound_namespaces", "status", "clusters"), output, empty="no cluster sets")


@app.command()
def placements(kubeconfig: Kubeconfig = None, context: Context = "", output: Output = Format.TABLE) -> None:
    """Show the Placements and the clusters that they chose.

    \b
    Example:
      fleetqueue get placements
    """
    from fleetqueue.assembly import inventory

    async def work() -> list[Row]:
        async with opened(kubeconfig, context) as hub:
            return await inventory.placements(hub)

    columns = ("namespace", "name", "succeeded", "reason", "selected", "clusters")
    show(run(work()), columns, output, empty="no placements")


@app.command()
def jobs(kubeconfig: Kubeconfig = None, context: Context = "", output: Output = Format.TABLE) -> None:
    """Show the jobs of the hub: how far each has come, on which cluster, and what it waits for.

    \b
    Example:
      fleetqueue get jobs
    """
    from fleetqueue import clock
    from fleetqueue.assembly import inventory

    async def work() -> list[Row]:
        async with opened(kubeconfig, context) as hub:
            return await inventory.jobs(hub)

    rows, now = run(work()), clock.now()
    rows = [{**row, "age": age(row["created"], now)} for row in rows] if output is Format.TABLE else rows
    show(rows, ("namespace", "job", "queue", "state", "clusters", "age", "why"), output, empty="no jobs")


@app.command()
def scores(kubeconfig: Kubeconfig = None, context: Context = "", output: Output = Format.TABLE) -> None:
    """Show how much of each cluster is free, as scores from -100 (nothing) to 100.

    \b
    Example:
      fleetqueue get scores
      fleetqueue get scores -o json | jq '.[] | {cluster, gpu: .scores.gpuClusterAvailable}'
    """
    from fleetqueue.assembly import inventory

    async def work() -> list[Row]:
        async with opened(kubeconfig, context) as hub:
            return await inventory.scores(hub)

    rows = run(work())
    if output is Format.TABLE:
        rows = [{**row, **{short: row["scores"].get(name) for short, name in SHORT.items()}} for row in rows]
    columns = ("cluster", "fresh", *SHORT, "valid_until")
    show(rows, columns, output, empty="no scores; run `fleetqueue score-agent` on the workers")
