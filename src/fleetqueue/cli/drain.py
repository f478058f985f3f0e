"""`fleetqueue drain` and `undrain`: let a worker serve no new jobs, and let it serve again."""

from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.exit_codes import CommandFailure, run
from fleetqueue.cli.options import (
    Context,
    Kubeconfig,
    KueueNamespace,
    Output,
    OutputFormat,
    Timeout,
    opened_hub,
)
from fleetqueue.cli.progress import Progress

if TYPE_CHECKING:
    from fleetqueue.admin.cluster_draining import DrainState

ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER", help="The ManagedCluster.")]


def drain(
    cluster: ClusterName,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until nothing of ours is left on it.")] = False,
    timeout: Timeout = 600.0,
    force: Annotated[
        bool, typer.Option("--force", help="Also where Placements for others than jobs would drop it.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let a worker serve no new jobs: those that run on it go on, and others go elsewhere.

    It puts the taint fleetqueue.dev/drain on the ManagedCluster, so that every Placement drops it, and the controller
    drains it. A Placement that tolerates every taint goes on selecting it, which is said. Where a Placement that no
    check names would drop it as well, nothing is done without --force.

    \b
    Example:
      fleetqueue drain cluster1 --wait
      fleetqueue undrain cluster1
    """
    from fleetqueue.admin import cluster_draining

    async def work() -> "DrainState":
        async with opened_hub(kubeconfig, context) as hub:
            state = await cluster_draining.drain(hub, cluster, kueue_namespace, force=force)
            if wait and not state.tolerated_by:
                with Progress() as report:
                    await cluster_draining.wait_until_drained(hub, cluster, report, limit=timeout)
                    report.settle()
            return state

    state = run(work())
    is_empty = wait and not state.tolerated_by
    tell(state, output, "is drained: nothing of ours is left on it" if is_empty else "drains: no new jobs go there")
    if state.tolerated_by:
        raise CommandFailure(
            f"{', '.join(state.tolerated_by)} tolerates the taint and goes on selecting {cluster}: give its toleration "
            "the key that it is meant for, or leave the cluster out by a label"
        )


def undrain(
    cluster: ClusterName,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let a worker that was drained serve again.

    \b
    Example:
      fleetqueue undrain cluster1
    """
    from fleetqueue.admin import cluster_draining

    async def work() -> "DrainState":
        async with opened_hub(kubeconfig, context) as hub:
            return await cluster_draining.undrain(hub, cluster)

    tell(run(work()), output, "may serve again")


def tell(state: "DrainState", output: OutputFormat, what: str) -> None:
    """Print what a cluster does now."""
    from fleetqueue.admin.table_text import written

    if output is not OutputFormat.TABLE:
        print(written([state.row], (), output.value))
        return
    before = "" if state.changed else "; it was so before"
    print(f"{state.cluster} {what}{before}")
    if state.draining and state.jobs:
        print(f"jobs on it when the drain was asked for: {state.jobs}")
    for placement in state.dropped_by:
        print(
            f"note: Placement {placement} drops it, too, and what it sends there (add-ons, ManifestWorks) is taken "
            "away; a toleration of fleetqueue.dev/drain keeps that"
        )
    for config in state.listed_by_hand:
        print(f"note: MultiKueueConfig {config} was written by hand and lists it: take it out there yourself")
